/** A tree of all that archives find hard to carry. */
import { assert } from "@std/assert";
import { AT, close, O, openAt, setXattr } from "../../ffi/mod.ts";

/** Makes it beneath a directory that is made, too; what only root can make is left out for others. */
export async function makeWorstTree(root: string): Promise<void> {
  const at = (path: string) => `${root}/${path}`;
  const write = (path: string, body = path) => {
    Deno.mkdirSync(at(path).replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(at(path), body);
  };
  for (let length = 95; length <= 105; length++) write("n".repeat(length));
  write("é".repeat(50) + "x");
  write(`${"a".repeat(99)}é`);
  write(`${"long-directory/".repeat(20)}${"f".repeat(255)}`);
  for (const name of [" ", "a:b", "a,b", "a\\b", "a\nb", "-rf", "'", '"', "*"]) write(name);
  write("empty", "");
  write("big", "0123456789".repeat(200_000));
  Deno.linkSync(at("big"), at("hard"));
  Deno.linkSync(at("big"), at("h".repeat(150)));
  Deno.symlinkSync("../../outside", at("relative"));
  Deno.symlinkSync("/absolute/" + "t".repeat(300), at("long-target"));
  Deno.symlinkSync("l".repeat(100), at("target-100"));
  const isRoot = Deno.uid() === 0;
  const special = isRoot ? [0o4755, 0o2755, 0o6711] : []; // which only an owner's file can keep
  for (const mode of [0o000, 0o400, 0o555, 0o644, 0o666, 0o777, ...special]) {
    write(`mode-${mode.toString(8)}`);
    if (isRoot || (mode & 0o400) !== 0) Deno.chmodSync(at(`mode-${mode.toString(8)}`), mode);
  }
  Deno.mkdirSync(at("sticky"));
  Deno.chmodSync(at("sticky"), 0o1777);
  write("read-only/inside");
  Deno.chmodSync(at("read-only"), 0o555);
  if (isRoot) {
    write("owned");
    Deno.chownSync(at("owned"), 12345, 67890);
    Deno.symlinkSync("owned", at("owned-link"));
    await run("chown", "--no-dereference", "4:5", at("owned-link"));
  }
  await run("mkfifo", at("pipe"));
  await run("touch", "-d", "1960-01-02 03:04:05", at("empty"));
  await run("touch", "-d", "2100-01-02 03:04:05.123456789", at("big"));
  await run("touch", "-h", "-d", "2001-01-01", at("relative"));
}

/** Adds files with holes, which some readers take for something else. */
export function addSparseFiles(root: string): void {
  const write = (name: string, size: number, ...offsets: readonly number[]) => {
    using file = Deno.openSync(`${root}/${name}`, { create: true, write: true });
    for (const offset of offsets) {
      file.seekSync(offset, Deno.SeekMode.Start);
      file.writeSync(new TextEncoder().encode(`data at ${offset}`));
    }
    file.truncateSync(size);
  };
  write("hole", 1 << 20);
  write("hole-at-start", (1 << 20) + 1, 1 << 20);
  write("hole-at-end", 3 << 20, 0);
  write("holes", 1 << 24, ...Array.from({ length: 40 }, (_, i) => i * 300_000));
  write("vast", 9 * 2 ** 30, 5, 8 * 2 ** 30 + 5);
}

/** Sets an attribute of a file. */
export function setAttribute(path: string, name: string, value: string): void {
  const fd = openAt(AT.AT_FDCWD, path, O.O_CLOEXEC);
  try {
    setXattr(fd, name, new TextEncoder().encode(value));
  } finally {
    close(fd);
  }
}

/** Runs a program that must succeed. */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
