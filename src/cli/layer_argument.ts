/** `ARCHIVE:PATH`, as a layer is named on the command line. */
import type { LayerSpec } from "../app/spec.ts";
import { checkDistinct, parseLayerPath } from "../app/layer_path.ts";
import { UsageError } from "../errors.ts";

/** A layer that is named by its archive. */
export type ArchiveLayer = LayerSpec & { readonly archive: string };

/**
 * Parses one `ARCHIVE:PATH`; it is parted at the last `:/`, so that an archive's name may hold one.
 *
 * @throws {UsageError} If it has no two parts, or the path cannot be used.
 */
export function parseLayerArgument(argument: string): ArchiveLayer {
  const cut = argument.lastIndexOf(":/");
  if (cut > 0) {
    return { archive: argument.slice(0, cut), path: parseLayerPath(argument.slice(cut + 1)) };
  }
  const colon = argument.lastIndexOf(":");
  if (colon > 0 && colon < argument.length - 1) parseLayerPath(argument.slice(colon + 1));
  throw new UsageError(`Cannot read the layer ${JSON.stringify(argument)}: it is no ARCHIVE:PATH`, {
    remedy: "Give it as venv.tar.gz:/opt/venv, or by --spec FILE.",
  });
}

/**
 * Parses several.
 *
 * @throws {UsageError} If one cannot be used, or two are shown at one path.
 */
export function parseLayerArguments(texts: readonly string[]): ArchiveLayer[] {
  const layers = texts.map(parseLayerArgument);
  checkDistinct(layers.map(({ path }) => path));
  return layers;
}
