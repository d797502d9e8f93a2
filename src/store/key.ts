/** The name of a layer: a digest of all that its tree depends on. */
import { createHash } from "node:crypto";

/** What a layer's tree depends on. */
export interface LayerContent {
  /** The SHA-256 of the archive's bytes, in hexadecimal. */
  readonly sha256: string;
  /** Where it is shown in a sandbox. */
  readonly path: string;
  /** Which ids are mapped, in any one form. */
  readonly idmap: string;
}

/** Gives the key of a layer, in hexadecimal. */
export function layerKey({ sha256, path, idmap }: LayerContent): string {
  return createHash("sha256").update(JSON.stringify([sha256, path, idmap])).digest("hex");
}
