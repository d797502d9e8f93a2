/** `minisandbox base`: root file systems that sandboxes lie on, by name. */
import { format as formatBytes } from "@std/fmt/bytes";
import { importBase } from "../app/base_import.ts";
import { type BaseFile, removeBase } from "../app/named_base.ts";
import { Node } from "../app/node.ts";
import { ARCHIVE_HELP, ARCHIVE_OPTIONS, parseArchivePolicy } from "./archive_option.ts";
import { parseBudget } from "./budget_option.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay } from "./relay.ts";
import type { Subcommand } from "./subcommand.ts";
import { toFacts, toTable } from "./table.ts";
import { print, STORE_OPTIONS, verb, verbCommand, type VerbLine } from "./verb.ts";

const HELP = `Usage: minisandbox base import [OPTION]... FILE|DIR|- NAME
       minisandbox base list|show|remove [OPTION]... [NAME]...

A base is what lies at the bottom of a sandbox: "run --base NAME". It is imported once, and does not
change; an image's Env, WorkingDir and User are what runs start from.

  import    take in a root file system (a tar, plain or gzip, or a directory, such as debootstrap
            makes), an OCI image layout (a directory or a tar) or what "docker save" wrote; - reads
            stdin. Each layer of an image is one layer of the store, shared by all images that have
            it. Owners are kept where ids allow; what became root is counted
  list      show the bases
  show      show all that is known of a base
  remove    remove bases, and their layers where nothing else needs them

Options:
      --store DIR    the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                     $XDG_DATA_HOME/minisandbox]
      --json         print JSON
      --help         print this
  import:
      --tag TAG      which image, where there are several
      --io-budget SIZE|auto|none
                     what may be unpacked at once on this node [auto]
${ARCHIVE_HELP}
      --quiet        show no progress

Examples:
  debootstrap --variant=minbase trixie root && minisandbox base import root debian-13
  docker save python:3.12 | minisandbox base import - python-3.12
  minisandbox base import layout/ tools --tag latest
  minisandbox run --base python-3.12 -- python -c 'print(1)'`;

const IMPORT_OPTIONS = {
  ...STORE_OPTIONS,
  tag: { kind: "value" },
  "io-budget": { kind: "value" },
  ...ARCHIVE_OPTIONS,
  quiet: { kind: "flag" },
} as const;

type StoreLine = VerbLine<typeof STORE_OPTIONS>;

/** The subcommand. */
export const baseCommand: Subcommand = verbCommand({
  name: "base",
  summary: "import, list and remove root file systems and images",
  help: HELP,
  verbs: {
    import: verb("import [OPTION]... FILE|DIR|- NAME", {
      options: IMPORT_OPTIONS,
      least: 2,
      run: importOne,
    }),
    list: verb("list [OPTION]...", { options: STORE_OPTIONS, run: list }),
    show: verb("show [OPTION]... NAME", { options: STORE_OPTIONS, least: 1, run: show }),
    remove: verb("remove [OPTION]... NAME...", {
      options: STORE_OPTIONS,
      least: 1,
      most: Infinity,
      run: remove,
    }),
  },
});

async function importOne({ options, operands }: VerbLine<typeof IMPORT_OPTIONS>): Promise<void> {
  const [source = "", name = ""] = operands;
  using relay = new Relay(false);
  using node = new Node(options.store, {
    ioBudget: parseBudget(options["io-budget"]),
    archives: parseArchivePolicy(options),
  });
  await node.store.sweep();
  using progress = new Progress(onStderr(options.quiet));
  const base = await importBase(node, {
    source,
    name,
    tag: options.tag ?? null,
    onEvent: progress.show,
    onNote: progress.note,
    signal: relay.signal,
  });
  print(options.json, { name, ...base }, [`${base.digest} ${name}`]);
}

function list({ options }: StoreLine): void {
  using node = new Node(options.store);
  const bases = node.store.names.list<BaseFile>("base");
  const rows = bases.map(([name, { layers, bytes, source, created, digest }]) => [
    name,
    size(bytes),
    String(layers.length),
    source.kind,
    created.slice(0, 10),
    digest.slice(0, 12),
  ]);
  print(
    options.json,
    bases.map(([name, base]) => ({ name, ...base })),
    toTable(["NAME", "SIZE", "LAYERS", "FROM", "CREATED", "DIGEST"], rows),
  );
}

function show({ options, operands: [name = ""] }: StoreLine): void {
  using node = new Node(options.store);
  const base = node.store.names.read<BaseFile>("base", name);
  const { config } = base;
  print(
    options.json,
    { name, ...base },
    toFacts([
      ["name", name],
      ["digest", base.digest],
      ["from", `${base.source.kind}, ${base.source.name}`],
      ["size", `${size(base.bytes)} in ${base.entries} entries`],
      ["owners", base.ownersLost === 0 ? "all kept" : `${base.ownersLost} became root`],
      ["setuid bits", base.setuid === "drop" ? "dropped" : "kept"],
      ["created", base.created],
      ["workdir", config.workdir ?? "-"],
      ["user", config.user ?? "-"],
      ...Object.entries(config.env).map(([key, value]) => ["env", `${key}=${value}`] as const),
      ...base.keys.map((key) => ["layer", key] as const),
    ]),
  );
}

async function remove({ options, operands }: StoreLine): Promise<void> {
  using node = new Node(options.store);
  for (const name of operands) await removeBase(node.store, name);
  print(options.json, { removed: operands }, operands);
}

function size(bytes: number): string {
  return formatBytes(bytes, { binary: true });
}
