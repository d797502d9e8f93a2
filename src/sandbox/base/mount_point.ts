/** Mount points of the host, from /proc/self/mountinfo (proc_pid_mountinfo(5)). */

/** Lists mount points, in the order of mounting. */
export function parseMountPoints(mountinfo: string): string[] {
  return mountinfo.split("\n").filter((line) => line !== "").map((line) => {
    return unescape(line.split(" ")[4] ?? "");
  });
}

/** Says whether something is mounted at or below a directory. */
export function holdsMount(mountPoints: readonly string[], path: string): boolean {
  return mountPoints.some((point) => point === path || point.startsWith(`${path}/`));
}

/** Blanks, tabs, newlines and backslashes are written as three octal digits. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(parseInt(digits, 8)));
}
