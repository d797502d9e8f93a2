/** Engine: layers on disk, each whole or absent; directories of runs; what the dead leave. */
export type { BuildJob, BuildTree } from "./build.ts";
export { explainFailure } from "./failure.ts";
export type { Layer, LayerInfo } from "./layer.ts";
export { storeLocation } from "./location.ts";
export { type RemoveTree, removeTree } from "./remove.ts";
export { type LayerPhase, type LayerProgress, type LayerRequest, Store } from "./store.ts";
export type { WorkDir } from "./work.ts";
