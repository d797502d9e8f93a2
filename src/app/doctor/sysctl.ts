/** What the kernel tells in files. */

/** Reads a number from /proc/sys; null where the kernel has none of this name, or hides it. */
export function readSysctl(path: string): number | null {
  const value = parseInt(readText(`/proc/sys/${path}`) ?? "", 10);
  return Number.isNaN(value) ? null : value;
}

/** Reads a file; null where there is none, or it is not for us. */
export function readText(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return null;
  }
}
