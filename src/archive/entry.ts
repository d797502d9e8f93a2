/** What a tar stream consists of, as the decoder gives it and the encoder takes it. */

/** What an entry makes; a whiteout is overlayfs's mark that hides a name of the layers below. */
export type EntryKind =
  | "file"
  | "directory"
  | "symlink"
  | "link"
  | "fifo"
  | "whiteout"
  | "device";

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
  /** How long it is, holes included; 0 unless it is a file. */
  readonly size: number;
  /** Where the bytes that follow lie in it, in order; null if it has no hole. */
  readonly extents: readonly Extent[] | null;
  /** When it was changed: seconds since 1970, and nanoseconds beyond them. */
  readonly mtime: Time;
  readonly xattrs: readonly Xattr[];
}

/** One that we pack. */
export type PackedEntry = Entry & { readonly kind: Exclude<EntryKind, "device"> };

/** A piece of a file that is no hole. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A moment as the kernel takes it. */
export interface Time {
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanoseconds: number;
}

/** An extended attribute; its name is text with one character a byte. */
export interface Xattr {
  readonly name: string;
  readonly value: Uint8Array<ArrayBuffer>;
}

/** Who takes what the decoder finds, in the order of the stream. */
export interface EntrySink {
  /** An entry begins. */
  begin(entry: Entry): void;
  /** Some of its bytes, valid only during the call. */
  data(bytes: Uint8Array<ArrayBuffer>): void;
  /** A hole of so many bytes comes next. */
  hole(length: number): void;
  /** The entry has ended. */
  end(): void;
}
