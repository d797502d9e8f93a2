/**
 * What is reserved on this node, by all processes: a directory with a file for each reservation,
 * which its process has locked. The kernel lets the lock go when the process ends, in whatever way.
 */
import {
  AT,
  close,
  closeQuietly,
  flock,
  ftruncate,
  isErrno,
  LOCK,
  O,
  openAt,
  statFd,
  tryLock,
  unlinkAt,
} from "../../ffi/mod.ts";
import { Turn } from "./turn.ts";

/** A reservation's file: a random name, and its bytes. */
const NAME = /^[0-9a-f]{16}\.(\d+)$/;

/** A reservation that runs, of any process. */
export interface Entry {
  readonly name: string;
  readonly bytes: number;
  /** How many of them are done. */
  readonly done: number;
}

/** A reservation of ours. */
export interface OwnEntry extends Disposable {
  /** Tells how many bytes are done. */
  readonly note: (done: number) => void;
}

/** The reservations of a node. */
export class Ledger {
  readonly #dir: string;

  /** The directory is made if it is not there. */
  constructor(dir: string) {
    Deno.mkdirSync(dir, { recursive: true, mode: 0o755 });
    this.#dir = dir;
  }

  /** Takes the right to add a reservation, which one process has at a time; null if another has it. */
  tryEnter(nowMs: number): Turn | null {
    return Turn.tryTake(`${this.#dir}/turn`, nowMs);
  }

  /** Adds a reservation; only by who has entered. */
  add(bytes: number): OwnEntry {
    const path = `${this.#dir}/${crypto.getRandomValues(new Uint8Array(8)).toHex()}.${bytes}`;
    const flags = O.O_RDWR | O.O_CREAT | O.O_EXCL | O.O_CLOEXEC;
    const fd = openAt(AT.AT_FDCWD, path, flags, 0o644);
    flock(fd, LOCK.LOCK_EX); // who looks at it has it for a moment only
    let isOpen = true;
    return {
      // A file's length costs no room, and all can see it.
      note: (done) => ftruncate(fd, Math.min(bytes, Math.max(0, Math.round(done)))),
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        remove(path);
        closeQuietly(fd);
      },
    };
  }

  /** Lists the reservations of the living. */
  list(): Entry[] {
    return this.#read().flatMap(({ entry }) => entry ?? []);
  }

  /** Removes what the dead left; only by who has entered, for a new one is not locked at once. */
  sweep(): void {
    for (const { path, entry } of this.#read()) {
      if (entry === null) remove(path);
    }
  }

  /** Reads what was kept beside the reservations; null if it is not there, or damaged. */
  readNote(): unknown {
    try {
      return JSON.parse(Deno.readTextFileSync(`${this.#dir}/note.json`));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Keeps something for the processes that follow; only by who has entered. */
  writeNote(note: unknown): void {
    Deno.writeTextFileSync(`${this.#dir}/note.json`, JSON.stringify(note));
  }

  #read(): { readonly path: string; readonly entry: Entry | null }[] {
    const found: { path: string; entry: Entry | null }[] = [];
    for (const { name } of Deno.readDirSync(this.#dir)) {
      const [, bytes] = NAME.exec(name) ?? [];
      if (bytes === undefined) continue;
      const path = `${this.#dir}/${name}`;
      try {
        const done = readLocked(path);
        found.push({ path, entry: done === null ? null : { name, bytes: Number(bytes), done } });
      } catch (error) {
        if (!isErrno(error, "ENOENT")) throw error; // it ended just now
      }
    }
    return found;
  }
}

/** Gives the length of a file that is locked, null if nobody has locked it. */
function readLocked(path: string): number | null {
  const fd = openAt(AT.AT_FDCWD, path, O.O_CLOEXEC);
  try {
    return tryLock(fd) ? null : statFd(fd).size;
  } finally {
    close(fd);
  }
}

function remove(path: string): void {
  try {
    unlinkAt(AT.AT_FDCWD, path);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
