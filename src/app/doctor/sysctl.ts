/** Settings of the kernel. */

/** Reads a number from /proc/sys; null where the kernel has none of this name, or hides it. */
export function readSysctl(path: string): number | null {
  try {
    const value = parseInt(Deno.readTextFileSync(`/proc/sys/${path}`), 10);
    return Number.isNaN(value) ? null : value;
  } catch {
    return null;
  }
}
