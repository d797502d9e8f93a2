/** Makes this process the heir of all that its children leave behind, so that nothing can hide. */
import { isErrno, poll, PR, prctl } from "../../ffi/mod.ts";
import { delay } from "@std/async/delay";

/** How often we look. */
const LOOK_MS = 5;

/** Orphans among our descendants become our children from now on (prctl(2), PR_SET_CHILD_SUBREAPER). */
export function adoptOrphans(): void {
  prctl(PR.PR_SET_CHILD_SUBREAPER, 1);
}

/**
 * Waits until this process has no child left, and reaps those that it has; none may be of `Deno.Command`.
 *
 * @throws {Error} If one lives on.
 */
export async function awaitNoDescendants(deadlineMs: number): Promise<void> {
  const until = performance.now() + deadlineMs;
  while (hasChildren()) {
    if (performance.now() > until) throw new Error(`a descendant lives on: ${listChildren()}`);
    await delay(LOOK_MS);
  }
}

function hasChildren(): boolean {
  try {
    while (poll(-1) !== null);
    return true;
  } catch (error) {
    if (!isErrno(error, "ECHILD")) throw error;
    return false;
  }
}

function listChildren(): string {
  const own = `PPid:\t${Deno.pid}\n`;
  return [...Deno.readDirSync("/proc")].map(({ name }) => read(`/proc/${name}/status`))
    .filter((status) => status.includes(own))
    .map((status) => status.split("\n").slice(0, 3).join(" ")).join("; ");
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
