/** Tests which processes a command of a session is held to have started. */
import { assertEquals } from "@std/assert";
import type { RoomProcessEntry } from "../../src/session/room.ts";
import { findVictims } from "../../src/session/victim.ts";

const SHELL = 10;
const SINCE = 1000;

/** `pid`, `parent`, `startTicks` and `session`. */
type Row = readonly [pid: number, parent: number, startTicks: number, session?: number];

function victims(rows: readonly Row[], lastPid = 0, marked: readonly number[] = []): number[] {
  const init: Row = [1, 0, 0, 1];
  const shell: Row = [SHELL, 0, 500, SHELL];
  const entries: RoomProcessEntry[] = [init, shell, ...rows].map(
    ([pid, parent, startTicks, session = SHELL]) => ({
      pid,
      parent,
      session,
      startTicks,
      isDead: false,
    }),
  );
  return findVictims(entries, {
    shell: SHELL,
    sinceTicks: SINCE,
    lastPid,
    isMarked: (pid) => marked.includes(pid),
  });
}

Deno.test("what descends from the shell and began with the command is the command's", () => {
  assertEquals(victims([[20, SHELL, 1000], [21, 20, 1001], [22, 21, 1050, 22]]), [20, 21, 22]);
});

Deno.test("init and the shell are not", () => {
  assertEquals(victims([]), []);
});

Deno.test("an earlier job is not, nor what it has started since", () => {
  assertEquals(victims([[20, SHELL, 900], [21, 20, 1100]]), []);
});

Deno.test("what is of the same moment is told by its id from what the command has started", () => {
  assertEquals(victims([[20, SHELL, 1000], [21, SHELL, 1000]], 20), [21]);
  assertEquals(victims([[20, 1, 1000, 20], [21, 20, 1000, 20], [22, 1, 1000]], 21, [20]), [22]);
  assertEquals(victims([[20, SHELL, 1003]], 20), [20]); // its id has come round again
});

Deno.test("an orphan of the shell's terminal is, unless it is older", () => {
  assertEquals(victims([[20, 1, 1000], [21, 1, 999]]), [20]);
});

Deno.test("an orphan that left the terminal is, if it carries the mark", () => {
  assertEquals(victims([[20, 1, 1000, 20], [21, 20, 1000, 20], [30, 1, 1000, 30]], 0, [20]), [
    20,
    21,
  ]);
});

Deno.test("what others have started from outside is not", () => {
  assertEquals(victims([[20, 0, 1000, 20], [21, 20, 1000, 20]], 0, [20, 21]), []);
});

Deno.test("a table that holds a circle, as one that is read piece by piece can, is no trap", () => {
  assertEquals(victims([[20, 21, 1000], [21, 20, 1000]]), []);
});

Deno.test("the dead are left to their parents", () => {
  const entry = { pid: 20, parent: SHELL, session: SHELL, startTicks: 1000, isDead: true };
  const options = { shell: SHELL, sinceTicks: 0, lastPid: 0, isMarked: () => false };
  assertEquals(findVictims([entry], options), []);
});
