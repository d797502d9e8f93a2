/** Every system call by its number, with odd arguments, from inside, while the host is watched. */
import { assert, assertEquals } from "@std/assert";
import { machine } from "../../ffi/mod.ts";
import { rules } from "../../src/sandbox/seccomp.ts";
import { mountPoints, program, PYTHON, runInside, runOutside } from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import { start } from "../support/minisandbox.ts";
import { fuzzSeed } from "../support/property.ts";
import { readUntil } from "../support/read_until.ts";

const LAST_CALL = 600;

/** How often each is made, each time with other arguments. */
const ROUNDS = 8;

/** Calls that would end the attack itself: tests of their own make them. */
const LEFT_OUT = {
  x86_64: {
    kill: 62,
    tkill: 200,
    tgkill: 234,
    rt_sigqueueinfo: 129,
    rt_tgsigqueueinfo: 297,
    sync: 162,
  },
  aarch64: {
    kill: 129,
    tkill: 130,
    tgkill: 131,
    rt_sigqueueinfo: 138,
    rt_tgsigqueueinfo: 240,
    sync: 81,
  },
}[machine];

/** Makes each call in a child, and prints what it answered: `NUMBER ERRNO...`; "-" where it did not. */
const FUZZ = `
import random, select
seed, first, last, rounds, skipped, size = json.loads(ARG)
page = mmap.mmap(-1, 65536)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
texts = [b"/", b"/proc/1/mem", b"/dev/null", b"/proc/self/root", b"", b"none", b"tmpfs", b"/usr/bin/env"]
for i, text in enumerate(texts):
    page[64 * i:64 * i + len(text) + 1] = text + b"\\0"
odd = [0, 1, 2, 3, 5, 8, 64, 0x541c, 0x5412, 4096, 65536, 0x20000, 0x10000000, 0x7e020000, 1 << 31,
    (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 100, 0xdead000000000000,
    address, address + 64, address + 128, address + 192, address + 4096, address + 65536, 1 << 62]
# Its own id must be no argument: a call that writes to another's memory would write to ours.
while os.getpid() in odd:
    other = os.fork()
    if other:
        os.waitpid(other, 0)
        os._exit(0)
answers = mmap.mmap(-1, 4 * rounds * size)
def signed(value):
    return value - (1 << 64) if value >> 63 else value
def child(numbers):
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.setsid()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    own = os.getpid()
    for at, number in enumerate(numbers):
        generator = random.Random(f"{seed} {number}")
        for i in range(rounds):
            values = [signed(generator.choice(odd)) for _ in range(6)]
            result = libc.syscall(ctypes.c_long(signed(number)), *map(ctypes.c_long, values))
            code = ctypes.get_errno() if result == -1 else 0
            if os.getpid() != own:
                os._exit(0) # one that was made by the call
            struct.pack_into("i", answers, 4 * (rounds * at + i), code)
    os._exit(0)
lines = []
wanted = [number for number in range(first, last + 1) if number not in skipped]
for start in range(0, len(wanted), size):
    numbers = wanted[start:start + size]
    answers[:] = struct.pack("i", -1) * (rounds * size)
    pid = os.fork()
    if pid == 0:
        child(numbers)
    ended = os.pidfd_open(pid)
    if not select.select([ended], [], [], 1)[0]:
        attempt(os.kill, pid, signal.SIGKILL)
    os.close(ended)
    attempt(os.waitpid, pid, 0)
    attempt(os.killpg, pid, signal.SIGKILL)
    codes = struct.unpack(f"{rounds * size}i", answers)
    for at, number in enumerate(numbers):
        own = codes[rounds * at:rounds * at + rounds]
        names = ["-" if it < 0 else errno.errorcode.get(it, str(it)) if it else "ok" for it in own]
        lines.append(f"{number} {' '.join(names)}")
return "\\n".join(lines)`;

/** What of the host no call inside may change. */
function hostState(): unknown {
  const read = (path: string) => {
    try {
      return Deno.readTextFileSync(path);
    } catch {
      return null;
    }
  };
  const kernel = [
    "hostname",
    "domainname",
    "core_pattern",
    "modprobe",
    "tainted",
    "random/boot_id",
  ];
  const others = ["vm/overcommit_memory", "fs/file-max", "net/ipv4/ip_forward"];
  return {
    settings: [...kernel.map((name) => `kernel/${name}`), ...others].map((name) =>
      read(`/proc/sys/${name}`)
    ),
    mounts: mountPoints(),
    files: ["/", "/usr", "/etc", "/dev/null", "/etc/passwd", "/usr/bin/env"].map((path) => {
      const { mode, uid, size, mtime } = Deno.statSync(path);
      return { mode, uid, ...(path === "/" ? {} : { size, mtime }) };
    }),
    swaps: read("/proc/swaps"),
    modules: read("/proc/modules")?.split("\n").map((line) => line.split(" ")[0]),
    limits: read("/proc/self/limits"),
    score: read("/proc/self/oom_score_adj"),
  };
}

/** The difference between the wall clock and the time since the start, in whole seconds. */
function clockOffset(): number {
  return Math.round((Date.now() - performance.now()) / 1000);
}

/** Each process makes `size` calls, one after the other: one where they may end or change it. */
const fuzz = (seed: number, [first, last]: readonly [number, number], size: number) => {
  const skipped = Object.values(LEFT_OUT);
  return program(FUZZ.trim(), JSON.stringify([seed, first, last, ROUNDS, skipped, size]));
};

function parse(text: string): Map<number, readonly string[]> {
  return new Map(
    text.trim().split("\n").map((line) => {
      const [number, ...answers] = line.split(" ");
      return [Number(number), answers];
    }),
  );
}

Deno.test("no system call there is, with whatever arguments, changes the host or a neighbour", async () => {
  const seed = fuzzSeed();
  console.log(`${(LAST_CALL + 1 - Object.keys(LEFT_OUT).length) * ROUNDS} calls, seed ${seed}`);
  const neighbour = start([
    "run",
    "--quiet",
    "-i",
    "--",
    PYTHON,
    "-c",
    program(`
state = lambda: (os.uname().nodename, os.getpriority(os.PRIO_PROCESS, 0), sorted(os.listdir("/")),
    open("/proc/self/limits").read(), [it for it in os.listdir("/proc") if it.isdigit()])
before = state()
print("ready", flush=True)
sys.stdin.read()
return state() == before`),
  ]);
  const reader = neighbour.stdout.getReader();
  await readUntil(reader, "ready\n");
  const before = hostState();
  const clock = clockOffset();
  let text: string;
  try {
    text = await runInside(fuzz(seed, [0, LAST_CALL], 1));
    assertEquals(hostState(), before);
    assert(Math.abs(clockOffset() - clock) <= 1);
  } finally {
    await neighbour.stdin.close();
  }
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "True");
  await reader.cancel();
  await Promise.all([neighbour.status, neighbour.stderr.cancel()]);

  const answers = parse(text);
  assertEquals(answers.size, LAST_CALL + 1 - Object.keys(LEFT_OUT).length, text.slice(0, 400));
  const names: Readonly<Record<number, string>> = { 1: "EPERM", 38: "ENOSYS" };
  for (const { number, errno, anyBit, oneOf, noneOf } of rules(machine)) {
    if (anyBit !== undefined || oneOf !== undefined || noneOf !== undefined) continue;
    assertEquals([number, answers.get(number)], [number, Array(ROUNDS).fill(names[errno])]);
  }
  const made = [...answers.values()].flat().filter((it) => it !== "-").length;
  assert(made > LAST_CALL * ROUNDS / 2, `${made} calls were made`);
});

/** Numbers of the x32 interface, its highest, and those that no kernel has. */
const BEYOND = [
  [0x40000000, 0x40000000 + 620],
  [0x7fffffff, 0x7fffffff],
  [0x80000000, 0x80000040],
  [
    0xffffffff,
    0xffffffff,
  ],
] as const;

Deno.test("no number beyond those of the machine is answered but by ENOSYS", async () => {
  const seed = fuzzSeed();
  console.log(`seed ${seed}`);
  const before = hostState();
  for (const [first, last] of BEYOND) {
    const answers = parse(await runInside(fuzz(seed, [first, last], 50)));
    assertEquals(answers.size, last - first + 1);
    assertEquals([...new Set([...answers.values()].flat())], ["ENOSYS"]);
  }
  assertEquals(hostState(), before);
});

Deno.test({
  name: "no call of 32-bit programs is answered but by ENOSYS, where the kernel has them",
  ignore: machine !== "x86_64",
  fn: async () => {
    // push rbx; mov eax, edi; mov ebx, esi; xor ecx, ecx; xor edx, edx; int 0x80; pop rbx; ret
    const attack = program(
      `
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("5389f889f331c931d2cd805bc3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    for number in json.loads(ARG):
        result = run(number, 0)
        os.write(writer, bytes([min(-result, 200) if result < 0 else 0]))
    os._exit(0)
os.close(writer)
status = os.waitpid(pid, 0)[1]
codes = os.read(reader, 4096)
answers = {errno.errorcode.get(it, "ok") for it in codes}
if os.WIFSIGNALED(status):
    answers.add("signal")
return sorted(answers)`,
      "NUMBERS",
    );
    const numbers = (list: readonly number[]) =>
      attack.replace('"NUMBERS"', JSON.stringify(JSON.stringify(list)));
    const getpid = 20;
    const outside = await runOutside(numbers([getpid]));
    const has32 = outside === "['ok']";
    console.log(has32 ? "the kernel has them" : "the kernel has none");
    const all = Array.from({ length: 470 }, (_, i) => i);
    assertEquals(await runInside(numbers(all)), has32 ? "['ENOSYS']" : "['signal']");
  },
});

Deno.test({
  name: "the attack by numbers works outside: what is refused inside is answered otherwise",
  ignore: identity() === "none",
  fn: async () => {
    // Calls with no effect where the arguments are senseless: of modules, keys, mounts, bpf, setns.
    const some = rules(machine).filter(({ number, anyBit, oneOf, noneOf }) =>
      anyBit === undefined && oneOf === undefined && noneOf === undefined &&
      [250, 308, 321, 428, 430, 432, 433].includes(number)
    ).map(({ number }) => number);
    const code = program(
      `
answers = []
for number in json.loads(ARG):
    libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    answers.append(errno.errorcode[ctypes.get_errno()])
return sorted(set(answers) - {"EPERM", "ENOSYS"}) != []`,
      JSON.stringify(machine === "x86_64" ? some : []),
    );
    assertEquals(await runOutside(code), machine === "x86_64" ? "True" : "False");
  },
});
