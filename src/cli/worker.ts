/** The hidden subcommands that a confined process of ours is started with. */
import { removeWork, unpackStdin } from "../app/worker.ts";
import { UsageError } from "../errors.ts";
import { parseOptions } from "./option.ts";
import type { Subcommand } from "./subcommand.ts";

/** Unpacks the archive on stdin. */
export const unpackWorker: Subcommand = {
  name: "__unpack",
  summary: null,
  help: "Unpacks the archive on stdin: __unpack --into DIR [--name NAME] [--owners keep|root]",
  run: async (argv) => {
    const { options } = parseOptions({
      into: { kind: "value" },
      name: { kind: "value" },
      owners: { kind: "value" },
    }, argv);
    // Only root, of this user namespace, can give files away.
    const { into, name = "archive", owners = Deno.uid() === 0 ? "keep" : "root" } = options;
    if (into === undefined || (owners !== "keep" && owners !== "root")) {
      throw new UsageError("Cannot unpack: this subcommand is for minisandbox itself");
    }
    return await unpackStdin({ into, name, owners });
  },
};

/** Removes trees whose files belong to mapped ids. */
export const removeWorker: Subcommand = {
  name: "__remove",
  summary: null,
  help: "Removes trees: __remove DIR...",
  run: async (argv) => {
    return await removeWork(parseOptions({}, argv).operands);
  },
};
