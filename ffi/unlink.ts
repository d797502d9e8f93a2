/** Removes many names in one go, by a process of its own: a file system may take long for each. */
import { CLONE } from "./constant.ts";
import { closeQuietly } from "./file.ts";
import { Memory } from "./memory.ts";
import { wait } from "./process.ts";
import { readable } from "./readiness.ts";
import { NR } from "./syscall_number.ts";
import { cstr, type CString } from "./text.ts";
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
 * Removes names in order, whatever comes of each, while this thread goes on.
 *
 * @returns Those that could not be removed.
 * @throws {SyscallError} If the process cannot be made.
 */
export async function unlinkAside(names: readonly Unlink[]): Promise<Unlink[]> {
  const texts = names.map(({ name }) => cstr(name));
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  using memory = new Memory(bytes + 160 * names.length + 4096);
  const table = names.flatMap(({ dirfd, flags, opened }, i) => [
    { number: NR.close, args: [opened], flags: ENTRY_FLAG.ignoreError },
    {
      number: NR.unlinkat,
      args: [dirfd, memory.place(texts[i]!), flags],
      flags: ENTRY_FLAG.ignoreError,
    },
  ]);
  const child = begin(memory, table, names);
  await readable(child.pidfd);
  const { signal } = wait(child.pid);
  closeQuietly(child.pidfd);
  return names.filter((_, i) => signal !== null || child.result(2 * i + 1) < 0);
}

function begin(memory: Memory, table: readonly TableEntry[], names: readonly Unlink[]): Vclone {
  try {
    return vcloneAside(memory, table, CLONE.CLONE_FILES);
  } catch (error) {
    closeQuietly(...names.map(({ opened }) => opened).filter((fd) => fd >= 0));
    throw error;
  }
}
