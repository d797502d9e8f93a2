/** The layers in the demo's store, whatever the store's own layout is. */
import { run, runChecked } from "./child.ts";
import type { Context } from "./context.ts";

/**
 * Finds the layers: the trees that hold the top of a virtual environment or of a repository. What
 * cannot be read is passed over: a store that is yet to be made, a folder that overlay closed.
 */
export async function listLayers(context: Context): Promise<string[]> {
  const find = ["find", context.store, "(", "-name", "pyvenv.cfg", "-o", "-name", ".git", ")"];
  const { stdout } = await run([...find, "-prune", "-printf", "%h\\n"]);
  return stdout.split("\n").filter((line) => line !== "").sort();
}

/** Gives the inode of each layer: one that is unpacked again has another. */
export async function listInodes(context: Context): Promise<number[]> {
  const layers = await listLayers(context);
  return layers.map((layer) => Deno.statSync(layer).ino ?? 0);
}

/** Checksums every layer: names, modes, owners, links and contents. */
export async function sumLayers(context: Context): Promise<Map<string, string>> {
  const script = `cd "$1" && { find . -printf '%p %M %U %G %l\\n'
    find . -type f -print0 | xargs -0 sha256sum; } | LC_ALL=C sort | sha256sum`;
  const sums = new Map<string, string>();
  for (const layer of await listLayers(context)) {
    sums.set(layer, (await runChecked(["sh", "-c", script, "sh", layer])).stdout);
  }
  return sums;
}
