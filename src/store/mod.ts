/** Engine: layers on disk, each whole or absent; directories of runs; what the dead leave. */
export { type BuildJob, type BuildTree, LIST } from "./build.ts";
export { type Copied, copyTree } from "./copy.ts";
export type { CatalogEntry } from "./catalog.ts";
export { explainFailure } from "./failure.ts";
export { HeldDirectory } from "./held_directory.ts";
export type { SetuidPolicy } from "./key.ts";
export type { Layer, LayerInfo } from "./layer.ts";
export { storeLocation } from "./location.ts";
export { checkName, type Named, NameShelf, taken } from "./name.ts";
export { emptyTree, LAST_REMOVED, type RemoveTree, removeTree } from "./remove.ts";
export {
  type LayerIdentity,
  type LayerPhase,
  type LayerProgress,
  type LayerRequest,
  type Scratch,
  Store,
} from "./store.ts";
export type { WorkDir } from "./work.ts";
