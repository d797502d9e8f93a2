/** All cases, in the order in which they are measured. */
import type { Case } from "../case.ts";
import { prepare, start } from "./crowd.ts";
import { disk } from "./disk.ts";
import { fork } from "./fork.ts";
import { memory } from "./memory.ts";
import { process } from "./process.ts";
import { session } from "./session.ts";
import { soak } from "./soak.ts";
import { unpack } from "./unpack.ts";

/** Cases by their names. */
export const CASES: readonly Case[] = [
  start,
  prepare,
  process,
  session,
  unpack,
  fork,
  memory,
  disk,
  soak,
];
