/** Attacks of one sandbox on another that runs beside it, on the same base and layer. */
import { assertEquals } from "@std/assert";
import { program, PYTHON, runInside } from "../support/attack.ts";
import { start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { sharedStore } from "../support/minisandbox.ts";
import { describeTree } from "../support/tree.ts";

/** Has a process, a pipe, a socket, a terminal, files and memory to be found, and is attacked. */
const VICTIM = program(`
import json
secret = ctypes.create_string_buffer(b"a secret in memory")
listener = socket.socket(socket.AF_UNIX)
listener.bind("/opt/x/own-socket")
listener.listen()
reader = os.open("/opt/x/pipe", os.O_RDONLY | os.O_NONBLOCK)
for path in ("/tmp/mine", "/dev/shm/mine", "/run/mine", "/root/mine", "/opt/x/file"):
    open(path, "w").write("precious")
leader, follower = os.openpty()
state = lambda: [open(it).read() for it in ("/tmp/mine", "/opt/x/file")] + [os.uname().nodename,
    os.getpriority(os.PRIO_PROCESS, 0), sorted(os.listdir("/opt/x")), os.listdir("/dev/pts")]
before = state()
print(f"{os.getpid()} {ctypes.addressof(secret)}", flush=True)
sys.stdin.read()
def got(fd):
    try:
        return len(os.read(fd, 10))
    except BlockingIOError:
        return "nothing"
listener.setblocking(False)
def accepted():
    listener.accept()
return state() == before, got(reader), attempt(accepted)`);

/** Each attack, as Python that gives what it got. */
const ATTACKS: Readonly<Record<string, string>> = {
  "write to a pipe that lies in the layer of both": `
fd = os.open("/opt/x/pipe", os.O_WRONLY | os.O_NONBLOCK)
os.write(fd, b"evil")`,
  "connect to a socket in the layer of both": `
socket.socket(socket.AF_UNIX).connect("/opt/x/own-socket")`,
  "find what the other wrote into the layer": `
return "same" if open("/opt/x/file").read() == "layer" else open("/opt/x/file").read()`,
  "find the other's files in /tmp, /dev/shm, /run, /root": `
return [it for it in ("/tmp", "/dev/shm", "/run", "/root") if os.path.exists(it + "/mine")]`,
  "change a file of the layer for the other": `
os.unlink("/opt/x/file")
os.mkdir("/opt/x/file")
os.symlink("/", "/opt/x/new")
return "done"`,
  "trace, signal or read a process by the other's id": `
pid = int(ARG.split()[0])
child = os.fork()
if child == 0:
    os.setsid()
    os._exit(0)
os.waitpid(child, 0)
found = {it for it in os.listdir("/proc") if it.isdigit()} - {"1", str(os.getpid())}
return sorted(found) if found else "nobody"`,
  "read the other's memory at an address that is known": `
address = int(ARG.split()[1])
answers = set()
for pid in range(1, 60):
    if pid == os.getpid():
        continue
    space = ctypes.create_string_buffer(32)
    local = (ctypes.c_ulong * 2)(ctypes.addressof(space), 32)
    remote = (ctypes.c_ulong * 2)(address, 32)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    answers.add("ok" if libc.process_vm_readv(pid, local, one, remote, one, none) > 0 else errno.errorcode[ctypes.get_errno()])
return sorted(answers)`,
  "open the other's terminal": `
return sorted(os.listdir("/dev/pts"))`,
  "give the other a name": "call('sethostname', 'evil', 4)",
  "lower the other's priority by its user": `
attempt(os.setpriority, os.PRIO_USER, 0, 19) # init may be out of its reach
return "done"`,
  "end all processes of its user": `
child = os.fork()
if child == 0:
    signal.pause()
os.kill(-1, 9)
os.waitpid(child, 0)
return "done"`,
  "take the other's children by being a reaper": `
check(libc.prctl(36, 1, 0, 0, 0))
os.waitpid(-1, os.WNOHANG)`,
  "see the other's sockets in /proc/net": `
tables = ["unix", "tcp", "tcp6", "udp", "raw", "netlink", "packet"]
text = "".join(open("/proc/net/" + it).read() for it in tables if os.path.exists("/proc/net/" + it))
return "own-socket" in text`,
  "see the other's shared memory, queues and semaphores": `
tables = [open("/proc/sysvipc/" + it).read().count("\\n") for it in ("shm", "sem", "msg")]
return tables`,
  "ask netlink for the other's sockets": `
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as it:
    body = struct.pack("BBBBI", 1, 0, 0, 0, 0xffffffff) + struct.pack("III2I", 0, 0x7f, 0, 0, 0)
    it.send(struct.pack("IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
    answer = it.recv(65536)
return b"own-socket" in answer`,
};

const ANSWERS: Readonly<Record<string, string>> = {
  "write to a pipe that lies in the layer of both": "ENXIO",
  "connect to a socket in the layer of both": "ENOENT",
  "find what the other wrote into the layer": "same",
  "find the other's files in /tmp, /dev/shm, /run, /root": "[]",
  "change a file of the layer for the other": "done",
  "trace, signal or read a process by the other's id": "nobody",
  "read the other's memory at an address that is known": "['EPERM', 'ESRCH']",
  "open the other's terminal": "['ptmx']",
  "give the other a name": "EPERM",
  "lower the other's priority by its user": "done",
  "end all processes of its user": "done",
  "take the other's children by being a reaper": "ECHILD",
  "see the other's sockets in /proc/net": "False",
  "see the other's shared memory, queues and semaphores": "[1, 1, 1]",
  "ask netlink for the other's sockets": "False",
};

Deno.test("a program in the sandbox cannot, to a neighbour on the same layer", async (t) => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(
    archive,
    tar({ name: "file", body: "layer", mode: 0o666 }, { name: "pipe", type: "6", mode: 0o666 }),
  );
  const layer = ["--layer", `${archive}:/opt/x`];
  const victim = start(["run", "--quiet", "-i", ...layer, "--", PYTHON, "-c", VICTIM]);
  const reader = victim.stdout.getReader();
  const argument = (await readUntil(reader, "\n")).trim();
  const layers = () => describeTree(`${sharedStore()}/layers`);
  const before = layers();
  for (const [deed, python] of Object.entries(ATTACKS)) {
    await t.step(deed, async () => {
      assertEquals(await runInside(program(python.trim(), argument), layer), ANSWERS[deed]);
    });
  }
  await victim.stdin.close();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  await Promise.all([victim.status, victim.stderr.cancel()]);
  assertEquals(text, "(True, 0, 'EAGAIN')"); // its pipe has no writer: end of file
  assertEquals(layers(), before);
});
