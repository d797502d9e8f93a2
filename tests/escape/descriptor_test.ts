/** Attacks by descriptors: those that leak, those that links lead to, and the program's own file. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { program, PYTHON, runInside } from "../support/attack.ts";
import { BINARY, minisandbox, sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { tar } from "../support/tar.ts";

/** Runs the program with a directory of the host open as descriptor 9, as a careless caller may. */
const LEAKY = ["bash", "-c", 'exec 9</ "$@"', "bash"];

Deno.test("a program in the sandbox cannot find a descriptor but its stdin, stdout and stderr", async () => {
  const code = program("return sorted(map(int, os.listdir('/proc/self/fd')))");
  const control = await new Deno.Command("bash", {
    args: [...LEAKY.slice(1), PYTHON, "-c", code],
    stdin: "null",
  }).output();
  assertMatch(new TextDecoder().decode(control.stdout), /, 9[,\]]/);
  const { stdout } = await minisandbox(["run", "--", PYTHON, "-c", code], { under: LEAKY });
  assertEquals(stdout, "[0, 1, 2, 3]"); // 3 is the listing itself
});

Deno.test("a program in the sandbox cannot find a descriptor of init but a socket, a lock and a null", async () => {
  const code = program("return sorted(map(int, os.listdir('/proc/1/fd')))");
  assertEquals(await runInside(code), "[0, 1, 2]");
});

Deno.test("a program in the sandbox cannot get a working directory of the host by --workdir /proc/self/fd/N (CVE-2024-21626)", async () => {
  for (const number of [3, 4, 5, 9]) {
    const workdir = `/proc/self/fd/${number}`;
    const control = await new Deno.Command("bash", {
      args: [...LEAKY.slice(1), "bash", "-c", `cd ${workdir} && ls -d proc`],
    }).output();
    if (number === 9) assertEquals(control.code, 0);
    const args = ["run", "--quiet", "--workdir", workdir, "--", "pwd", "-P"];
    const { code, stdout } = await minisandbox(args, { under: LEAKY });
    assertEquals([code, stdout], [125, ""]);
  }
});

Deno.test("a program in the sandbox cannot get a working directory of the host by a link in a layer (CVE-2024-21626)", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  const numbers = [3, 4, 5, 9];
  const door = (number: number) => ({
    ...{ name: String(number), type: "2", target: `/proc/self/fd/${number}` },
  });
  Deno.writeFileSync(archive, tar(...numbers.map(door)));
  for (const number of numbers) {
    const args = ["--layer", `${archive}:/work`, "--workdir", `/work/${number}`];
    const { code, stdout } = await minisandbox(
      ["run", "--quiet", ...args, "--", "pwd", "-P"],
      { under: LEAKY },
    );
    assertEquals([code, stdout], [125, ""]);
  }
});

Deno.test("a program in the sandbox cannot run the file of minisandbox as /proc/self/exe (CVE-2019-5736)", async () => {
  using temp = tempDir();
  const script = `${temp.path}/script`;
  Deno.writeTextFileSync(script, "#!/proc/self/exe\n");
  Deno.chmodSync(script, 0o755);
  const before = fileState(BINARY);
  // Outside, the interpreter is the one that executes: bash runs itself, with the script.
  const control = await new Deno.Command("bash", { args: ["-c", `exec ${script}`] }).output();
  assertEquals(control.code, 0);
  const bind = ["--bind", `${script}:/script`];
  const { stdout, stderr } = await minisandbox(["run", "--quiet", ...bind, "--", "/script"]);
  assertEquals([stdout, stderr.includes("standalone")], ["", false]);
  assertEquals(fileState(BINARY), before);
});

Deno.test("a program in the sandbox cannot open the file of minisandbox by another's /proc/PID/exe (CVE-2019-5736)", async () => {
  const code = program(`
found = set()
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        found.add(os.readlink(f"/proc/{pid}/exe"))
    except OSError as error:
        found.add(name(error))
return sorted(found)`);
  const answer = await runInside(code);
  assertMatch(answer, /^\['\/usr\/bin\/python3[.\d]*', 'EACCES'\]$/);
});

Deno.test("a program in the sandbox cannot change the program that executes others", async () => {
  // It is what /proc/PID/exe names until the command begins: seen by a script that it runs.
  const code = program(`
open("/tmp/x", "w").write("#!/proc/self/exe\\\\n")
os.chmod("/tmp/x", 0o755)
return attempt(lambda: open("/proc/self/exe", "r+"))`);
  assertNotEquals(await runInside(code), "ok");
});

Deno.test("a program in the sandbox cannot truncate, rewrite or read a file given as stdout", async () => {
  using temp = tempDir();
  const log = `${temp.path}/results.log`;
  const attack = program(`
results = []
results.append(attempt(lambda: os.ftruncate(1, 0)))
results.append(attempt(lambda: os.lseek(1, 0, 0)))
results.append(attempt(lambda: os.close(os.open("/proc/self/fd/1", os.O_WRONLY | os.O_TRUNC))))
results.append(attempt(lambda: os.pread(1, 10, 0)))
sys.stderr.write(repr(results))`);
  const append = ["bash", "-c", `exec "$@" >>${log}`, "bash"];
  const control = async (): Promise<string> => {
    Deno.writeTextFileSync(log, "evidence\n");
    const { stderr } = await new Deno.Command("bash", {
      args: [...append.slice(1), PYTHON, "-c", attack],
    }).output();
    return new TextDecoder().decode(stderr);
  };
  assertEquals(await control(), "['ok', 'ok', 'ok', 'EBADF']");
  assertEquals(Deno.readTextFileSync(log), "ok");
  Deno.writeTextFileSync(log, "evidence\n");
  const { stderr } = await minisandbox(["run", "--", PYTHON, "-c", attack], { under: append });
  // What is opened is its pipe.
  assertEquals(stderr, "['EINVAL', 'ESPIPE', 'ok', 'ESPIPE']");
  assertEquals(Deno.readTextFileSync(log), "evidence\nok");
});

Deno.test("a program in the sandbox cannot write a file given as stdin", async () => {
  using temp = tempDir();
  const file = `${temp.path}/input`;
  const attack = program(`
fd = os.open("/proc/self/fd/0", os.O_RDWR)
os.write(fd, b"evil")`);
  const read = ["bash", "-c", `exec "$@" <${file}`, "bash"];
  Deno.writeTextFileSync(file, "precious");
  const control = await new Deno.Command("bash", { args: [...read.slice(1), PYTHON, "-c", attack] })
    .output();
  assertEquals(new TextDecoder().decode(control.stdout), "ok");
  assertEquals(Deno.readTextFileSync(file), "evilious");
  Deno.writeTextFileSync(file, "precious");
  await minisandbox(["run", "--quiet", "-i", "--", PYTHON, "-c", attack], { under: read });
  assertEquals(Deno.readTextFileSync(file), "precious");
});

Deno.test({
  name: "a program in the sandbox cannot reach the terminal that minisandbox was started on",
  ...requires("script"),
  fn: async () => {
    const attack = program(`
results = [attempt(lambda: opened("/dev/tty", os.O_RDWR))]
for fd in (0, 1, 2):
    results.append(os.isatty(fd))
return results`);
    const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const script = async (words: readonly string[]): Promise<string> => {
      const { stdout } = await new Deno.Command("script", {
        args: ["-qec", words.map(quote).join(" "), "/dev/null"],
        stdin: "null",
      }).output();
      return new TextDecoder().decode(stdout).trim();
    };
    assertEquals(await script([PYTHON, "-c", attack]), "['ok', True, True, True]");
    const inside = [BINARY, "run", "--quiet", "--store", sharedStore(), "--", PYTHON, "-c", attack];
    assertEquals(await script(inside), "['ENXIO', False, False, False]");
  },
});

Deno.test("a program in the sandbox cannot make the host write through a link left at --outcome", async () => {
  using temp = tempDir();
  const [work, canary] = [`${temp.path}/work`, `${temp.path}/canary`];
  Deno.mkdirSync(work);
  Deno.chmodSync(work, 0o777);
  Deno.writeTextFileSync(canary, "precious");
  const outcome = `${work}/outcome.json`;
  const { code } = await minisandbox([
    ...["run", "--quiet", "--outcome", outcome, "--bind", `${work}:/work:rw`, "--"],
    ...["bash", "-c", `rm -f /work/outcome.json; ln -s ${canary} /work/outcome.json`],
  ]);
  assertEquals(code, 0);
  assertEquals(Deno.readLinkSync(outcome), canary); // the attack was there
  assertEquals(Deno.readTextFileSync(canary), "precious");
});

function fileState(path: string): unknown {
  const { size, mode, uid, mtime, ctime, ino } = Deno.statSync(path);
  return { size, mode, uid, mtime, ctime, ino };
}
