/** Tests of what a sandbox may use: each limit is reached, named, and gone with its sandbox. */
import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { bash, minisandbox, refusal } from "../support/minisandbox.ts";
import { identity, onlyAs } from "../support/identity.ts";
import { outcomeOf, requiresCgroups } from "../support/outcome.ts";
import { PYTHON } from "../support/attack.ts";
import { ifInstalled } from "../support/requirement.ts";

/** A command that reaches a limit, and what is told of it. */
interface LimitCase {
  readonly limit: string;
  readonly args: readonly string[];
  readonly command: readonly string[];
  readonly kind: string;
  /** The exit code of `run`. */
  readonly code: number;
  readonly reached: readonly string[];
  /** Whether a cgroup holds the limit. */
  readonly needsCgroup?: boolean;
}

const script = (text: string) => ["bash", "-c", text];
const fill = (path: string) => ["dd", "if=/dev/zero", `of=${path}`, "bs=64k", "count=64"];
const bomb = script("bomb() { bomb | bomb & }; bomb; exec sleep 60");

const FORK = `
import os, signal
while True:
    if os.fork() == 0: signal.pause()`;

const CASES: readonly LimitCase[] = [
  {
    limit: "memory, from the first instruction of the first program",
    args: ["--memory", "32M"],
    command: [PYTHON, "-c", "bytearray(64 << 20)"],
    kind: "outOfMemory",
    code: 137,
    reached: ["outOfMemory"],
    needsCgroup: true,
  },
  {
    limit: "memory, in a child, whose parent goes on",
    args: ["--memory", "32M"],
    command: script(`${PYTHON} -c 'bytearray(64 << 20)' & wait $!; exit $(($? == 137))`),
    kind: "exited",
    code: 1,
    reached: ["outOfMemory"],
    needsCgroup: true,
  },
  {
    limit: "memory, by files in memory",
    args: ["--memory", "32M"],
    command: ["dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=64"],
    kind: "outOfMemory",
    code: 137,
    reached: ["outOfMemory"],
    needsCgroup: true,
  },
  {
    limit: "processes",
    args: ["--pids", "16"],
    command: [PYTHON, "-c", FORK],
    kind: "exited",
    code: 1,
    reached: ["pidsLimit"],
  },
  {
    limit: "processes, by a fork bomb that is ended with its time",
    args: ["--pids", "64", "--timeout", "2"],
    command: bomb,
    kind: "timedOut",
    code: 124,
    reached: ["pidsLimit"],
  },
  {
    limit: "the size of /tmp",
    args: ["--tmp-size", "1M"],
    command: fill("/tmp/x"),
    kind: "exited",
    code: 1,
    reached: ["tmpFull"],
  },
  {
    limit: "the size of /run, which is that of /tmp",
    args: ["--tmp-size", "1M"],
    command: fill("/run/x"),
    kind: "exited",
    code: 1,
    reached: ["tmpFull"],
  },
  {
    limit: "the size of /dev/shm",
    args: ["--shm-size", "1M"],
    command: fill("/dev/shm/x"),
    kind: "exited",
    code: 1,
    reached: ["shmFull"],
  },
  {
    limit: "what is written, in memory",
    args: ["--upper", "tmpfs", "--disk", "1M"],
    command: fill("/root/x"),
    kind: "exited",
    code: 1,
    reached: ["diskFull"],
  },
  {
    limit: "the number of files, in memory",
    args: ["--upper", "tmpfs", "--inodes", "100"],
    command: script("for i in {1..200}; do : >/root/$i || exit 3; done"),
    kind: "exited",
    code: 3,
    reached: ["diskFull"],
  },
  {
    limit: "the size of a file",
    args: ["--fsize", "4K"],
    command: fill("/root/x"),
    kind: "fileSizeLimit",
    code: 153,
    reached: ["fileSizeLimit"],
  },
  {
    limit: "the size of a file, in a child",
    args: ["--fsize", "4K"],
    command: script(`${fill("/root/x").join(" ")} 2>/dev/null; exit $?`),
    kind: "exited",
    code: 153,
    reached: ["fileSizeLimit"],
  },
  {
    limit: "processor time",
    args: ["--cpu-time", "0.5"],
    command: script("while :; do :; done"),
    kind: "cpuTimeLimit",
    code: 152,
    reached: ["cpuTimeLimit"],
  },
  {
    limit: "output",
    args: ["--output", "64K"],
    command: ["yes"],
    kind: "outputLimit",
    code: 137,
    reached: ["outputLimit"],
  },
];

for (const { limit, args, command, needsCgroup = false, ...expected } of CASES) {
  Deno.test({
    name: `a limit is reached and named: ${limit}`,
    ...(needsCgroup ? requiresCgroups() : {}),
    fn: async () => {
      const { code, outcome } = await outcomeOf(args, command);
      const { kind, reached } = outcome;
      assertEquals({ code, kind, reached }, expected);
    },
  });
}

Deno.test("a limit that is not reached is not named", async () => {
  const args = ["--pids", "64", "--tmp-size", "1M", "--fsize", "1M", "--cpu-time", "5"];
  const { outcome } = await outcomeOf(args, script("echo >/tmp/x; (exit 5)"));
  assertEquals([outcome.kind, outcome.code, outcome.reached], ["exited", 5, []]);
});

Deno.test("a file may be as large as the limit, and EFBIG tells who handles the signal", async () => {
  const { stdout } = await bash(
    `${PYTHON} -c '
import errno, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = open("/root/x", "wb", buffering=0)
print(file.write(bytes(4096)))
try: file.write(b"x")
except OSError as error: print(errno.errorcode[error.errno])'`,
    ["--fsize", "4K"],
  );
  assertEquals(stdout, "4096\nEFBIG\n");
});

Deno.test("open files are limited, softly and hard", async () => {
  const { stdout } = await bash("ulimit -Sn; ulimit -Hn", ["--nofile", "100"]);
  assertEquals(stdout, "100\n100\n");
});

Deno.test({
  name: "a program is in the sandbox's cgroups, and sees them as the root",
  ...requiresCgroups(),
  fn: async () => {
    const args = ["--memory", "64M", "--pids", "64", "--cpus", "1"];
    const { stdout } = await bash("grep -E ':(memory|pids|cpu|):' /proc/self/cgroup", args);
    const paths = new Set(stdout.trim().split("\n").map((line) => line.split(":")[2]));
    assertEquals([...paths], ["/"]);
  },
});

Deno.test({
  name: "the peak of memory is that of the whole sandbox",
  ...requiresCgroups(),
  fn: async () => {
    const { outcome } = await outcomeOf(["--memory", "64M"], [PYTHON, "-c", "bytearray(20 << 20)"]);
    assertGreater(outcome.peakMemoryBytes, 20 * 2 ** 20);
    assertLess(outcome.peakMemoryBytes!, 64 * 2 ** 20);
  },
});

Deno.test({
  name: "processors are limited: half of one takes twice as long",
  ...requiresCgroups(),
  fn: async () => {
    const busy =
      "end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do :; done; cut -d ' ' -f 14 /proc/$$/stat";
    const { stdout } = await bash(busy, ["--cpus", "0.25"]);
    assertLess(Number(stdout), 100); // hundredths of a second, of at least 100
  },
});

for (const [program, ...args] of [["java", "-version"], ["node", "-e", "0"]] as const) {
  Deno.test({
    name: `${program}, which reserves more address space than memory, starts under --memory 512M`,
    ignore: ifInstalled(program!).ignore || requiresCgroups().ignore,
    fn: async () => {
      const { code, outcome } = await outcomeOf(["--memory", "512M"], [program!, ...args]);
      assertEquals([code, outcome.reached], [0, []]);
    },
  });
}

for (
  const [option, limit] of [
    ...[["--memory", "memory"], ["--cpus", "processors"], ["--cpu-weight", "processors"]],
  ] as const
) {
  Deno.test({
    name: `${option} is refused to a user without cgroups, with what would help`,
    ...onlyAs("single"),
    fn: async () => {
      const value = option === "--memory" ? "64M" : "1";
      const [code, line] = refusal(await minisandbox(["run", option!, value, "--", "true"]));
      assertEquals([code, line.replace(/"\/.*?"/, '"DIR"')], [
        125,
        `Cannot limit ${limit}: the cgroup "DIR" is not delegated to this user. ` +
        "Start minisandbox in a cgroup that is delegated to you, such as by: " +
        "systemd-run --user --scope -p Delegate=yes minisandbox …; see minisandbox doctor.",
      ]);
    },
  });
}

Deno.test({
  name: "processes are limited for all users inside together, with a cgroup or without",
  ignore: identity() === "single",
  fn: async () => {
    const many = `${PYTHON} -c '
import os, signal
count = 0
for uid in range(5):
    os.setresuid(uid, uid, 0)
    try:
        while True:
            if os.fork() == 0: signal.pause()
            count += 1
    except OSError: os.seteuid(0)
print(count)'`;
    const { stdout } = await bash(many, ["--pids", "40"]);
    assertEquals(Math.abs(Number(stdout) - 40) <= 1, true, `${stdout} processes`);
  },
});

Deno.test("the fewest processes are enough for a program alone", async () => {
  assertEquals((await minisandbox(["run", "--quiet", "--pids", "1", "--", "true"])).code, 0);
});

Deno.test("thousands of orphans leave no zombie", async () => {
  const { stdout } = await bash(`
for i in {1..2000}; do (true &); done
count() { cat /proc/[0-9]*/stat 2>/dev/null | cut -d ' ' -f 3 | grep -c Z; }
until [ $(count) -eq 0 ]; do :; done
count`);
  assertEquals(stdout, "0\n");
});

Deno.test("a fork bomb is ended and cleaned up at once", async () => {
  const { outcome } = await outcomeOf(["--pids", "64", "--timeout", "1"], bomb);
  assertLess(outcome.phases["program"]!, 2000);
  assertLess(outcome.phases["close"]!, 2000);
});
