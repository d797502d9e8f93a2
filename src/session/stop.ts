/** Ends what a command has started: first as a user would, at last by force. */
import { delay } from "@std/async/delay";
import type { Bash, Sent } from "./bash.ts";
import { STOP_SIGNAL } from "./driver.ts";
import type { Room, RoomProcessEntry } from "./room.ts";
import { findVictims } from "./victim.ts";

/** How long a command may take to end at each step. */
const GRACE_MS = { interrupt: 500, kill: 200, callBack: 100, stop: 500, start: 2000 } as const;

/** A program that makes new ones faster than they are ended, is given up after so many rounds. */
const ROUNDS = 200;

const ROUND_MS = 2;

/** So many are looked at before others have their turn. */
const TURN_PROCESSES = 200;

const SIGKILL = 9;
const SIGCONT = 18;

/** A command, and what it runs in. */
export interface Stoppable {
  readonly room: Room;
  readonly bash: Bash;
  readonly sent: Sent;
  /** The variable that all programs of the session have, `K=V`. */
  readonly mark: string;
}

/**
 * Ends a command and all that it has started; when this returns, the command has ended, if only with
 * its shell.
 *
 * @param wasAsked Whether it has had its SIGINT.
 * @param onKill Called if it has not ended by that.
 */
export async function stop(
  stoppable: Stoppable,
  { wasAsked, onKill }: { readonly wasAsked: boolean; readonly onKill: () => void },
): Promise<void> {
  const { room, bash, sent } = stoppable;
  await bash.begun(GRACE_MS.start);
  if (!wasAsked) {
    bash.signal(SIGCONT);
    bash.interrupt();
    await within(sent.ended, GRACE_MS.interrupt);
  }
  if (!await within(sent.ended, 0)) onKill();
  await killStarted(stoppable);
  if (await within(sent.ended, GRACE_MS.kill)) return;
  bash.callBack();
  if (await within(sent.ended, GRACE_MS.callBack)) return;
  bash.signal(SIGCONT);
  bash.signal(STOP_SIGNAL);
  if (await within(sent.ended, GRACE_MS.stop)) {
    if (room.isAlive) await killStarted(stoppable);
    return;
  }
  bash.signal(SIGKILL);
  await sent.ended;
}

/** Kills what a command has started and left. */
async function killStarted({ room, bash, sent, mark }: Stoppable): Promise<void> {
  const lastPid = sent.lastPid ?? 0;
  await killAll(room, { shell: bash.pid, sinceTicks: toTicks(sent.at), lastPid, mark });
}

/** Kills what a session has started, ever. */
export async function killSession(room: Room, shell: number, mark: string): Promise<void> {
  await killAll(room, { shell, sinceTicks: 0, lastPid: 0, mark });
}

interface Range {
  readonly shell: number;
  readonly sinceTicks: number;
  readonly lastPid: number;
  readonly mark: string;
}

/** Until there are none: while some are killed, others can start more. */
async function killAll(room: Room, { mark, ...range }: Range): Promise<void> {
  if (!room.isAlive) return;
  using processes = room.openProcesses();
  const isMarked = (pid: number) => processes.hasVariable(pid, mark);
  for (let round = 0; round < ROUNDS; round++) {
    const entries: RoomProcessEntry[] = [];
    for (const [i, pid] of processes.pids().entries()) {
      const entry = processes.read(pid);
      if (entry !== null) entries.push(entry);
      if (i % TURN_PROCESSES === TURN_PROCESSES - 1) await delay(0);
    }
    const victims = findVictims(entries, { ...range, isMarked });
    if (victims.length === 0) return;
    for (const pid of victims) processes.signal(pid, SIGKILL);
    await delay(ROUND_MS);
  }
}

/** False if it is not done in time. */
export async function within(done: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const isDone = await Promise.race([done.then(() => true), late.promise]);
  clearTimeout(timer);
  return isDone;
}

let bootMs: number | undefined;

/** The kernel's clock for the starts of processes: hundredths of a second since the machine began. */
function toTicks(now: number): number {
  bootMs ??= Number(Deno.readTextFileSync("/proc/uptime").split(" ")[0]) * 1e3 - performance.now();
  return Math.floor((bootMs + now) / 10);
}
