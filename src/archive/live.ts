/** What can be asked of a tree that others may be writing to. */
import { type FileStatus, readDirectory, S, SEEK, seek } from "../../ffi/mod.ts";
import type { Time } from "./entry.ts";

/** Lists a directory, sorted by the bytes of the names. */
export function listNames(fd: number): string[] {
  const names: string[] = [];
  seek(fd, 0, SEEK.SEEK_SET); // it may have been read before
  for (let more = readDirectory(fd); more !== null; more = readDirectory(fd)) {
    for (const { name } of more) names.push(name);
  }
  return names.sort();
}

/** Says whether two statuses are of one file. */
export function isSame(a: FileStatus, b: FileStatus): boolean {
  return a.device === b.device && a.inode === b.inode &&
    (a.mode & S.S_IFMT) === (b.mode & S.S_IFMT);
}

/** Says whether a file was changed between two statuses: its time of change cannot be set back. */
export function isChanged(before: FileStatus, after: FileStatus): boolean {
  return before.size !== after.size || before.mtimeNs !== after.mtimeNs ||
    before.ctimeNs !== after.ctimeNs;
}

/** Splits nanoseconds since 1970. */
export function toTime(ns: bigint): Time {
  const second = 1_000_000_000n;
  const nanoseconds = ((ns % second) + second) % second;
  return { seconds: Number((ns - nanoseconds) / second), nanoseconds: Number(nanoseconds) };
}
