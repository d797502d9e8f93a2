/** The methods of the protocol, by their names. */
import type { Method } from "../method.ts";
import { diffMethods } from "./diff.ts";
import { fileMethods } from "./file.ts";
import { forkMethods } from "./fork.ts";
import { processMethods } from "./process.ts";
import { sandboxMethods } from "./sandbox.ts";
import { serverMethods } from "./server.ts";
import { sessionMethods } from "./session.ts";
import { storeMethods } from "./store.ts";
import { transferMethods } from "./transfer.ts";

/** Every method. */
export const METHODS: Readonly<Record<string, Method>> = {
  ...serverMethods,
  ...sandboxMethods,
  ...processMethods,
  ...sessionMethods,
  ...fileMethods,
  ...forkMethods,
  ...diffMethods,
  ...transferMethods,
  ...storeMethods,
};
