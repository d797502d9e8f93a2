/** Races against every call on files that the host makes where a program inside may change names. */
import { assert, assertEquals } from "@std/assert";
import { isErrno } from "../../ffi/mod.ts";
import { removeTree } from "../../src/store/mod.ts";
import { program, PYTHON } from "../support/attack.ts";
import { bash, minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

/** Changes a name between a directory and a link, as fast as it can, until its stdin ends. */
const FLIP = (target: string) =>
  program(
    `
import select
place, target = ARG.split(":")
os.chdir(place)
attempt(os.mkdir, "real")
os.symlink(target, "link")
os.mkdir("name")
libc.renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    for _ in range(1000):
        libc.renameat2(-100, b"name", -100, b"link", 2)`,
    target,
  );

/** Runs something while a program changes names. */
async function whileFlipping(child: Deno.ChildProcess, deed: () => Promise<void>): Promise<void> {
  const reader = child.stdout.getReader();
  try {
    await readUntil(reader, "ready\n");
    await deed();
  } finally {
    await child.stdin.close();
    for (;;) if ((await reader.read()).done) break;
    await Promise.all([child.status, child.stderr.cancel()]);
  }
}

function flipOutside(place: string, target: string): Deno.ChildProcess {
  return new Deno.Command(PYTHON, {
    args: ["-c", FLIP(`${place}:${target}`)],
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  }).spawn();
}

function shared(path: string): string {
  Deno.mkdirSync(path);
  Deno.chmodSync(path, 0o777);
  return path;
}

const SECRETS = { canary: "a first content", "d/inner": "a second content" };

function makeSecrets(path: string): string {
  Deno.mkdirSync(`${path}/d`, { recursive: true });
  for (const [name, text] of Object.entries(SECRETS)) {
    Deno.writeTextFileSync(`${path}/${name}`, text);
  }
  return path;
}

Deno.test("a program in the sandbox cannot make --keep write through a link that it leaves", async () => {
  using temp = tempDir();
  const work = shared(`${temp.path}/work`);
  const secrets = makeSecrets(`${temp.path}/secrets`);
  const before = describeTree(secrets);
  const bind = ["--bind", `${work}:/work:rw`, "--keep", work];
  const attack = `for name in .root.tar.gz.part root.tar.gz; do
ln -s ${secrets}/canary /work/$name; done`;
  assertEquals((await bash(attack, bind)).code, 0);
  assertEquals(describeTree(secrets), before);
  assert(Deno.lstatSync(`${work}/root.tar.gz`).isFile);
  // The links were there: whoever opens by name would have followed.
  assertEquals((await bash(`rm /work/root.tar.gz; ${attack}`, bind.slice(0, 2))).code, 0);
  assertEquals(Deno.readLinkSync(`${work}/.root.tar.gz.part`), `${secrets}/canary`);
});

Deno.test("a program in the sandbox cannot make --keep write to a directory that it puts in the place", async () => {
  using temp = tempDir();
  const work = shared(`${temp.path}/work`);
  const secrets = makeSecrets(`${temp.path}/secrets`);
  const before = describeTree(secrets);
  const attack = `mv /work/out /work/moved && ln -s ${secrets} /work/out`;
  shared(`${work}/out`);
  const { code } = await bash(attack, ["--bind", `${work}:/work:rw`, "--keep", `${work}/out`]);
  assertEquals(code, 0);
  assertEquals(Deno.readLinkSync(`${work}/out`), secrets);
  assertEquals(describeTree(secrets), before);
  assertEquals([...Deno.readDirSync(`${work}/moved`)].map(({ name }) => name), ["root.tar.gz"]);
});

Deno.test("a program in the sandbox cannot make --keep fail but by a line that says so", async () => {
  using temp = tempDir();
  const work = shared(`${temp.path}/work`);
  for (const attack of ["mkdir -p /work/root.tar.gz/x", "mkdir -p /work/.root.tar.gz.part/x"]) {
    const { code, stderr } = await bash(attack, ["--bind", `${work}:/work:rw`, "--keep", work]);
    assertEquals(code, 125);
    assert(/^minisandbox: Cannot keep what was written: [^\n]+\n$/.test(stderr), stderr);
  }
});

const STARTS = 6;

Deno.test("a neighbour cannot lead a bind out of the sandbox by changing what lies on its way (CVE-2025-31133's kind)", async () => {
  using temp = tempDir();
  const work = shared(`${temp.path}/work`);
  const secrets = makeSecrets(`${temp.path}/secrets`);
  const data = shared(`${temp.path}/data`);
  Deno.writeTextFileSync(`${data}/file`, "data");
  Deno.chmodSync(`${data}/file`, 0o666);
  const before = [describeTree(secrets), describeTree(data)];
  for (const target of ["/proc/self/fd/9", "/tmp"]) {
    const place = shared(`${work}/${target.length}`);
    const flip = start([
      ...["run", "--quiet", "-i", "--bind", `${place}:/work:rw`, "--"],
      ...[PYTHON, "-c", FLIP(`/work:${target}`)],
    ]);
    const codes = new Set<number>();
    await whileFlipping(flip, async () => {
      for (let i = 0; i < STARTS; i++) {
        // Descriptor 9 is what a careless caller has left open.
        const { code, stdout } = await bash("echo evil 2>/dev/null >/work/name/x/y/file; true", [
          ...["--bind", `${place}:/work:rw`, "--bind", `${data}:/work/name/x/y`],
        ], { under: ["bash", "-c", `exec 9<${secrets}; exec "$@"`, "bash"] });
        codes.add(code);
        assertEquals(stdout, "");
      }
    });
    assert([...codes].every((code) => code === 0 || code === 125), [...codes].join(" "));
    assertEquals([describeTree(secrets), describeTree(data)], before);
  }
});

Deno.test("a tree that changes while it is packed cannot bring what lies outside into the archive", async () => {
  using temp = tempDir();
  const tree = shared(`${temp.path}/tree`);
  const secrets = makeSecrets(`${temp.path}/secrets`);
  for (let i = 0; i < 50; i++) Deno.writeTextFileSync(`${tree}/file-${i}`, "x".repeat(1000));
  let followed = 0;
  await whileFlipping(flipOutside(tree, secrets), async () => {
    for (let i = 0; i < STARTS; i++) {
      const { stdoutBytes } = await minisandbox(["layer", "pack", "--level", "0", tree, "-o", "-"]);
      const text = new TextDecoder("latin1").decode(stdoutBytes);
      for (const secret of Object.values(SECRETS)) assertEquals(text.includes(secret), false);
    }
    // Who opens by name gets there.
    for (let i = 0; i < 1000 && followed === 0; i++) {
      try {
        if (Deno.readTextFileSync(`${tree}/name/canary`) === SECRETS.canary) followed++;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  });
  assertEquals(followed, 1);
});

Deno.test("a tree that changes while it is removed cannot have anything outside removed", async () => {
  using temp = tempDir();
  const secrets = makeSecrets(`${temp.path}/secrets`);
  const before = describeTree(secrets);
  for (let i = 0; i < STARTS; i++) {
    const tree = shared(`${temp.path}/tree-${i}`);
    for (let j = 0; j < 50; j++) Deno.mkdirSync(`${tree}/d${j}/e`, { recursive: true });
    await whileFlipping(flipOutside(tree, secrets), async () => {
      await removeTree(tree).catch((error) => {
        // It may give up on a tree that changes without end, but only so.
        assert(isErrno(error, "ENOTEMPTY", "ENOENT", "ENOTDIR", "EISDIR"), `${error}`);
      });
    });
    assertEquals(describeTree(secrets), before);
  }
});
