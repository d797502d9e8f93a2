/** Engine: archives unpacked safely beneath a directory. */
export { DEFAULT_LIMITS, type UnpackLimits } from "./limit.ts";
export { parseIdMap } from "./owner.ts";
export { type ByteSource, readDescriptor } from "./source.ts";
export { unpack, unpackInto, type UnpackOptions, type UnpackSummary } from "./unpack.ts";
