/** Tells which processes a command has started. */
import type { RoomProcessEntry } from "./room.ts";

/** What is known of a command, and of the shell that runs it. */
export interface Suspicion {
  /** The shell's id. */
  readonly shell: number;
  /** When the command began, in hundredths of a second since the machine did; 0 for all of the shell's. */
  readonly sinceTicks: number;
  /** The last job that the shell had put into the background before, by its id; 0 if none. */
  readonly lastJob: number;
  /** Whether an orphan that left the shell's terminal carries the session's mark. */
  readonly isMarked: (pid: number) => boolean;
}

/** A job of before can have begun in the same hundredth of a second as the command. */
const SAME_MOMENT_TICKS = 2;

/** Init adopts orphans. */
const INIT = 1;

/**
 * Lists the living among them: what descends from the shell, and orphans of its terminal or with its
 * mark; not what began before the command did, nor what that has started since.
 */
export function findVictims(
  entries: readonly RoomProcessEntry[],
  { shell, sinceTicks, lastJob, isMarked }: Suspicion,
): number[] {
  const byPid = new Map(entries.map((entry) => [entry.pid, entry]));
  const isOlder = ({ pid, startTicks }: RoomProcessEntry, isChild: boolean): boolean =>
    startTicks < sinceTicks ||
    (isChild && pid <= lastJob && startTicks <= sinceTicks + SAME_MOMENT_TICKS);

  const isVictim = (entry: RoomProcessEntry): boolean => {
    const line: RoomProcessEntry[] = [];
    let at: RoomProcessEntry | undefined = entry;
    while (at !== undefined && at.pid !== shell && at.pid !== INIT && !line.includes(at)) {
      line.push(at);
      at = byPid.get(at.parent);
    }
    const top = line.at(-1);
    if (top === undefined) return false;
    const isChild = at?.pid === shell;
    if (line.some((member) => isOlder(member, isChild))) return false;
    return isChild || (at?.pid === INIT && (top.session === shell || isMarked(top.pid)));
  };
  return entries.filter((entry) => !entry.isDead && isVictim(entry)).map(({ pid }) => pid);
}
