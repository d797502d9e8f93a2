/** No sandbox at all: the floor. */
import type { Peer } from "../peer.ts";

/** The command by itself. */
export const bare: Peer = {
  name: "bare",
  what: "the command by itself",
  prepare: () => Promise.resolve((command) => command),
};
