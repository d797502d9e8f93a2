/** The engine's second door: what a start of a sandbox in a warm store has no use for. */
export { EntryListWriter } from "./entry_list.ts";
export { collectGarbage, type GcItem, type GcReport, type GcWish } from "./gc.ts";
export { measureUsage, type Usage } from "./usage.ts";
export { type Fault, findFaults } from "./verify.ts";
