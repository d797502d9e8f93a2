/** The processor time of programs that have ended, with all they have waited for. */

/** The kernel's unit of such times (USER_HZ). */
const TICK_MS = 10;

/** Gives the processor time of all children that we have waited for, in milliseconds. */
export function childrenCpuMs(): number {
  const stat = Deno.readTextFileSync("/proc/self/stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS; // cutime and cstime, proc_pid_stat(5)
}
