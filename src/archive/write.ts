/** Entries in, files beneath a root out: every call relative to a descriptor, none through a link. */
import { close, closeQuietly, ftruncate, S, SEEK, seek, statFd } from "../../ffi/mod.ts";
import { fromByteText, toCString } from "./byte_text.ts";
import { writeAll } from "./content.ts";
import { countLoss, type Counts, noCounts } from "./count.ts";
import { describeOpen, Describer } from "./describe.ts";
import type { Entry, EntrySink } from "./entry.ts";
import { FileQueue, type LateFile } from "./file_queue.ts";
import { isGitIndex } from "./git_refresh.ts";
import type { UnpackLimits } from "./limit.ts";
import { Maker } from "./make.ts";
import type { OwnerPolicy } from "./owner.ts";
import { parsePath, splitPath } from "./path.ts";
import { type Place, showName } from "./place.ts";
import { WaitingDirectories } from "./waiting.ts";
import { parseMark, setOpaque } from "./whiteout.ts";

/** What decides how entries become files. */
export interface WritePolicy extends OwnerPolicy {
  readonly whiteouts: "oci" | "plain";
  readonly devices: "refuse" | "skip";
}

/** Writes entries beneath a root; directories get owner, mode and time at the end. */
export class TreeWriter implements EntrySink, Disposable {
  readonly counts: Counts = noCounts();
  /** The indexes of git repositories, if they are what their names say. */
  readonly gitIndexes = new Set<string>();
  readonly #place: Place;
  readonly #limits: UnpackLimits;
  readonly #policy: WritePolicy;
  readonly #maker: Maker;
  readonly #queue: FileQueue;
  readonly #describer: Describer;
  readonly #waiting = new WaitingDirectories();
  #file = -1;
  #entry: Entry | null = null;
  #endsInHole = false;
  #holeBytes = 0;

  constructor(
    root: number,
    options: {
      readonly place: Place;
      readonly limits: UnpackLimits;
      readonly policy: WritePolicy;
    },
  ) {
    const { place, limits, policy } = options;
    this.#place = place;
    this.#limits = limits;
    this.#policy = policy;
    this.#queue = new FileQueue(place, (file) => this.#makeAgain(file));
    this.#maker = new Maker(root, place, {
      meet: (path) => this.#meet(path),
      close: (fd) => this.#queue.close(fd),
    });
    this.#describer = new Describer(place, policy, this.counts, isRoots(root));
  }

  /** Makes what an entry names. */
  begin(entry: Entry): void {
    const { counts } = this;
    if (++counts.entries > this.#limits.maxEntries) {
      throw this.#place.refuse(`is one more than the ${this.#limits.maxEntries} that are allowed`);
    }
    this.#queue.relieve();
    const path = this.#parse(entry.name, "name");
    if (path === "" && entry.kind !== "directory") throw this.#place.refuse("replaces the root");
    if (this.#policy.whiteouts === "oci" && this.#takeMark(path, entry)) return;
    if (entry.kind !== "file") this.#meet(path);
    switch (entry.kind) {
      case "file":
        this.#beginFile(path, entry);
        break;
      case "directory":
        this.#makeDirectory(path, entry);
        counts.directories++;
        break;
      case "symlink":
        this.#checkTarget(entry.target);
        this.#maker.symlink(path, entry.target);
        this.#describe(path, entry);
        counts.symlinks++;
        break;
      case "link":
        this.#link(path, entry.target);
        counts.links++;
        break;
      case "fifo":
        this.#maker.fifo(path);
        this.#describe(path, entry);
        counts.fifos++;
        break;
      case "whiteout":
        this.#maker.whiteout(path);
        this.#describe(path, entry);
        counts.whiteouts++;
        break;
      case "device":
        if (this.#policy.devices === "refuse") throw this.#place.refuse("is a device");
        countLoss(counts, "devicesLost", () => `${showName(entry.name)}: device`);
        break;
    }
  }

  /** Writes some of the file's bytes. */
  data(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#file === -1 && !this.#queue.isOpen) return;
    this.counts.bytes += bytes.length;
    if (this.#queue.isOpen) return this.#queue.data(bytes);
    this.#endsInHole = false;
    writeAll(this.#file, bytes);
  }

  /** Leaves a hole, which counts as its bytes would: who reads it reads them all. */
  hole(length: number): void {
    if (this.#file === -1) return;
    this.#holeBytes += length;
    if (this.#holeBytes > this.#limits.maxBytes) throw this.#tooLarge();
    seek(this.#file, length, SEEK.SEEK_CUR);
    this.#endsInHole = true;
  }

  /** Ends the file. */
  end(): void {
    const entry = this.#entry;
    if (entry === null) return;
    if (this.#queue.isOpen) {
      this.#entry = null;
      return this.#queue.end(this.#describer.decide(entry));
    }
    if (this.#endsInHole) ftruncate(this.#file, entry.size);
    this.#describer.describeOpen(this.#file, entry);
    this.#entry = null;
    const fd = this.#file;
    this.#file = -1;
    close(fd);
  }

  /** Describes directories, the deepest first: they may forbid what is inside. */
  finish(): void {
    this.#queue.settle();
    for (const [path, description] of this.#waiting.deepestFirst()) {
      this.#place.entry = fromByteText(path === "" ? "." : path);
      this.#describer.describeOpen(this.#maker.open(path), description);
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== -1) closeQuietly(this.#file);
    this.#maker[Symbol.dispose]();
    this.#queue[Symbol.dispose]();
  }

  #parse(name: Uint8Array, what: string): string {
    return parsePath(name, { place: this.#place, maxDepth: this.#limits.maxDepth, what });
  }

  #beginFile(path: string, entry: Entry): void {
    if (entry.size > this.#limits.maxBytes) throw this.#tooLarge();
    if (isGitIndex(path)) this.gitIndexes.add(path);
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    if (this.#queue.takes(entry, name)) {
      this.#queue.begin(entry, path, this.#maker.open(directory), name);
    } else {
      this.#meet(path);
      this.#file = this.#maker.file(path);
    }
    this.#entry = entry;
    this.#endsInHole = false;
    this.counts.files++;
  }

  /** Another thing of the name of a file that is on its way waits for it. */
  #meet(path: string): void {
    if (this.#queue.has(path)) this.#queue.settle();
  }

  #link(path: string, shown: Uint8Array): void {
    const target = this.#parse(shown, "link target");
    this.#meet(target);
    this.#maker.link(path, target, shown);
  }

  /** Makes a file that was refused in passing: something has its name, or it is refused once more. */
  #makeAgain({ path, bytes, name, offset, ...end }: LateFile): void {
    const { entry, offset: at } = this.#place;
    this.#place.entry = name;
    this.#place.offset = offset;
    const fd = this.#maker.file(path);
    try {
      writeAll(fd, bytes);
      describeOpen(fd, end);
    } finally {
      close(fd);
    }
    this.#place.entry = entry;
    this.#place.offset = at;
  }

  #makeDirectory(path: string, entry: Entry): void {
    this.#waiting.set(path, entry);
    if (path === "") return;
    const { replacesWhiteout } = this.#maker.directory(path);
    if (replacesWhiteout && this.#policy.whiteouts === "oci") setOpaque(this.#maker.open(path));
  }

  /** Makes overlayfs's mark of an OCI layer's; says whether the entry was one. */
  #takeMark(path: string, entry: Entry): boolean {
    const mark = parseMark(path, entry.kind, this.#place);
    if (mark === null) return false;
    this.counts.whiteouts++;
    if (mark.kind === "opaque") {
      setOpaque(this.#maker.open(mark.path));
      return true;
    }
    this.#meet(mark.path);
    // What a layer has itself is not hidden by it, only what lies below.
    const found = this.#maker.find(mark.path);
    if (found === null) this.#maker.whiteout(mark.path);
    if (found === "directory") setOpaque(this.#maker.open(mark.path));
    return true;
  }

  #describe(path: string, entry: Entry): void {
    const { directory, leaf } = splitPath(path);
    this.#describer.describeAt(this.#maker.open(directory), leaf, entry);
  }

  /** Any text can be where a symbolic link leads, but not none, and no NUL. */
  #checkTarget(target: Uint8Array): void {
    if (target.length === 0) throw this.#place.refuse("has no link target");
    if (target.includes(0)) throw this.#place.refuse("has a NUL byte in its link target");
  }

  #tooLarge(): Error {
    return this.#place.refuse(`goes past the ${this.#limits.maxBytes} bytes that are allowed`);
  }
}

/** Says whether all that root makes beneath its own directory belongs to it, by any mount option. */
function isRoots(root: number): boolean {
  const { uid, gid, mode } = statFd(root);
  return Deno.uid() === 0 && Deno.gid() === 0 && uid === 0 && gid === 0 && (mode & S.S_ISGID) === 0;
}
