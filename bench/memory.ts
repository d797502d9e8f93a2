/** The memory of a program and of all it starts. */

/** It is looked at this often; the kernel keeps the peaks. */
const LOOK_MS = 10;

/**
 * Runs a command and gives the largest resident set that one of its processes had, in bytes.
 *
 * @throws {Error} If it fails.
 */
export async function measurePeak(argv: readonly string[]): Promise<number> {
  const [program = "", ...args] = argv;
  const child = new Deno.Command(program, { args, stdin: "null", stdout: "null" }).spawn();
  const peaks = new Map<number, number>();
  const look = setInterval(() => lookAt(child.pid, peaks), LOOK_MS);
  const { success } = await child.status;
  clearInterval(look);
  if (!success) throw new Error(`Cannot run ${JSON.stringify(argv)}`);
  return Math.max(...peaks.values());
}

function lookAt(pid: number, peaks: Map<number, number>): void {
  try {
    const [, kib] = /^VmHWM:\s+(\d+)/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`)) ?? [];
    if (kib !== undefined) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, Number(kib) * 1024));
    for (const { name: task } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const children = Deno.readTextFileSync(`/proc/${pid}/task/${task}/children`);
      for (const each of children.split(" ")) if (each !== "") lookAt(Number(each), peaks);
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error; // it has ended: ENOENT, or ESRCH while it is read
  }
}
