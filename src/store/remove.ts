/** Trees removed, whatever their modes, never through a link. */
import { delay } from "@std/async/delay";

/** Removes a tree. */
export type RemoveTree = (dir: string) => Promise<void>;

/** Something may still be dying in it, and make a file while we remove. */
const ATTEMPTS = 5;

/**
 * Removes a directory and all beneath it; nothing there is no error.
 *
 * @throws {Deno.errors.PermissionDenied} If it holds directories of others.
 */
export async function removeTree(dir: string): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      await Deno.remove(dir, { recursive: true });
      return;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      if (attempt === ATTEMPTS) throw error;
      if (error instanceof Deno.errors.PermissionDenied) openUp(dir);
      else await delay(20 * attempt);
    }
  }
}

/** Makes directories searchable and writable for their owner: that of overlayfs has mode 0000. */
function openUp(dir: string): void {
  const mode = Deno.lstatSync(dir).mode ?? 0;
  if ((mode & 0o700) !== 0o700) Deno.chmodSync(dir, 0o700);
  for (const entry of Deno.readDirSync(dir)) {
    if (entry.isDirectory) openUp(`${dir}/${entry.name}`);
  }
}
