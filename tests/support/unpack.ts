/** Unpacking in a test's own process. */
import { unpackInto, type UnpackOptions, type UnpackSummary } from "../../src/archive/mod.ts";

/** Unpacks bytes, given in pieces of `step` bytes, into a directory that is made if need be. */
export async function unpackBytes(
  bytes: Uint8Array<ArrayBuffer>,
  dir: string,
  options: Partial<UnpackOptions> & { readonly step?: number } = {},
): Promise<UnpackSummary> {
  const { step = 65536, ...rest } = options;
  Deno.mkdirSync(dir, { recursive: true });
  return await unpackInto(dir, pieces(bytes, step), { name: "x.tar", owners: "root", ...rest });
}

/** Unpacks a file, keeping all that we may; devices are left out. */
export async function unpackStream(archive: string, dir: string): Promise<UnpackSummary> {
  const isRoot = Deno.uid() === 0;
  Deno.mkdirSync(dir, { recursive: true });
  return await unpackInto(dir, (await Deno.open(archive)).readable, {
    name: archive,
    owners: isRoot ? "keep" : "root",
    isMapped: (id) => isRoot || id === Deno.uid(),
    devices: "skip",
  });
}

/** Gives bytes in pieces of `step`. */
export async function* pieces(
  bytes: Uint8Array<ArrayBuffer>,
  step: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.length; at += step) yield bytes.slice(at, at + step);
}
