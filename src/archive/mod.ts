/** Engine: archives unpacked safely beneath a directory, and trees packed. */
export { DEFAULT_LIMITS, type UnpackLimits } from "./limit.ts";
export { type PackOptions, type PackPart, packTree } from "./pack.ts";
export type { PackNote } from "./read_tree.ts";
export { parseIdMap } from "./owner.ts";
export { type ByteSource, readDescriptor } from "./source.ts";
export { unpack, unpackInto, type UnpackOptions, type UnpackSummary } from "./unpack.ts";
