/**
 * Layers that are used before the disk has all of them: until then each has a mark, which names the
 * boot. If the machine stops meanwhile, the next boot finds the mark of another: such a layer may be
 * damaged, and is made again.
 */
import { delay } from "@std/async/delay";
import { AT, close, O, openAt, syncfsWait } from "../../ffi/mod.ts";
import { moveUnused } from "./hold.ts";
import { readLayer } from "./layer.ts";
import { Lock } from "./lock.ts";
import { type RemoveTree, removeTree } from "./remove.ts";
import { makeWorkDir } from "./work.ts";

/** Another one after each start of the machine (random(4)). */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** How often a mark of another process is looked at. */
const POLL_MS = 20;

/** The marks of a store, and what this process has the disk take. */
export class Unwritten {
  readonly #store: string;
  readonly #remove: RemoveTree;
  readonly #writeOut: typeof writeOut;
  /** By the layer's key; one that failed stays, for whoever asks. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(store: string, remove: RemoveTree = removeTree, write = writeOut) {
    this.#store = store;
    this.#remove = remove;
    this.#writeOut = write;
  }

  /** Marks a layer that is about to be made. @throws {SyscallError} If that cannot be written. */
  async mark(key: string): Promise<Lock> {
    const mark = await Lock.take(this.#path(key));
    try {
      Deno.writeTextFileSync(this.#path(key), bootId());
      return mark;
    } catch (error) {
      mark[Symbol.dispose]();
      throw error;
    }
  }

  /** Has the disk take a layer, which loses its mark then, or its name if the disk does not take it. */
  begin(key: string, mark: Lock): void {
    const written = this.#write(key, mark);
    this.#writing.set(key, written);
    written.then(() => this.#writing.delete(key), () => {});
  }

  /** Resolves once the disk has a layer, whoever made it. @throws {SyscallError} If it does not take it. */
  async settle(key: string): Promise<void> {
    await this.#writing.get(key);
    const path = this.#path(key);
    while (readMark(path) === bootId()) {
      const mark = Lock.tryTake(path, { isThere: true });
      if (mark !== null) return await this.#write(key, mark); // its maker has died
      await delay(POLL_MS);
    }
  }

  /** Resolves once the disk has all that this process made. @throws {SyscallError} The first failure. */
  async settleAll(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  /** Removes what the end of another boot may have damaged; has the disk take what our dead made. */
  async sweep(): Promise<number> {
    let removed = 0;
    for (const { name: key } of Deno.readDirSync(`${this.#store}/unwritten`)) {
      const path = this.#path(key);
      let mark = Lock.tryTake(path, { isThere: true });
      // Its maker is not waited for; whoever removes a damaged layer is.
      while (mark === null && isForeign(path)) {
        await delay(POLL_MS);
        mark = Lock.tryTake(path, { isThere: true });
      }
      if (mark === null) continue;
      if (!isForeign(path)) this.begin(key, mark);
      else if (await this.#removeDamaged(key, mark)) removed++;
    }
    return removed;
  }

  async #removeDamaged(key: string, mark: Lock): Promise<boolean> {
    using work = makeWorkDir(`${this.#store}/tmp`, 0o700);
    const isMoved = moveUnused(this.#layer(key), `${work.dir}/layer`, () => false);
    await this.#remove(work.dir);
    // Another node may share the store, and use what a process of its own had no time to write out.
    if (isMoved || readLayer(`${this.#store}/layers`, key) === null) mark[Symbol.dispose]();
    else close(mark.fd);
    return isMoved;
  }

  async #write(key: string, mark: Lock): Promise<void> {
    using _mark = mark;
    try {
      await this.#writeOut(this.#store);
    } catch (error) {
      using work = makeWorkDir(`${this.#store}/tmp`, 0o700);
      renameIfThere(this.#layer(key), `${work.dir}/layer`);
      await this.#remove(work.dir);
      throw error;
    }
  }

  #path(key: string): string {
    return `${this.#store}/unwritten/${key}`;
  }

  #layer(key: string): string {
    return `${this.#store}/layers/${key}`;
  }
}

/** Waits until the disk has all of a file system. @throws {SyscallError} If it does not take it. */
export async function writeOut(dir: string): Promise<void> {
  const fd = openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    await syncfsWait(fd);
  } finally {
    close(fd);
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    Deno.renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Whether a mark is of another boot. */
function isForeign(path: string): boolean {
  const mark = readMark(path);
  return mark !== null && mark !== bootId();
}

/** The boot of a mark: empty, if the machine stopped before the disk had it; null if there is none. */
function readMark(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return null;
  }
}

function bootId(): string {
  return Deno.readTextFileSync(BOOT_ID).trim();
}
