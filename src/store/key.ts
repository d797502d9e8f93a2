/** The name of a layer: a digest of all that its tree depends on. */
import { createHash } from "node:crypto";

/** Whether files keep their setuid and setgid bits. */
export type SetuidPolicy = "keep" | "drop";

/** What a layer's tree depends on. */
export interface LayerContent {
  /** The SHA-256 of the archive's bytes, in hexadecimal. */
  readonly sha256: string;
  /** Where it is shown in a sandbox. */
  readonly path: string;
  /** Which ids are mapped, in any one form. */
  readonly idmap: string;
  /** Kept, if it is not said. */
  readonly setuid?: SetuidPolicy;
}

/** Gives the key of a layer, in hexadecimal. */
export function layerKey({ sha256, path, idmap, setuid = "keep" }: LayerContent): string {
  const content = [sha256, path, idmap, ...(setuid === "keep" ? [] : ["setuid dropped"])];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}
