/** Engine: what changed between two trees, as a list and as a patch that git takes. */
export type { Change, ChangeStatus, FileKind } from "./change.ts";
export { type Difference, findDifferences, type Trees } from "./walk.ts";
export { patchOf, PatchTooLarge } from "./patch.ts";
