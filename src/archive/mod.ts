/** Engine: archives unpacked safely beneath a directory, and trees packed. */
export { DEFAULT_LIMITS, type UnpackLimits } from "./limit.ts";
export { type PackOptions, type PackPart, packTree } from "./pack.ts";
export { packDirectories, type PackedTree } from "./pack_directory.ts";
export type { PackNote } from "./read_tree.ts";
export { parseIdMap } from "./owner.ts";
export type { EntryRecord } from "./record.ts";
export { type ByteSource, readDescriptor, readFile } from "./source.ts";
export { unpack, unpackInto, type UnpackOptions, type UnpackSummary } from "./unpack.ts";
export { zipToTar } from "./zip.ts";
