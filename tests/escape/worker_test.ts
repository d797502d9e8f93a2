/** What a fault in the worker that takes archives apart would find: as little as can be. */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { probeHost } from "../../src/sandbox/mod.ts";
import { program, runInside, runOutside } from "../support/attack.ts";
import { start } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

/** How often a process is looked for. */
const LOOK_MS = 5;

/** Makes an archive that belongs to one of the ids that a sandbox has. */
function ownArchive(dir: string): string {
  const archive = `${dir}/many.tar`;
  const members = Array.from({ length: 5000 }, (_, i) => ({ name: `d${i % 99}/f${i}`, body: "x" }));
  Deno.writeFileSync(archive, tar(...members));
  Deno.chmodSync(archive, 0o600);
  const { uids, gids } = probeHost().identity;
  if (Deno.uid() === 0) Deno.chownSync(archive, uids[0]!.outside, gids[0]!.outside);
  return archive;
}

Deno.test("a worker sees libraries, itself, the layer and the archive, which it cannot change", async () => {
  using temp = tempDir();
  const archive = ownArchive(temp.path);
  const child = start(["layer", "import", "--quiet", `${archive}:/opt/many`]);
  await child.stdin.close();
  const output = child.output();
  const worker = await findWorker(archive);
  Deno.kill(Number(worker), "SIGSTOP");
  try {
    const mounts = Deno.readTextFileSync(`/proc/${worker}/mountinfo`).split("\n")
      .map((line) => line.split(" "));
    const options = (path: string) => mounts.find((fields) => fields[4] === path)?.[5]?.split(",");
    assert(options("/archive")?.includes("ro"));
    assert(options("/minisandbox")?.includes("ro"));
    assert(options("/tree")?.includes("rw"));
    for (const { name } of Deno.readDirSync(`/proc/${worker}/fd`)) {
      assert(!Deno.readLinkSync(`/proc/${worker}/fd/${name}`).includes("many.tar"));
    }
    assertEquals(list(worker, "").filter((name) => !/^lib(32|64|x32)?$/.test(name)), [
      ...["archive", "dev", ...(exists("/etc/ld.so.cache") ? ["etc"] : []), "list", "minisandbox"],
      ...["proc", "run", "sys", "tmp", "tree", "usr"],
    ]);
    assertEquals(list(worker, "usr").filter((name) => !name.startsWith("lib")), []);
    assertEquals(list(worker, "tmp"), []);
  } finally {
    Deno.kill(Number(worker), "SIGCONT");
  }
  const { success, stderr } = await output;
  assert(success, new TextDecoder().decode(stderr));
});

Deno.test("what reads a file through such a mount cannot change its mode, as any descriptor could", async () => {
  using temp = tempDir();
  const archive = ownArchive(temp.path);
  const attack = (path: string) =>
    program("os.fchmod(os.open(ARG, os.O_RDONLY), 0o640)\nreturn 'ok'", path);
  assertEquals(await runOutside(attack(archive)), "ok");
  assertEquals(Deno.statSync(archive).mode! & 0o777, 0o640);
  const bind = ["--bind", `${archive}:/archive`];
  assertEquals(await runInside(attack("/archive"), bind), "EROFS");
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
