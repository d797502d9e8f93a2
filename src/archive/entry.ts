/** What a tar stream consists of, as the decoder gives it. */

/** What an entry makes. */
export type EntryKind = "file" | "directory" | "symlink" | "link" | "fifo";

/** One member of an archive, before its bytes. */
export interface Entry {
  readonly kind: EntryKind;
  /** Its name as stored: any bytes. */
  readonly name: Uint8Array;
  /** Where a link of either kind leads, else empty. */
  readonly target: Uint8Array;
  /** Permissions with setuid, setgid and sticky bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** How many bytes follow; 0 unless it is a file. */
  readonly size: number;
  /** When it was changed: seconds since 1970, and nanoseconds beyond them. */
  readonly mtime: Time;
  /** How many extended attributes were stored with it. */
  readonly xattrs: number;
}

/** A moment as the kernel takes it. */
export interface Time {
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanoseconds: number;
}

/** Who takes what the decoder finds, in the order of the stream. */
export interface EntrySink {
  /** An entry begins. */
  begin(entry: Entry): void;
  /** Some of its bytes, valid only during the call. */
  data(bytes: Uint8Array<ArrayBuffer>): void;
  /** The entry has ended. */
  end(): void;
}
