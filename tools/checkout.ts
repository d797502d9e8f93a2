/** The checkout that the tools work on. */
import { fromFileUrl } from "@std/path/from-file-url";

/** The folder of the checkout, without a closing slash. */
export const ROOT: string = fromFileUrl(new URL("..", import.meta.url)).replace(/\/$/, "");

/** The program that `build()` makes. */
export const BINARY = `${ROOT}/dist/minisandbox`;

/** Lists the files below a folder of the checkout, sorted, as paths in it; none if it is missing. */
export async function listFiles(folder: string): Promise<string[]> {
  const paths: string[] = [];
  try {
    for await (const entry of Deno.readDir(`${ROOT}/${folder}`)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) paths.push(...await listFiles(path));
      else if (entry.isFile) paths.push(path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return paths.sort();
}
