/** Where a layer may be shown in a sandbox. */
import { UsageError } from "../errors.ts";

/** What a sandbox makes for itself. */
const OWN = ["/proc", "/sys", "/dev", "/tmp", "/run"];

/**
 * Parses the path that a layer is shown at: doubled slashes and one at the end are dropped.
 *
 * @throws {UsageError} If a sandbox could not show it there.
 */
export function parseLayerPath(path: string): string {
  const refuse = (state: string, remedy: string) =>
    new UsageError(`Cannot show a layer at ${JSON.stringify(path)}: ${state}`, { remedy });
  if (!path.startsWith("/")) {
    throw refuse("it is not absolute", "Give a path such as /opt/venv.");
  }
  if (path.includes("\0")) throw refuse("it holds a NUL byte", "Give a path such as /opt/venv.");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw refuse('it holds ".."', "Give the path that is meant.");
  if (parts.length === 0) {
    throw refuse("it is the root", "Give a directory beneath it, or use --base DIR.");
  }
  const clean = `/${parts.join("/")}`;
  const own = OWN.find((dir) => clean === dir || clean.startsWith(`${dir}/`));
  if (own !== undefined) {
    throw refuse(`a sandbox makes ${own} for itself`, "Give a path such as /opt/venv.");
  }
  return clean;
}

/**
 * Makes sure that no two layers are shown at one path.
 *
 * @throws {UsageError} If two are.
 */
export function checkDistinct(paths: readonly string[]): void {
  const twice = paths.find((path, i) => paths.indexOf(path) !== i);
  if (twice === undefined) return;
  throw new UsageError(
    `Cannot show two layers at ${JSON.stringify(twice)}: one would hide the other`,
    {
      remedy: "Give each layer a path of its own.",
    },
  );
}
