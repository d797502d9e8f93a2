/** What was used of what is limited, as far as it can be told. */
import { GoneError } from "../errors.ts";
import type { Sandbox, Usage, Waited } from "../sandbox/mod.ts";
import type { Used } from "./outcome_of.ts";

/** Nothing, or nothing that is known. */
export const NOTHING_USED: Used = {
  usage: { outOfMemory: 0, pidsRefused: 0, peakMemoryBytes: null },
  fullPlaces: [],
};

/** Reads what was used, while the sandbox is open. */
export function readUsed(sandbox: Sandbox, hasSucceeded: boolean): Used {
  const usage = sandbox.readUsage();
  // Who succeeded was not stopped by what is full now.
  if (hasSucceeded) return { usage, fullPlaces: [] };
  try {
    const pidsRefused = usage.pidsRefused + (sandbox.isAtPidsLimit() ? 1 : 0);
    return { usage: { ...usage, pidsRefused }, fullPlaces: sandbox.findFullPlaces() };
  } catch (error) {
    // Its init was ended, by the host or for want of memory: it has no places any more.
    if (error instanceof GoneError) return { usage, fullPlaces: [] };
    throw error;
  }
}

/** What was used since something was counted, in a sandbox that goes on. */
export function usedSince(before: Usage, { usage, fullPlaces }: Used): Used {
  return {
    fullPlaces,
    usage: {
      outOfMemory: Math.max(0, usage.outOfMemory - before.outOfMemory),
      pidsRefused: Math.max(0, usage.pidsRefused - before.pidsRefused),
      peakMemoryBytes: usage.peakMemoryBytes,
    },
  };
}

/** A process that has executed a program still counts the memory it had shared with us before. */
export function ownPeak({ peakMemoryBytes }: Waited): number | null {
  const [, kib] = /^VmHWM:\s+(\d+)/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  return peakMemoryBytes > Number(kib ?? 0) * 1024 ? peakMemoryBytes : null;
}
