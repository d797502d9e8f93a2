/** The directories that a store is made of, and the proof that a directory is one. */
import { addInodeFlag, AT, closeQuietly, O, openAt, SyscallError } from "../../ffi/mod.ts";
import { UsageError } from "../errors.ts";

/** The directories of a store, in the order of their making. */
const DIRECTORIES = [
  ...["layers", "tmp", "locks", "digests", "skeletons", "runs"],
  ...["bases", "environments", "snapshots", "unwritten"],
];

/** What holds trees that come and go by the hundred. */
const CROWDED = ["layers", "tmp", "runs"];

/**
 * Nobody else may pass through: archives and programs inside can leave set-uid programs that would run
 * as us, or as others' sandboxes do (CVE-2021-41091).
 */
const MODE = 0o700;

/** What the I/O budget keeps beside them. */
const BUDGET = "budget";

/**
 * Makes the directories of a store, those that are not there yet. A directory that holds other things
 * is refused: what a store finds in its `tmp` and `runs` it removes.
 *
 * @throws {UsageError} If the directory is neither a store nor empty.
 */
export function makeStore(dir: string): void {
  if (isStore(dir)) return;
  Deno.mkdirSync(dir, { recursive: true, mode: 0o755 });
  const found = new Set([...Deno.readDirSync(dir)].map(({ name }) => name));
  found.delete(BUDGET);
  const isBegun = DIRECTORIES.slice(0, found.size).every((name) => found.has(name));
  if (!isBegun && !isStore(dir)) {
    throw new UsageError(`Cannot use ${JSON.stringify(dir)} as store: it holds other files`, {
      remedy: "Give a new or an empty directory with --store DIR or MINISANDBOX_STORE.",
    });
  }
  for (const name of DIRECTORIES) {
    try {
      Deno.mkdirSync(`${dir}/${name}`);
      Deno.chmodSync(`${dir}/${name}`, MODE); // whatever the umask
      if (CROWDED.includes(name)) spread(`${dir}/${name}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

/**
 * Asks ext4 to lay each tree in a block group of its own. It gives directories made in one parent the
 * inodes beside it, past all that were freed a moment ago: without a journal, one by one (on a busy store
 * a sandbox took 32 ms so, and takes 4.5).
 */
function spread(dir: string): void {
  const fd = openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    addInodeFlag(fd, "FS_TOPDIR_FL");
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error; // it is only a hint
  } finally {
    closeQuietly(fd);
  }
}

function isStore(dir: string): boolean {
  return DIRECTORIES.every((name) => isDirectory(`${dir}/${name}`));
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
