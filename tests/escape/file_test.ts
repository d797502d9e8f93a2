/** Attacks on files: of the host, of the store, of neighbours, and those that links lead to. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { program, PYTHON, runInside, runOutside } from "../support/attack.ts";
import { bash, minisandbox, sharedStore, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { requires } from "../support/requirement.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

const reads = (path: string) => program("return open(ARG).read()", path);

Deno.test("a program in the sandbox cannot read a file of the host's /tmp, /dev/shm or home", async () => {
  for (const dir of ["/tmp", "/dev/shm", "/var/tmp", Deno.env.get("HOME") ?? "/root"]) {
    const path = Deno.makeTempFileSync({ dir, prefix: "minisandbox-test-" });
    try {
      Deno.writeTextFileSync(path, "precious");
      assertEquals(await runOutside(reads(path)), "precious");
      assertEquals(await runInside(reads(path)), "ENOENT");
    } finally {
      Deno.removeSync(path);
    }
  }
});

Deno.test("a program in the sandbox cannot find the host's passwords, homes, keys or store", async () => {
  const code = program(
    `
places = ["/root", "/home", "/var/lib", "/srv", "/mnt", "/media", "/opt", "/boot", "/sys", "/run"]
found = [f"{it}/{name}" for it in places if os.path.isdir(it) for name in os.listdir(it)]
files = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/ssl/private", "/etc/krb5.keytab"]
return sorted(found + [it for it in files if os.path.lexists(it)] + [ARG for _ in [0] if os.path.lexists(ARG)])`,
    sharedStore(),
  );
  assertEquals(await runInside(code), "['/home/agent']");
});

Deno.test("a program in the sandbox cannot read the environment that minisandbox was given", async () => {
  const code = program(`
text = b"".join(open(f"/proc/{it}/environ", "rb").read() for it in ("self", str(os.getppid() or 2)))
return "TOKEN" in os.environ, b"TOKEN" in text`);
  assertEquals(await runOutside(code, ["env", "TOKEN=secret"]), "(True, True)");
  const { stdout } = await minisandbox(["run", "--quiet", "--", PYTHON, "-c", code], {
    env: { TOKEN: "secret" },
  });
  assertEquals(stdout, "(False, False)");
});

Deno.test("a program in the sandbox cannot follow a link of a layer to a file of the host", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/canary`, "precious");
  Deno.symlinkSync(`${temp.path}/canary`, `${temp.path}/door`);
  assertEquals(await runOutside(reads(`${temp.path}/door`)), "precious");
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(
    archive,
    tar(
      { name: "door", type: "2", target: `${temp.path}/canary` },
      { name: "up", type: "2", target: "../../../../../../../../../../tmp" },
    ),
  );
  const layer = ["--layer", `${archive}:/opt/x`];
  assertEquals(await runInside(reads("/opt/x/door"), layer), "ENOENT");
  assertEquals(await runInside(program("return os.listdir('/opt/x/up')"), layer), "[]");
});

Deno.test("a program in the sandbox cannot change a layer for the sandboxes that come after", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(
    archive,
    tar({ name: "file", body: "precious" }, { name: "d/inner", body: "x" }),
  );
  const layer = ["--layer", `${archive}:/opt/x`];
  const attack =
    "cd /opt/x; echo evil >file; chmod 0 d; rm -rf d; mkdir new; ln -s / root; ls | xargs";
  assertEquals((await bash(attack, layer)).stdout, "file new root\n");
  const { stdout } = await bash("cd /opt/x; cat file d/inner; ls", layer);
  assertEquals(stdout, "preciousxd\nfile\n");
});

Deno.test("a program in the sandbox cannot change a program of the host by replacing its own", async () => {
  const state = () => Deno.statSync("/usr/bin/env").mtime;
  const before = state();
  const { stdout, code } = await bash(
    "rm /usr/bin/env && echo evil >/usr/bin/env && cat /usr/bin/env",
  );
  assertEquals([stdout, code], ["evil\n", 0]);
  assertEquals(state(), before);
});

Deno.test("a program in the sandbox cannot write to what is bound read-only, by any name", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "precious");
  Deno.chmodSync(`${temp.path}/file`, 0o666);
  Deno.chmodSync(temp.path, 0o777);
  const attack = (dir: string) =>
    program(
      `
results = [attempt(opened, ARG + "/file", os.O_RDWR), attempt(os.mkdir, ARG + "/new")]
results.append(attempt(os.chmod, ARG + "/file", 0o600))
results.append(attempt(os.utime, ARG + "/file"))
results.append(attempt(lambda: os.close(os.open(f"/proc/self/fd/{os.open(ARG + '/file', 0)}", os.O_RDWR))))
results.append(attempt(os.link, ARG + "/file", ARG + "/other"))
results.append(attempt(os.setxattr, ARG + "/file", "user.x", b"y"))
return results`,
      dir,
    );
  const before = describeTree(temp.path);
  const bind = ["--bind", `${temp.path}:/data`];
  const all = (name: string) => `[${Array(7).fill(`'${name}'`).join(", ")}]`;
  assertEquals(await runInside(attack("/data"), bind), all("EROFS"));
  assertEquals(describeTree(temp.path), before);
  const copy = `${temp.path}/copy`;
  Deno.mkdirSync(copy);
  Deno.copyFileSync(`${temp.path}/file`, `${copy}/file`);
  assertEquals(await runOutside(attack(copy)), all("ok"));
});

Deno.test("a program in the sandbox cannot link a file of one tree into another", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "precious");
  const code = program(`
return [attempt(os.link, "/data/file", "/srv/x"), attempt(os.rename, "/data/file", "/srv/x"),
    attempt(os.link, "/usr/bin/env", "/srv/y"), attempt(os.link, "/srv", "/data/z")]`);
  const bind = ["--bind", `${temp.path}:/data:rw`];
  assertMatch(await runInside(code, bind), /^\['EXDEV', 'EXDEV', 'EXDEV', '(EXDEV|EPERM)'\]$/);
});

Deno.test("a layer cannot lead a bind to what minisandbox has open (CVE-2024-21626's kind)", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/data`);
  const door = (number: number) => ({
    name: `${number}`,
    type: "2",
    target: `/proc/self/fd/${number}`,
  });
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(archive, tar(...Array.from({ length: 48 }, (_, i) => door(i + 3))));
  const layer = ["--layer", `${archive}:/opt/x`];
  assertEquals((await bash("true", layer)).code, 0);
  const layers = () =>
    [...Deno.readDirSync(`${sharedStore()}/layers`)].sort((a, b) => a.name < b.name ? -1 : 1)
      .map(({ name }) => describeTree(`${sharedStore()}/layers/${name}/tree`));
  const before = layers();
  const answers = new Set<string>();
  for (let number = 3; number < 51; number += 9) {
    const bind = ["--bind", `${temp.path}/data:/opt/x/${number}/new`];
    const { code, stderr } = await bash("true", [...layer, ...bind]);
    assertEquals(code, 125);
    answers.add(/ELOOP|ENOENT/.exec(stderr)?.[0] ?? stderr);
  }
  assertEquals([...answers].sort(), ["ELOOP", "ENOENT"]); // ENOENT where nothing is open
  assertEquals(layers(), before);
});

Deno.test("a base directory cannot lead the search for a user out of it, or make it wait", async () => {
  using temp = tempDir();
  const base = `${temp.path}/base`;
  const passwd = "bob:x:0:0::/:/bin/sh\n";
  Deno.writeTextFileSync(`${temp.path}/passwd`, passwd);
  const run = async (): Promise<[number, string]> => {
    const args = ["run", "--quiet", "--base", base, "--user", "bob", "--", "/true"];
    const { code, stderr } = await minisandbox(args);
    return [code, stderr];
  };
  const empty = () => {
    Deno.removeSync(base, { recursive: true });
    Deno.mkdirSync(`${base}/etc`, { recursive: true });
  };
  Deno.mkdirSync(`${base}/etc`, { recursive: true });
  Deno.writeTextFileSync(`${base}/etc/passwd`, passwd);
  assertEquals((await run())[0], 127); // he is found, the command is not
  empty();
  Deno.symlinkSync(`${temp.path}/passwd`, `${base}/etc/passwd`);
  assertStringIncludes((await run())[1], "there is no such user inside");
  empty();
  Deno.symlinkSync("../../passwd", `${base}/etc/passwd`);
  assertStringIncludes((await run())[1], "there is no such user inside");
  empty();
  Deno.removeSync(`${base}/etc`);
  Deno.symlinkSync(temp.path, `${base}/etc`);
  assertStringIncludes((await run())[1], "there is no such user inside");
  Deno.removeSync(`${base}/etc`);
  empty();
  const { success } = await new Deno.Command("mkfifo", { args: [`${base}/etc/passwd`] }).output();
  assert(success);
  assertStringIncludes((await run())[1], "there is no such user inside");
  Deno.removeSync(`${base}/etc/passwd`);
});

Deno.test({
  name: "a program in the sandbox cannot forge what overlayfs notes of its files",
  ...requires("python3"),
  fn: async () => {
    using temp = tempDir();
    Deno.mkdirSync(`${temp.path}/upper`);
    const names = ["opaque", "redirect", "metacopy", "whiteout", "origin", "impure", "upper"];
    const code = program(`
os.mkdir("/srv/d")
answers = set()
for it in ${JSON.stringify(names)}:
    for kind in ("user", "trusted"):
        answers.add(attempt(os.setxattr, "/srv/d", f"{kind}.overlay.{it}", b"/usr"))
print(sorted(answers - {"ok", "EPERM", "ENOTSUP"}), os.listdir("/srv/d"), flush=True)
sys.stdin.read()`);
    const args = ["run", "--quiet", "-i", "--upper-dir", `${temp.path}/upper`, "--"];
    const child = start([...args, PYTHON, "-c", code]);
    const reader = child.stdout.getReader();
    assertEquals(await readUntil(reader, "\n"), "[] []\n");
    // What lies on the disk holds none that means something to overlayfs.
    const [run] = [...Deno.readDirSync(`${temp.path}/upper`)].filter((it) => it.isDirectory);
    const read = program(
      `
path = ARG + "/srv/d"
return [it for it in os.listxattr(path) if ".overlay." in it and not ".overlay.overlay." in it
    and it not in ("user.overlay.origin", "user.overlay.impure", "user.overlay.uuid")]`,
      `${temp.path}/upper/${run!.name}/upper/0`,
    );
    assertEquals(await runOutside(read), "[]");
    await child.stdin.close();
    for (;;) if ((await reader.read()).done) break;
    await Promise.all([child.stderr.cancel(), child.status]);
  },
});

Deno.test("others on the host cannot run a set-uid program that a sandbox leaves or an archive brings (CVE-2021-41091)", async () => {
  using temp = tempDir();
  Deno.chmodSync(temp.path, 0o755);
  Deno.mkdirSync(`${temp.path}/upper`);
  Deno.chmodSync(`${temp.path}/upper`, 0o755);
  const args = ["run", "--quiet", "-i", "--upper-dir", `${temp.path}/upper`, "--"];
  const child = start([
    ...args,
    "bash",
    "-c",
    "cp /usr/bin/id /srv/id; chmod 4755 /srv/id; echo ready; cat",
  ]);
  const reader = child.stdout.getReader();
  await readUntil(reader, "ready\n");
  for (const dir of ["runs", "layers", "tmp", "skeletons"]) {
    assertEquals(Deno.statSync(`${sharedStore()}/${dir}`).mode! & 0o077, 0);
  }
  const runs = [...Deno.readDirSync(`${temp.path}/upper`)].filter((it) => it.isDirectory);
  assertEquals(runs.length, 1);
  assertEquals(Deno.statSync(`${temp.path}/upper/${runs[0]!.name}`).mode! & 0o077, 0);
  await child.stdin.close();
  for (;;) if ((await reader.read()).done) break;
  await Promise.all([child.stderr.cancel(), child.status]);
});
