/** The ends of plans, and of processes of ours that have done what they were for. */
import { closeQuietly, isErrno, kill, SIGNAL, wait } from "../../ffi/mod.ts";
import { carryOut, type Means, type Running, toSetupError } from "./carry_out.ts";
import type { Plan } from "./step.ts";

/**
 * Carries out a plan to its end, and reaps the process that began it.
 *
 * @throws {SetupError} If a step is refused; the process it was made for has ended then.
 */
export function finish(plan: Plan, means: Means): Running {
  return reapFirst(plan, carryOut(plan, means));
}

/** Reaps the process that began a plan and has ended. @throws {SetupError} As `finish`. */
export function reapFirst(plan: Plan, running: Running): Running {
  wait(running.child.pid);
  closeQuietly(running.child.pidfd);
  const refusal = running.refusal();
  if (refusal === null) return running;
  const made = plan.some((step) => step.output === "pid") ? running.output("pid") : 0;
  if (made > 0) reapQuietly(made);
  throw toSetupError(refusal);
}

/** Ends a process, if it is there. */
export function killQuietly(pid: number): void {
  try {
    kill(pid, SIGNAL.SIGKILL);
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
}

/** Reaps a process, if it is ours to reap. */
export function reapQuietly(pid: number): void {
  try {
    wait(pid);
  } catch (error) {
    if (!isErrno(error, "ECHILD")) throw error;
  }
}
