/**
 * Small files on their way to the disk: a thread makes them while this one takes the archive apart. Most
 * files of an environment are small, and making them is half of the work.
 */
import { Batch, close, closeQuietly, cstr, type CString, NR } from "../../ffi/mod.ts";
import type { Decided } from "./describe.ts";
import type { Entry } from "./entry.ts";
import { NEW_FILE, NEW_MODE } from "./make.ts";
import type { Place } from "./place.ts";

/** Larger files are written piece by piece. */
const SMALL_BYTES = 128 * 1024;

/** A lot is given to the thread when it holds so many files, or bytes. */
const MOST_FILES = 128;
const MOST_BYTES = 1024 * 1024;

/** The longest name that a file system has, and its end. */
const NAME_BYTES = 256;

/** open, write, fchown, fchmod, utimensat, close. */
const CALLS = 6;

/** Two moments of a file: four numbers. */
const TIME_BYTES = 32;

/** A file that the thread could not make, to be made again by who can say why not. */
export interface LateFile extends Decided {
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the archive speaks of it. */
  readonly name: Uint8Array;
  readonly offset: number;
}

/** One in a lot. */
interface Queued extends Omit<LateFile, "bytes"> {
  readonly address: number;
  readonly size: number;
  /** The indices of its calls: the first opens it. */
  readonly opens: number;
  readonly writes: number | null;
  readonly closes: number;
}

/** Files that are made together. */
class Lot implements Disposable {
  readonly batch = new Batch(
    CALLS * MOST_FILES,
    MOST_BYTES + SMALL_BYTES + (NAME_BYTES + TIME_BYTES + 16) * MOST_FILES,
  );
  readonly files: Queued[] = [];
  readonly paths = new Set<string>();
  /** Directories that are not needed once all are made. */
  readonly closing: number[] = [];
  bytes = 0;
  /** Whether it is known what could not be made. */
  #isSeen = false;

  get isFull(): boolean {
    return this.files.length === MOST_FILES || this.bytes >= MOST_BYTES;
  }

  clear(): void {
    closeQuietly(...this.closing.splice(0));
    this.files.length = 0;
    this.paths.clear();
    this.bytes = 0;
    this.#isSeen = false;
    this.batch.clear();
  }

  /** What was being made is left as it is. */
  [Symbol.dispose](): void {
    const failed = this.batch.wait();
    if (failed !== null && !this.#isSeen) this.#leave(this.#find(failed), failed);
    this.clear();
    this.batch[Symbol.dispose]();
  }

  /** The file that a call belongs to. */
  #find(call: number): Queued {
    return this.files.find(({ closes }) => call <= closes)!;
  }

  /** Closes a file in the middle of which a call failed. */
  #leave({ opens, closes }: Queued, failed: number): void {
    if (failed > opens && failed < closes) close(this.batch.result(opens));
  }

  /** Gives those that could not be made; the first is known, the rest are made meanwhile. */
  *late(failedFirst: number | null): Generator<LateFile> {
    this.#isSeen = true;
    const done = new Set<Queued>();
    for (let failed = failedFirst; failed !== null;) {
      const file = this.#find(failed);
      this.#leave(file, failed);
      done.add(file);
      yield this.#toLate(file);
      failed = file.closes + 1 < this.batch.count ? this.batch.run(file.closes + 1) : null;
    }
    for (const file of this.files) {
      const { writes, size } = file;
      const isCut = writes !== null && this.batch.result(writes) !== size;
      if (isCut && !done.has(file)) yield this.#toLate(file);
    }
  }

  #toLate({ address, size, ...rest }: Queued): LateFile {
    return { ...rest, bytes: this.batch.copy(address, size) };
  }
}

/** Two lots in turns: one is filled while the other's files are made. */
export class FileQueue implements Disposable {
  readonly #place: Place;
  readonly #makeAgain: (file: LateFile) => void;
  #filling: Lot | null = null;
  #making: Lot | null = null;
  #spare: Lot | null = null;
  /** The file that is being filled in. */
  #open: {
    readonly place: Pick<Queued, "path" | "name" | "offset" | "address" | "size" | "opens">;
    length: number;
  } | null = null;
  #isSettling = false;

  constructor(place: Place, makeAgain: (file: LateFile) => void) {
    this.#place = place;
    this.#makeAgain = makeAgain;
  }

  /** Whether a file is being filled in. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Says whether a file of this name is one of those that are made here. */
  takes({ size, extents, xattrs }: Entry, leaf: CString): boolean {
    const isPlain = extents === null && xattrs.length === 0;
    return isPlain && size <= SMALL_BYTES && leaf.length < NAME_BYTES;
  }

  /** Takes a file: its bytes are to follow. The directory stays open until `close`. */
  begin(entry: Entry, path: string, parent: number, leaf: CString): void {
    if (this.#filling?.isFull) this.#startMaking();
    const { batch } = this.#filling ??= this.#spare ?? new Lot();
    this.#spare = null;
    const opens = batch.add(NR.openat, parent, batch.place(cstr(leaf)), NEW_FILE, NEW_MODE);
    const { name, size } = entry;
    const { offset } = this.#place;
    const address = batch.reserve(size);
    this.#open = { place: { path, name: name.slice(), offset, address, size, opens }, length: 0 };
  }

  /** Takes some of its bytes. */
  data(bytes: Uint8Array): void {
    const open = this.#open!;
    this.#filling!.batch.fill(open.place.address + open.length, bytes);
    open.length += bytes.length;
  }

  /** Ends it. */
  end(end: Decided): void {
    const lot = this.#filling!;
    const { batch } = lot;
    const { place } = this.#open!;
    const { opens, address, size } = place;
    this.#open = null;
    const { owner, mode, mtime: { seconds, nanoseconds } } = end;
    const writes = size === 0 ? null : batch.addTo(opens, NR.write, address, size);
    if (owner !== null) batch.addTo(opens, NR.fchown, owner.uid, owner.gid);
    batch.addTo(opens, NR.fchmod, mode);
    const times = batch.numbers(seconds, nanoseconds, seconds, nanoseconds);
    batch.addTo(opens, NR.utimensat, 0, times, 0);
    const closes = batch.addTo(opens, NR.close);
    lot.files.push({ ...end, ...place, writes, closes });
    lot.paths.add(place.path);
    lot.bytes += size;
  }

  /** Says whether a path is that of a file on its way. */
  has(path: string): boolean {
    return this.#making?.paths.has(path) === true || this.#filling?.paths.has(path) === true;
  }

  /** Settles if too many directories are open only for files on their way. */
  relieve(): void {
    const lots = [this.#making, this.#filling];
    if (lots.some((lot) => (lot?.closing.length ?? 0) > MOST_FILES)) this.settle();
  }

  /** Closes a directory once no file on its way needs it. */
  close(fd: number): void {
    const lot = this.#filling ?? this.#making;
    if (lot === null) close(fd);
    else lot.closing.push(fd);
  }

  /** Returns when no file is on its way. @throws What one could not be made for. */
  settle(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    this.#finishMaking();
    if (this.#filling !== null) {
      const lot = this.#filling;
      this.#filling = null;
      this.#making = lot;
      this.#finish(lot, lot.batch.count === 0 ? null : lot.batch.run());
    }
    this.#isSettling = false;
  }

  #startMaking(): void {
    this.#finishMaking();
    this.#making = this.#filling!;
    this.#filling = null;
    this.#making.batch.start();
  }

  #finishMaking(): void {
    if (this.#making !== null) this.#finish(this.#making, this.#making.batch.wait());
  }

  #finish(lot: Lot, failed: number | null): void {
    for (const file of lot.late(failed)) this.#makeAgain(file);
    lot.clear();
    this.#making = null;
    this.#spare = lot;
  }

  /** Waits for what is being made, and leaves the rest. */
  [Symbol.dispose](): void {
    for (const lot of [this.#making, this.#filling, this.#spare]) lot?.[Symbol.dispose]();
    this.#making = this.#filling = this.#spare = null;
  }
}
