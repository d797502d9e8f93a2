/** What the command line shows of the store. */
export type { LayerInfo } from "../store/mod.ts";
