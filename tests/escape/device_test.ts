/** Attacks by device nodes: made, found, bound, brought by a root, and by terminals. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { cannot, program, PYTHON, runInside, runOutside, testAttacks } from "../support/attack.ts";
import { bash, BINARY, minisandbox, sharedStore } from "../support/minisandbox.ts";
import { onlyAs } from "../support/identity.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const ROOT_ONLY = onlyAs("root", "none");

/** Nodes that root makes on the host: memory, the kernel's log, a null and the first disk's kind. */
const NODES = {
  zero: ["c", "1", "5"],
  null: ["c", "1", "3"],
  kmsg: ["c", "1", "11"],
  loop: ["b", "7", "0"],
};

async function makeNodes(dir: string): Promise<void> {
  for (const [name, [type, major, minor]] of Object.entries(NODES)) {
    const { success } = await new Deno.Command("mknod", {
      args: ["-m", "666", `${dir}/${name}`, type!, major!, minor!],
    }).output();
    if (!success) throw new Error(`Cannot make ${name}: mknod failed`);
  }
}

const OPEN_NODES = (dir: string) =>
  program(
    `
return [attempt(opened, f"{ARG}/{it}", os.O_RDWR) for it in ("zero", "null", "kmsg", "loop")]`,
    dir,
  );

Deno.test({
  name: "a program in the sandbox cannot open a device node of a directory that is bound",
  ...ROOT_ONLY,
  fn: async () => {
    using temp = tempDir();
    Deno.chmodSync(temp.path, 0o777);
    await makeNodes(temp.path);
    assertStringIncludes(await runOutside(OPEN_NODES(temp.path)), "['ok', 'ok'");
    const refused = "['EACCES', 'EACCES', 'EACCES', 'EACCES']";
    for (const mode of ["ro", "rw"]) {
      const args = ["--bind", `${temp.path}:/data:${mode}`];
      assertEquals(await runInside(OPEN_NODES("/data"), args), refused);
    }
    const one = ["--bind", `${temp.path}/zero:/data/zero`];
    assertEquals((await runInside(OPEN_NODES("/data"), one)).slice(0, 10), "['EACCES',");
  },
});

Deno.test({
  name: "a program in the sandbox cannot open a device node that its root brings",
  ...ROOT_ONLY,
  fn: async () => {
    using temp = tempDir();
    const base = `${temp.path}/base`;
    for (const dir of ["srv", "usr", "lib", "lib64"]) {
      Deno.mkdirSync(`${base}/${dir}`, { recursive: true });
    }
    await makeNodes(`${base}/srv`);
    const binds = ["/usr", "/lib", "/lib64"].flatMap((dir) => ["--bind", `${dir}:${dir}`]);
    const args = ["--base", base, ...binds];
    assertEquals(
      await runInside(OPEN_NODES("/srv"), args),
      "['EACCES', 'EACCES', 'EACCES', 'EACCES']",
    );
  },
});

testAttacks([
  {
    deed: "make a node of each kind, in each place where it may write",
    outside: Deno.uid() === 0 ? "['ok']" : cannot("only root may"),
    python: `
answers = set()
places = ["/tmp", "/dev/shm"] if ARG == "" and os.path.exists("/boot") else ["/tmp", "/dev/shm", "/root", "/run", "/srv"]
for place in places:
    for kind, major, minor in ((0o020000, 1, 1), (0o020000, 1, 11), (0o060000, 8, 0), (0o020000, 10, 237)):
        path = f"{place}/minisandbox-test-{os.getpid()}"
        answers.add(attempt(os.mknod, path, kind | 0o600, os.makedev(major, minor)))
        if os.path.lexists(path):
            os.unlink(path)
return sorted(answers)`,
    inside: "['EPERM']",
  },
  {
    deed:
      "find what a device would be used by: disks, memory, loop, fuse, tun, kvm, ppp, vhost, uinput, snd",
    outside: cannot("hosts differ"),
    python: `
names = "sda vda nvme0n1 mem port kmem kmsg loop-control loop0 fuse net/tun kvm ppp vhost-net uinput snd mapper/control console tty0 tty1 vcs hpet watchdog userfaultfd dma_heap cuse"
return [it for it in names.split() if os.path.lexists("/dev/" + it)]`,
    inside: "[]",
  },
  {
    deed: "take what the kernel prints to a terminal of its own (TIOCCONS)",
    outside: cannot("it would change the host"),
    python: "fcntl.ioctl(os.openpty()[1], 0x541d)",
    inside: "EPERM",
  },
  {
    deed: "take another session's terminal (TIOCSCTTY)",
    outside: Deno.uid() === 0 ? "ok" : cannot("only root may"),
    python: `
leader, follower = os.openpty()
reader, writer = os.pipe()
owner = os.fork()
if owner == 0:
    os.setsid()
    fcntl.ioctl(follower, 0x540e, 0)
    os.write(writer, b"ready")
    signal.pause()
os.read(reader, 5)
try:
    if os.getpgid(0) == os.getpid():
        thief = os.fork()
        if thief == 0:
            os.setsid()
            answer = attempt(fcntl.ioctl, follower, 0x540e, 1)
            os._exit(0 if answer == "ok" else errno.EPERM if answer == "EPERM" else 99)
        code = os.WEXITSTATUS(os.waitpid(thief, 0)[1])
        if code != 0:
            raise OSError(code, "")
finally:
    os.kill(owner, 9)`,
    inside: "EPERM",
  },
  {
    deed: "change the keys, fonts or screens of a console",
    outside: cannot("it would change the host"),
    python: `
leader, follower = os.openpty()
codes = (0x4b3a, 0x4b47, 0x4b61, 0x4b72, 0x5603, 0x5606, 0x5605, 0x5608)
return sorted({attempt(fcntl.ioctl, follower, it, 0) for it in codes})`,
    inside: "['ENOTTY']",
  },
  {
    deed:
      "give a terminal a line discipline, for which a module may be loaded (CVE-2017-2636's kind)",
    python: `
leader, follower = os.openpty()
own = struct.pack("i", 0)
return [attempt(call, "ioctl", follower, 0x5423 | high << 32, own) for high in (0, 1, 0xffffffff)]`,
    outside: "['ok', 'ok', 'ok']",
    inside: "['EPERM', 'EPERM', 'EPERM']",
  },
]);

Deno.test({
  name:
    "a program on a terminal of its own cannot type into the one that minisandbox was started on",
  ...requires("script"),
  fn: async () => {
    const attack = program(`
answers = set()
for request in (0x5412, 0x541c):
    for high in (0, 1, 0x80000000, 0xffffffff):
        for fd in (0, 1, 2):
            answers.add(attempt(call, "ioctl", fd, request | high << 32, b"x"))
sys.stderr.write(f"{os.ttyname(0)} {sorted(answers)}\\n")`);
    const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const inside = [
      ...[BINARY, "run", "--quiet", "--store", sharedStore(), "-t", "-i", "--"],
      ...[PYTHON, "-c", attack],
    ];
    // What was typed would be read by what follows.
    const shell = `${inside.map(quote).join(" ")}; read -t 0.2 line; echo "[$line]"`;
    const { stdout } = await new Deno.Command("script", {
      args: ["-qec", `bash -c ${quote(shell)}`, "/dev/null"],
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout).replaceAll("\r", "");
    assertStringIncludes(text, "/dev/pts/0 ['EPERM']");
    assertStringIncludes(text, "[]");
  },
});

Deno.test("a program in the sandbox cannot reach the terminal of another by /dev/pts, or the host's", async () => {
  const { stdout } = await bash("ls /dev/pts; : >/dev/tty", ["-t"]);
  assertStringIncludes(stdout, "ptmx");
  const { stdout: other } = await minisandbox([
    "run",
    "--quiet",
    "--",
    PYTHON,
    "-c",
    program(`
leader, follower = os.openpty()
return os.ttyname(follower), sorted(os.listdir("/dev/pts"))`),
  ]);
  assertEquals(other, "('/dev/pts/0', ['0', 'ptmx'])");
});
