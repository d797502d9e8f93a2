/** Packing in a test's own process. */
import { concat } from "@std/bytes/concat";
import { AT, close, O, openAt } from "../../ffi/mod.ts";
import { type PackOptions, packTree } from "../../src/archive/mod.ts";

/** Packs a directory as a plain tar that keeps all, and gives its bytes. */
export async function packDir(
  dir: string,
  options: Partial<PackOptions> = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const fd = openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    return concat(
      await Array.fromAsync(
        packTree([{ dir: fd, at: "" }], {
          name: dir,
          owners: "keep",
          mtime: "keep",
          level: null,
          whiteouts: "plain",
          ...options,
        }),
        (piece) => piece.slice(),
      ),
    );
  } finally {
    close(fd);
  }
}
