/** What a fault in the worker that takes archives apart would find: as little as can be. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delay } from "@std/async/delay";
import { start } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

/** How often a process is looked for. */
const LOOK_MS = 5;

Deno.test("a worker sees libraries, itself and the layer, and holds no descriptor of the archive", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/many.tar`;
  const members = Array.from(
    { length: 5000 },
    (_, i) => ({ name: `d${i % 99}/f${i}`, body: "x" }),
  );
  Deno.writeFileSync(archive, tar(...members));
  Deno.chmodSync(archive, 0o600); // it may lie open to nobody else

  const child = start(["layer", "import", "--quiet", `${archive}:/opt/many`]);
  await child.stdin.close();
  const output = child.output();
  const worker = await findWorker(archive);
  child.kill("SIGSTOP"); // the worker waits for what is not poured now
  try {
    const descriptors = [...Deno.readDirSync(`/proc/${worker}/fd`)]
      .map(({ name }) => Deno.readLinkSync(`/proc/${worker}/fd/${name}`));
    assertMatch(Deno.readLinkSync(`/proc/${worker}/fd/0`), /^pipe:/);
    assertEquals(descriptors.filter((it) => it.includes("many.tar")), []);
    assertEquals(list(worker, "").filter((name) => !/^lib(32|64|x32)?$/.test(name)), [
      ...["dev", ...(exists("/etc/ld.so.cache") ? ["etc"] : []), "list", "minisandbox", "proc"],
      ...["run", "sys", "tmp", "tree", "usr"],
    ]);
    assertEquals(list(worker, "usr").filter((name) => !name.startsWith("lib")), []);
    assertEquals(list(worker, "tmp"), []);
  } finally {
    child.kill("SIGCONT");
  }
  const { success } = await output;
  assert(success);
});

/** Waits for the process that unpacks an archive. */
async function findWorker(archive: string): Promise<string> {
  for (;;) {
    for (const { name } of Deno.readDirSync("/proc")) {
      if (/^\d+$/.test(name) && isWorker(name, archive)) return name;
    }
    await delay(LOOK_MS);
  }
}

function isWorker(pid: string, archive: string): boolean {
  try {
    const line = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
    return line[1] === "__unpack" && line.includes(archive);
  } catch {
    return false; // it has ended
  }
}

function list(pid: string, path: string): string[] {
  return [...Deno.readDirSync(`/proc/${pid}/root/${path}`)].map(({ name }) => name).sort();
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
