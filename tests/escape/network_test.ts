/** Attacks by what processes talk through: sockets, shared memory, queues; of the host and neighbours. */
import { assertEquals } from "@std/assert";
import {
  cannot,
  NAMESPACES,
  program,
  PYTHON,
  runInside,
  runOutside,
  testAttacks,
} from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import { minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";

/** Opens one of each kind, says by which names, and keeps them until its stdin ends. */
const SERVER = program(`
names = {}
tag = f"minisandbox-test-{os.getpid()}-{os.urandom(4).hex()}"
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    abstract = socket.socket(socket.AF_UNIX, kind)
    abstract.bind(f"\\0{tag}-{int(kind)}")
    if kind == socket.SOCK_STREAM:
        abstract.listen()
    names[f"abstract {int(kind)}"] = abstract
tcp = socket.create_server(("127.0.0.1", 0))
tcp6 = socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_ipv6 else tcp
port = tcp.getsockname()[1]
key = 0x10000000 | int.from_bytes(os.urandom(3), "big")
memory = check(libc.shmget(key, 4096, 0o1666))
semaphore = check(libc.semget(key, 1, 0o1666))
queue = check(libc.msgget(key, 0o1666))
posix = check(libc.mq_open(f"/{tag}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None))
open(f"/dev/shm/{tag}", "w").write("precious")
open(f"/tmp/{tag}", "w").write("precious")
print(f"{tag} {port} {key}", flush=True)
sys.stdin.read()
libc.shmctl(memory, 0, None)
libc.semctl(semaphore, 0, 0)
libc.msgctl(queue, 0, None)
libc.mq_unlink(f"/{tag}".encode())
os.unlink(f"/dev/shm/{tag}")
os.unlink(f"/tmp/{tag}")`);

/** Tries to reach each of them. */
const CLIENT = `
tag, port, key = ARG.split()
port, key = int(port), int(key)
def connect(family, kind, address):
    def deed():
        with socket.socket(family, kind) as it:
            it.connect(address)
    return attempt(deed)
return [
    connect(socket.AF_UNIX, socket.SOCK_STREAM, f"\\0{tag}-1"),
    connect(socket.AF_UNIX, socket.SOCK_DGRAM, f"\\0{tag}-2"),
    connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    attempt(lambda: check(libc.shmget(key, 0, 0))),
    attempt(lambda: check(libc.semget(key, 0, 0))),
    attempt(lambda: check(libc.msgget(key, 0))),
    attempt(lambda: os.close(check(libc.mq_open(f"/{tag}".encode(), os.O_RDONLY)))),
    attempt(lambda: opened(f"/dev/shm/{tag}")),
    attempt(lambda: opened(f"/tmp/{tag}")),
]`;

const ALL = Array(9).fill("ok");
const NONE = [...Array(3).fill("ECONNREFUSED"), ...Array(6).fill("ENOENT")];
const show = (answers: readonly string[]) => `[${answers.map((it) => `'${it}'`).join(", ")}]`;

/** Runs a client while the server runs. */
async function whileServing(
  server: Deno.ChildProcess,
  client: (names: string) => Promise<void>,
): Promise<void> {
  const reader = server.stdout.getReader();
  try {
    await client((await readUntil(reader, "\n")).trim());
  } finally {
    await server.stdin.close();
    for (;;) if ((await reader.read()).done) break;
    await Promise.all([server.status, server.stderr.cancel()]);
  }
}

function startOutside(): Deno.ChildProcess {
  const options = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  return new Deno.Command(PYTHON, { args: ["-c", SERVER], ...options }).spawn();
}

function startInside(): Deno.ChildProcess {
  return start(["run", "--quiet", "-i", "--", PYTHON, "-c", SERVER]);
}

Deno.test("a program in the sandbox cannot reach a socket, queue or shared memory of the host", async () => {
  await whileServing(startOutside(), async (names) => {
    assertEquals(await runOutside(program(CLIENT, names)), show(ALL));
    assertEquals(await runInside(program(CLIENT, names)), show(NONE));
  });
});

Deno.test("a program in the sandbox cannot reach a socket, queue or shared memory of another sandbox", async () => {
  await whileServing(startInside(), async (names) => {
    assertEquals(await runInside(program(CLIENT, names)), show(NONE));
    assertEquals(await runOutside(program(CLIENT, names)), show(NONE));
  });
});

Deno.test("a program in the sandbox cannot have an interface but loopback", async () => {
  assertEquals(await runInside(program("return socket.if_nameindex()")), "[(1, 'lo')]");
});

/** With `--userns off` the network's root is the program's: docs/modes.md says so. */
const onSharedNetwork = identity() === "none" ? "ok" : "EPERM";

testAttacks([
  {
    deed: "reach an address outside",
    python: `
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
    it.connect(("192.0.2.1", 9))`,
    outside: cannot("hosts differ"),
    inside: "ENETUNREACH",
  },
  {
    deed: "make an interface",
    under: NAMESPACES,
    python: `
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as it:
    it.bind((0, 0))
    kind = struct.pack("HH", 8, 1) + b"veth"
    info = struct.pack("HH", 4 + len(kind), 18) + kind
    body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + info
    it.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
    answer = struct.unpack_from("i", it.recv(4096), 16)[0]
    if answer < 0:
        raise OSError(-answer, "")`,
    inside: "EPERM",
  },
  {
    deed: "change loopback",
    under: NAMESPACES,
    python: `
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
    fcntl.ioctl(it, 0x8914, struct.pack("16sH14x", b"lo", 0x49))`,
    inside: "EPERM",
  },
  {
    deed: "write raw packets to the host's network, though it is shared",
    args: ["--network", "host"],
    outside: Deno.uid() === 0 ? "ok" : cannot("only root may"),
    python: "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()",
    inside: onSharedNetwork,
  },
  {
    deed: "watch packets of the host's network, though it is shared",
    args: ["--network", "host"],
    outside: Deno.uid() === 0 ? "ok" : cannot("only root may"),
    python: "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3 << 8).close()",
    inside: onSharedNetwork,
  },
]);

Deno.test("a program in the sandbox cannot see the host's name", async () => {
  const code = program("return os.uname().nodename");
  assertEquals(await runOutside(code), Deno.hostname());
  assertEquals(await runInside(code), "sandbox");
});

Deno.test("a program in the sandbox cannot find another sandbox's processes, files or terminal", async () => {
  const ready = "touch /tmp/x /srv/x /dev/shm/x /run/x; echo ready; cat";
  const child = start(["run", "--quiet", "-i", "--", "bash", "-c", ready]);
  await whileServing(child, async () => {
    const look = "ls /tmp /srv /dev/shm /run; ls /dev/pts; echo /proc/[0-9]*";
    const { stdout } = await minisandbox(["run", "--quiet", "--", "bash", "-c", look]);
    assertEquals(
      stdout,
      "/dev/shm:\n\n/run:\n\n/srv:\n\n/tmp:\nptmx\n/proc/1 /proc/2\n",
    );
  });
});
