/** Removes many names in one go, by a process of its own: a file system may take long for each. */
import { CLONE } from "./constant.ts";
import { closeQuietly } from "./file.ts";
import { Memory } from "./memory.ts";
import { wait } from "./process.ts";
import { readable } from "./readiness.ts";
import { NR } from "./syscall_number.ts";
import { cstr, type CString } from "./text.ts";
import { ENTRY_FLAG, vcloneAside } from "./vclone.ts";

/** A name in a directory. */
export interface Unlink {
  readonly dirfd: number;
  readonly name: CString;
  /** `AT_REMOVEDIR` for a directory. */
  readonly flags: number;
}

/**
 * Removes names in order, whatever comes of each, while this thread goes on. The descriptors stay open
 * until it is done.
 *
 * @returns Those that could not be removed.
 * @throws {SyscallError} If the process cannot be made.
 */
export async function unlinkAside(names: readonly Unlink[]): Promise<Unlink[]> {
  const texts = names.map(({ name }) => cstr(name));
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  using memory = new Memory(bytes + 72 * names.length + 4096);
  const table = names.map(({ dirfd, flags }, i) => ({
    number: NR.unlinkat,
    args: [dirfd, memory.place(texts[i]!), flags],
    flags: ENTRY_FLAG.ignoreError,
  }));
  const child = vcloneAside(memory, table, CLONE.CLONE_FILES);
  await readable(child.pidfd);
  wait(child.pid);
  closeQuietly(child.pidfd);
  return names.filter((_, i) => child.result(i) < 0);
}
