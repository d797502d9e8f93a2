/** One check of the host, done apart from the others. */
import { messageOf, MinisandboxError } from "../../errors.ts";
import { type Cost, fail, type Finding, skipped } from "./finding.ts";
import type { Subject } from "./subject.ts";

/** One check. */
export interface Probe {
  readonly check: string;
  /** Whether it builds a small sandbox. */
  readonly needsSandbox?: boolean;
  /** What is lost if it throws. */
  readonly lost: string;
  /** Looks; what it throws is a finding too. */
  readonly examine: (subject: Subject) => Finding | Promise<Finding>;
}

/** Does one check: whatever happens in it, there is a finding. */
export async function examine(probe: Probe, subject: Subject): Promise<Finding> {
  const { check, lost } = probe;
  const obstacle = probe.needsSandbox === true ? subject.obstacle : null;
  if (obstacle !== null) return skipped(check, obstacle);
  try {
    return await probe.examine(subject);
  } catch (error) {
    return fail(check, ...explain(error, lost));
  }
}

/** Parts an error into what was found, and what mends it. */
export function explain(error: unknown, lost: string): [found: string, cost: Cost] {
  const message = messageOf(error);
  const remedy = error instanceof MinisandboxError ? error.remedy : null;
  if (remedy === null) return [message, { lost, remedy: "None is known for this." }];
  return [message.slice(0, -`. ${remedy}`.length), { lost, remedy }];
}
