/** A temporary folder of the demo. */
import { join } from "@std/path/join";

/** A folder that is removed at the end of its scope, unless it is to be kept. */
export interface Scratch extends AsyncDisposable {
  readonly path: string;
}

/** Makes a temporary folder in the folder of the demo, which git is told to ignore. */
export async function openScratch(parent: string, options: { keep: boolean }): Promise<Scratch> {
  await Deno.mkdir(parent, { recursive: true });
  await Deno.writeTextFile(join(parent, ".gitignore"), "*\n");
  const path = await Deno.makeTempDir({ dir: parent, prefix: "run-" });
  return {
    path,
    async [Symbol.asyncDispose](): Promise<void> {
      if (!options.keep) await removeTree(path);
    },
  };
}

/** Removes a folder, also one whose folders may not be read (overlay's `work/work`). */
async function removeTree(path: string): Promise<void> {
  const command = ['chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1"', "sh", path];
  await new Deno.Command("sh", { args: ["-c", ...command], stdin: "null" }).output();
}
