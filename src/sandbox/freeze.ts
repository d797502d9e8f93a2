/** Everything in a sandbox stopped for a moment, so that what it writes is all of one moment. */
import { delay } from "@std/async/delay";
import { SIGNAL } from "../../ffi/mod.ts";
import { SetupError } from "../errors.ts";
import type { ProcessEntry, ProcessTable } from "./process_table.ts";

/** Lets everything go on that was stopped. */
export type Thaw = () => void;

/** So long an attempt may take: who waits for a child it made by vfork(2) cannot be stopped before it. */
const ATTEMPT_MS = 250;

const ATTEMPTS = 12;

/** The id of init, which only waits. */
const INIT = 1;

/**
 * Stops all processes but init by SIGSTOP, and returns when none of them runs. Parents are stopped
 * before their children, and go on after them: a shell that saw a child of its own stopped would take
 * that for its user's wish.
 *
 * @throws {SetupError} If something cannot be stopped; nothing is, then.
 */
export async function freezeBySignal(open: () => ProcessTable): Promise<Thaw> {
  const table = open();
  const stopped: ProcessEntry[] = [];
  const resume = () => {
    for (const { pid } of stopped.splice(0).reverse()) table.signal(pid, SIGNAL.SIGCONT);
  };
  try {
    for (let attempt = 1; !await stopAll(table, stopped); attempt++) {
      resume();
      if (attempt === ATTEMPTS) throw busy();
      await delay(attempt);
    }
  } catch (error) {
    table[Symbol.dispose]();
    throw error;
  }
  return () => {
    resume();
    table[Symbol.dispose]();
  };
}

/** Says whether all were stopped in time. */
async function stopAll(table: ProcessTable, stopped: ProcessEntry[]): Promise<boolean> {
  const until = performance.now() + ATTEMPT_MS;
  for (let round = 0; stopNext(table, stopped) > 0; round++) {
    if (performance.now() > until) return false;
    await pause(round);
  }
  return true;
}

/**
 * Stops all processes of a cgroup of version 2 (cgroups(7), cgroup.freeze).
 *
 * @throws {SetupError} If something cannot be stopped; nothing is, then.
 */
export async function freezeByCgroup(dir: string): Promise<Thaw> {
  const set = (state: "0" | "1") => Deno.writeTextFileSync(`${dir}/cgroup.freeze`, state);
  const thaw = () => set("0");
  set("1");
  const until = performance.now() + ATTEMPTS * ATTEMPT_MS;
  for (let round = 0; !isFrozen(dir); round++) {
    if (performance.now() > until) {
      thaw();
      throw busy();
    }
    await pause(round);
  }
  return thaw;
}

/** So often it is looked at once more before others get a turn: most stop within 50 us, a turn is 1 ms. */
const LOOKS = 4;

async function pause(round: number): Promise<void> {
  if (round >= LOOKS) await delay(Math.min(round >> 3, 5));
}

function isFrozen(dir: string): boolean {
  return /^frozen 1$/m.test(Deno.readTextFileSync(`${dir}/cgroup.events`));
}

/** Stops those whose parents have been, and says how many run. */
function stopNext(table: ProcessTable, stopped: ProcessEntry[]): number {
  const running = table.pids().filter((pid) => pid !== INIT).map((pid) => table.read(pid))
    .filter((entry) => entry !== null && !entry.isStopped) as ProcessEntry[];
  const pids = new Set(running.map(({ pid }) => pid));
  for (const entry of running.filter(({ parent }) => !pids.has(parent))) {
    const isNew = !stopped.some((it) => isSame(it, entry));
    if (table.signal(entry.pid, SIGNAL.SIGSTOP) && isNew) stopped.push(entry);
  }
  return running.length;
}

function isSame(a: ProcessEntry, b: ProcessEntry): boolean {
  return a.pid === b.pid && a.startTicks === b.startTicks;
}

function busy(): SetupError {
  return new SetupError("freeze", "Cannot stop what runs in the sandbox: it waits in the kernel", {
    remedy: "Ask again when its disk is less busy.",
  });
}
