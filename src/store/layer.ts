/** Layers as they lie in the store: found, held while in use, listed. */
import {
  AT,
  close,
  closeQuietly,
  flock,
  isErrno,
  LOCK,
  O,
  openAt,
  setTime,
  statFd,
} from "../../ffi/mod.ts";
import { isSameFile } from "./lock.ts";

const DAY_MS = 86_400_000;

/** A layer that cannot be removed until this is disposed of. */
export interface Layer extends Disposable {
  readonly key: string;
  /** Where it is shown in a sandbox. */
  readonly path: string;
  /** The directory that holds its tree from the root down: `<tree>/<path>` is what was unpacked. */
  readonly tree: string;
}

/** What is written beside a layer's tree. */
export interface Manifest {
  readonly archive: { readonly name: string; readonly sha256: string };
  readonly path: string;
  readonly idmap: string;
  readonly entries: number;
  readonly bytes: number;
  /** ISO 8601. */
  readonly created: string;
}

/** A layer as `layer list` shows it. */
export interface LayerInfo extends Manifest {
  readonly key: string;
  /** ISO 8601, to the day. */
  readonly lastUsed: string;
  readonly isInUse: boolean;
}

/** Finds a layer and holds it; null if it is not there, or on its way out. */
export function holdLayer(dir: string, key: string, path: string): Layer | null {
  const lock = `${dir}/${key}/lock`;
  let fd: number;
  try {
    fd = openAt(AT.AT_FDCWD, lock, O.O_CLOEXEC);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return null;
  }
  flock(fd, LOCK.LOCK_SH); // others lock it for a moment only: to look, or to rename
  if (!isSameFile(fd, lock)) {
    close(fd);
    return null;
  }
  noteUse(fd);
  let isHeld = true;
  return {
    key,
    path,
    tree: `${dir}/${key}/tree`,
    [Symbol.dispose]: () => {
      if (isHeld) close(fd);
      isHeld = false;
    },
  };
}

/** Describes each layer in the store, by the path it is shown at. */
export function listLayers(dir: string): LayerInfo[] {
  const layers: LayerInfo[] = [];
  for (const { name: key } of Deno.readDirSync(dir)) {
    try {
      const manifest: Manifest = JSON.parse(Deno.readTextFileSync(`${dir}/${key}/manifest.json`));
      layers.push({ ...manifest, key, ...readUse(`${dir}/${key}/lock`) });
    } catch (error) {
      // It was removed in the meantime.
      if (!(error instanceof Deno.errors.NotFound) && !isErrno(error, "ENOENT")) throw error;
    }
  }
  return layers.sort((a, b) => a.path < b.path || (a.path === b.path && a.key < b.key) ? -1 : 1);
}

/** Takes the lock of a layer that nobody uses; false if somebody does. */
export function tryLockUnused(fd: number): boolean {
  try {
    flock(fd, LOCK.LOCK_EX | LOCK.LOCK_NB);
    return true;
  } catch (error) {
    if (!isErrno(error, "EAGAIN")) throw error;
    return false;
  }
}

function readUse(lock: string): { lastUsed: string; isInUse: boolean } {
  const fd = openAt(AT.AT_FDCWD, lock, O.O_CLOEXEC);
  try {
    const lastUsed = new Date(Number(statFd(fd).mtimeNs / 1_000_000n)).toISOString();
    return { lastUsed, isInUse: !tryLockUnused(fd) };
  } finally {
    close(fd);
  }
}

/** Last use is the lock's time, written once a day at most; a store that may not be written stays. */
function noteUse(fd: number): void {
  const now = Date.now();
  if (now - Number(statFd(fd).mtimeNs / 1_000_000n) < DAY_MS) return;
  try {
    setTime(fd, Math.floor(now / 1000), 0);
  } catch (error) {
    if (isErrno(error, "EROFS", "EPERM", "EACCES")) return;
    closeQuietly(fd);
    throw error;
  }
}
