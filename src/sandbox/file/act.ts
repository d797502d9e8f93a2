/** Acts on files inside: by whom they are carried out, and what is known afterwards. */
import type { Running } from "../carry_out.ts";
import type { Plan } from "../step.ts";
import type { ActPlace } from "./act_plan.ts";

/** How steps are carried out. */
export interface ActOptions {
  readonly place: ActPlace;
  /** The descriptors that the steps name. */
  readonly fds?: Readonly<Record<string, number>>;
  /** The descriptors that are ours if all steps succeed; the others that were opened are closed. */
  readonly opens?: readonly string[];
}

/**
 * Carries out steps, and lets `look` see what came of them.
 *
 * @throws {SyscallError} If one of the steps is refused.
 * @throws {GoneError} If the sandbox has ended.
 */
export type Act = <T>(
  steps: Plan,
  options: ActOptions,
  look: (running: Pick<Running, "output" | "room">) => T,
) => Promise<T>;
