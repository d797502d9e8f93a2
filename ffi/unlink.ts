/** Removes many names in one go, by a process of its own: a file system may take long for each. */
import { AT, CLONE, PR, SIGNAL } from "./constant.ts";
import { ERRNO, isErrno, SyscallError } from "./errno.ts";
import { closeQuietly, unlinkAt } from "./file.ts";
import { Memory } from "./memory.ts";
import { wait } from "./process.ts";
import { ended } from "./readiness.ts";
import { NR } from "./syscall_number.ts";
import { cstr, type CString, flagNames, quote } from "./text.ts";
import type { TableEntry } from "./table.ts";
import { ENTRY_FLAG, type Vclone, vcloneAside } from "./vclone.ts";

/** A name in a directory. */
export interface Unlink {
  readonly dirfd: number;
  readonly name: CString;
  /** `AT_REMOVEDIR` for a directory. */
  readonly flags: number;
  /**
   * A descriptor of what is removed, closed before: it would keep its blocks until then, and whoever
   * closes it would have to wait for their end. -1 for none.
   */
  readonly opened: number;
}

/**
 * Removes names in order, whatever comes of each, while this thread goes on; or at once, where no process
 * can be made, as in a sandbox.
 *
 * @throws {SyscallError} What the first one that could not be removed was refused with; EINTR if the
 *   process was killed.
 */
export async function unlinkAside(names: readonly Unlink[]): Promise<void> {
  const texts = names.map(({ name }) => cstr(name));
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  using memory = new Memory(bytes + 160 * names.length + 4096);
  const call = (number: number, args: TableEntry["args"]): TableEntry => {
    return { number, args, flags: ENTRY_FLAG.ignoreError };
  };
  const table = [
    // It has all our descriptors, locks among them: it must not keep them when we are gone.
    call(NR.prctl, [PR.PR_SET_PDEATHSIG, SIGNAL.SIGKILL]),
    ...names.flatMap(({ dirfd, flags, opened }, i) => [
      call(NR.close, [opened]),
      call(NR.unlinkat, [dirfd, memory.place(texts[i]!), flags]),
    ]),
  ];
  let child: Vclone;
  try {
    child = vcloneAside(memory, table, CLONE.CLONE_FILES);
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error;
    return unlinkHere(names);
  }
  await ended(child.pidfd);
  closeQuietly(child.pidfd);
  const isWhole = reap(child.pid);
  names.forEach((it, i) => {
    const result = isWhole ? child.result(2 * i + 2) : -ERRNO.EINTR;
    if (result < 0) throw new SyscallError(show(it), -result);
  });
}

/** Says whether it came to its end; where a parent left us to ignore our children, nobody can tell. */
function reap(pid: number): boolean {
  try {
    return wait(pid).signal === null;
  } catch (error) {
    if (!isErrno(error, "ECHILD")) throw error;
    return true;
  }
}

function unlinkHere(names: readonly Unlink[]): void {
  const errors: unknown[] = [];
  for (const { dirfd, name, flags, opened } of names) {
    if (opened >= 0) closeQuietly(opened);
    try {
      unlinkAt(dirfd, name, flags);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

function show({ dirfd, name, flags }: Unlink): string {
  return `unlinkat(${dirfd}, ${quote(name)}, ${flagNames(AT, flags)})`;
}
