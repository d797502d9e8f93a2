/** Tells which processes a command has started. */
import type { RoomProcessEntry } from "./room.ts";

/** What is known of a command, and of the shell that runs it. */
export interface Suspicion {
  /** The shell's id. */
  readonly shell: number;
  /** When the command began, in hundredths of a second since the machine did; 0 for all of the shell's. */
  readonly sinceTicks: number;
  /** The last process that had been made in the sandbox before, by its id; 0 if not known. */
  readonly lastPid: number;
  /** Whether an orphan that left the shell's terminal carries the session's mark. */
  readonly isMarked: (pid: number) => boolean;
}

/** A process of before can have begun in the same hundredth of a second as the command. */
const SAME_MOMENT_TICKS = 2;

/** Init adopts orphans. */
const INIT = 1;

/**
 * Lists the living among them: what descends from the shell, and orphans of its terminal or with its
 * mark; not what began before the command did, nor what that has started since.
 */
export function findVictims(
  entries: readonly RoomProcessEntry[],
  { shell, sinceTicks, lastPid, isMarked }: Suspicion,
): number[] {
  const byPid = new Map(entries.map((entry) => [entry.pid, entry]));
  // By its id alone it would be told wrongly once ids begin anew.
  const isOlder = ({ pid, startTicks }: RoomProcessEntry): boolean =>
    startTicks < sinceTicks ||
    (pid <= lastPid && startTicks <= sinceTicks + SAME_MOMENT_TICKS);

  const isVictim = (entry: RoomProcessEntry): boolean => {
    const line: RoomProcessEntry[] = [];
    let at: RoomProcessEntry | undefined = entry;
    while (at !== undefined && at.pid !== shell && at.pid !== INIT && !line.includes(at)) {
      line.push(at);
      at = byPid.get(at.parent);
    }
    const top = line.at(-1);
    if (top === undefined) return false;
    if (line.some(isOlder)) return false;
    return at?.pid === shell || (at?.pid === INIT && (top.session === shell || isMarked(top.pid)));
  };
  return entries.filter((entry) => !entry.isDead && isVictim(entry)).map(({ pid }) => pid);
}
