/** The hidden subcommands that a confined process of ours is started with. */
import {
  copyOnDemand,
  emptyWork,
  packStdout,
  removeWork,
  unpackArchive,
  verifyTree,
} from "../app/worker.ts";
import { UsageError } from "../errors.ts";
import { parseOptions } from "./option.ts";
import type { Subcommand } from "./subcommand.ts";

/** A subcommand that no overview names. */
type Worker = Omit<Subcommand, "summary">;

const UNPACK_HELP = `Unpacks an archive: __unpack --into DIR [OPTION]...

      --archive FILE           the archive [stdin]
      --list FILE              list what was unpacked in this file
      --name NAME              the archive's name, for errors
      --owners keep|root       whom files belong to [keep for root, else root]
      --setuid keep|drop       setuid and setgid bits [keep]
      --whiteouts plain|oci    what .wh. names are: files, or marks of an OCI layer [plain]
      --devices refuse|skip    device nodes that are no whiteouts [refuse]
      --git-index keep|refresh whether indexes of git repositories know their files [keep]
      --max-bytes N, --max-entries N, --max-depth N
                               the most that is taken`;

/** Unpacks an archive. */
const unpackWorker: Worker = {
  name: "__unpack",
  help: UNPACK_HELP,
  run: async (argv) => {
    const { options } = parseOptions({
      archive: { kind: "value" },
      into: { kind: "value" },
      list: { kind: "value" },
      name: { kind: "value" },
      owners: { kind: "value" },
      setuid: { kind: "value" },
      whiteouts: { kind: "value" },
      devices: { kind: "value" },
      "git-index": { kind: "value" },
      "max-bytes": { kind: "value" },
      "max-entries": { kind: "value" },
      "max-depth": { kind: "value" },
    }, argv);
    // Only root, of this user namespace, can give files away.
    const { into, name = "archive", owners = Deno.uid() === 0 ? "keep" : "root" } = options;
    if (into === undefined) throw unfit();
    return await unpackArchive({
      archive: options.archive ?? null,
      into,
      list: options.list ?? null,
      name,
      owners: oneOf(["keep", "root"], owners),
      setuid: oneOf(["keep", "drop"], options.setuid ?? "keep"),
      whiteouts: oneOf(["plain", "oci"], options.whiteouts ?? "plain"),
      devices: oneOf(["refuse", "skip"], options.devices ?? "refuse"),
      gitIndex: oneOf(["keep", "refresh"], options["git-index"] ?? "keep"),
      limits: {
        ...limit("maxBytes", options["max-bytes"]),
        ...limit("maxEntries", options["max-entries"]),
        ...limit("maxDepth", options["max-depth"]),
      },
    });
  },
};

/** Packs trees. */
const packWorker: Worker = {
  name: "__pack",
  help: "Packs trees to stdout: __pack JSON",
  run: async ([work = ""]) => await packStdout(JSON.parse(work)),
};

/** Compares a layer with the list of its entries. */
const verifyWorker: Worker = {
  name: "__verify",
  help: "Compares a tree with a list: __verify DIR LIST",
  run: async (argv) => {
    const [root = "", list = ""] = parseOptions({}, argv).operands;
    return await verifyTree(root, list);
  },
};

/** Removes trees whose files belong to mapped ids. */
const removeWorker: Worker = {
  name: "__remove",
  help: "Removes trees: __remove DIR...",
  run: async (argv) => {
    return await removeWork(parseOptions({}, argv).operands);
  },
};

/** Compares trees. */
const diffWorker: Worker = {
  name: "__diff",
  help: "Compares trees, and writes a patch to stdout: __diff JSON",
  run: async ([work = ""]) => {
    const { diffStdout } = await import("../app/diff_worker.ts");
    return await diffStdout(JSON.parse(work));
  },
};

/** Copies trees, as it is asked to. */
const copyWorker: Worker = {
  name: "__copy",
  help: "Copies trees as it is asked to on stdin: __copy",
  run: async () => await copyOnDemand(),
};

/** Empties directories that stay. */
const emptyWorker: Worker = {
  name: "__empty",
  help: "Empties directories: __empty DIR...",
  run: async (argv) => await emptyWork(parseOptions({}, argv).operands),
};

/** All of them. */
export const WORKERS: readonly Worker[] = [
  ...[unpackWorker, packWorker, verifyWorker, copyWorker, diffWorker, emptyWorker, removeWorker],
];

function oneOf<const T extends string>(choices: readonly T[], value: string): T {
  const choice = choices.find((it) => it === value);
  if (choice === undefined) throw unfit();
  return choice;
}

function limit(name: string, value: string | undefined): Record<string, number> {
  if (value === undefined) return {};
  if (!/^\d{1,15}$/.test(value)) throw unfit();
  return { [name]: Number(value) };
}

function unfit(): UsageError {
  return new UsageError("Cannot unpack: this subcommand is for minisandbox itself");
}
