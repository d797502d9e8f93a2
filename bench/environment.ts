/** Environments of any size, made of this machine's Python: many small files and a few large ones. */
import { type File, listFiles } from "../src/app/bench/filler.ts";
import { run } from "./context.ts";

/** The share of bytes in large files, as compiled libraries have it in a real environment. */
const LARGE_SHARE = 0.3;

/** Large files are of this size. */
const LARGE_BYTES = 24e6;

/** An environment as an archive. */
export interface Environment {
  readonly archive: string;
  readonly archiveBytes: number;
  readonly bytes: number;
  readonly entries: number;
}

/**
 * Makes an environment of about `bytes` in `scratch` and packs it with GNU tar. The same name and
 * size give the same files on one machine; another name, other ones.
 *
 * @throws {Error} If there is no Python.
 */
export async function makeEnvironment(
  scratch: string,
  name: string,
  bytes: number,
): Promise<Environment> {
  const dir = `${scratch}/${name}`;
  const archive = `${dir}.tar.gz`;
  const files = await listFiles(await findLibrary());
  const count = { bytes: 0, entries: 0 };
  await Deno.mkdir(`${dir}/lib`, { recursive: true });
  await Deno.writeTextFile(`${dir}/name`, name);
  const largeBytes = Math.min(LARGE_BYTES, bytes * LARGE_SHARE);
  for (let i = 0; count.bytes + largeBytes <= bytes * LARGE_SHARE; i++) {
    await writeLarge(`${dir}/lib/large${i}.so`, files, { bytes: largeBytes, skip: i * 37 });
    count.bytes += largeBytes;
    count.entries++;
  }
  for (let copy = 0; count.bytes < bytes; copy++) {
    for (const { path, size } of files) {
      if (count.bytes >= bytes) break;
      const to = `${dir}/lib/python${copy}/${path.split("/").slice(-3).join("/")}`;
      await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
      await Deno.copyFile(path, to);
      count.bytes += size;
      count.entries++;
    }
  }
  const same = ["--sort=name", "--mtime=@1700000000", "--owner=0", "--group=0"];
  await run(["tar", ...same, "-czf", archive, "-C", dir, "."]);
  await Deno.remove(dir, { recursive: true });
  return { archive, archiveBytes: (await Deno.stat(archive)).size, ...count };
}

/**
 * Gives the archive of an environment with one file more, so that it is another environment. It is a
 * gzip file of two members; nothing is compressed again.
 */
export async function makeVariant(
  scratch: string,
  name: string,
  { archive }: Environment,
): Promise<string> {
  const variant = `${scratch}/${name}.tar.gz`;
  await Deno.writeTextFile(`${scratch}/${name}`, name);
  const script =
    'tar -C "$1" --owner=0 --group=0 -cf - "$2" | head -c 1024 | gzip -n >"$3" && cat "$4" >>"$3"';
  await run(["sh", "-c", script, "sh", scratch, name, variant, archive]);
  await Deno.remove(`${scratch}/${name}`);
  return variant;
}

async function findLibrary(): Promise<string> {
  const code = "import sysconfig; print(sysconfig.get_path('stdlib'))";
  return (await run(["python3", "-I", "-c", code])).trim();
}

/** Joins files, those after `skip` first, to one of `bytes`. */
async function writeLarge(
  to: string,
  files: readonly File[],
  { bytes, skip }: { readonly bytes: number; readonly skip: number },
): Promise<void> {
  using file = await Deno.create(to);
  let left = bytes;
  for (let i = skip; left > 0; i++) {
    const content = (await Deno.readFile(files[i % files.length]!.path)).subarray(0, left);
    left -= content.length;
    for (let at = 0; at < content.length;) at += await file.write(content.subarray(at));
  }
}
