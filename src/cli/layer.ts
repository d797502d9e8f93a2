/** `minisandbox layer`: what is unpacked in the store. */
import { format as formatBytes } from "@std/fmt/bytes";
import { Node } from "../app/node.ts";
import type { CatalogEntry } from "../app/store.ts";
import { ARCHIVE_HELP } from "./archive_option.ts";
import type { Subcommand } from "./subcommand.ts";
import { toFacts, toTable } from "./table.ts";
import { print, STORE_OPTIONS, verb, verbCommand } from "./verb.ts";

const HELP = `Usage: minisandbox layer import [OPTION]... ARCHIVE:PATH...
       minisandbox layer import [OPTION]... --at PATH ARCHIVE...
       minisandbox layer pack [OPTION]... DIR -o FILE|-
       minisandbox layer list|show|export|remove [OPTION]... [KEY]...

A layer is an archive (tar, plain or gzip) unpacked once into the store, to be shown at PATH in
every sandbox that asks for it. "run --layer" imports what is missing by itself.

  import    unpack archives that are not in the store yet, and print their keys
  pack      make an archive of a directory: the same tree gives the same bytes
  list      show the layers: key, size, files, last use, what needs them, path, archive
  show      show all that is known of a layer; the start of a KEY is enough
  export    make an archive of what a layer holds
  remove    remove layers that no sandbox uses and no base or environment needs

Options:
      --store DIR    the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                     $XDG_DATA_HOME/minisandbox]
      --json         print JSON
      --help         print this
  import:
      --at PATH      show each ARCHIVE at this path
      --jobs N       import so many at once [2]
      --io-budget SIZE|auto|none
                     what may be unpacked at once on this node: bytes, as its disk bears, or all [auto]
${ARCHIVE_HELP}
      --quiet        show no progress
  pack, export:
  -o, --output FILE  the archive to write; - for stdout
      --level N      how hard gzip tries, 1 to 9; 0 for a plain tar [6]
  pack:
      --owners keep|root    whose the files are in the archive [root]
      --mtime keep|SECONDS  their times, or one for all, in seconds since 1970 [keep]

Examples:
  minisandbox layer import venv.tar.gz:/opt/venv testbed.tar.gz:/testbed
  minisandbox layer import --at /testbed --jobs 8 environments/*.tar.gz
  minisandbox layer pack build/venv -o venv.tar.gz
  minisandbox layer list --json
  minisandbox layer export 3fa1c9 -o - | tar tz
  minisandbox layer remove 3fa1c9`;

/** The subcommand. */
export const layerCommand: Subcommand = verbCommand({
  name: "layer",
  summary: "import, pack, list, export and remove unpacked archives",
  help: HELP,
  verbs: {
    import: async (...line) => await (await import("./layer_import.ts")).importVerb(...line),
    pack: async (...line) => await (await import("./layer_pack.ts")).packVerb(...line),
    list: verb("list [OPTION]...", { options: STORE_OPTIONS, run: listLayers }),
    show: verb("show [OPTION]... KEY", { options: STORE_OPTIONS, least: 1, run: showLayer }),
    export: async (...line) => await (await import("./layer_pack.ts")).exportVerb(...line),
    remove: verb("remove [OPTION]... KEY...", {
      options: STORE_OPTIONS,
      least: 1,
      most: Infinity,
      run: removeLayers,
    }),
  },
});

interface StoreLine {
  readonly options: { readonly store: string | undefined; readonly json: boolean };
  readonly operands: readonly string[];
}

function listLayers({ options }: StoreLine): void {
  using node = new Node(options.store);
  const layers = node.store.catalog.list();
  const heads = ["KEY", "SIZE", "ENTRIES", "LAST USE", "IN USE", "USED BY", "PATH", "ARCHIVE"];
  print(options.json, layers, toTable(heads, layers.map(toRow)));
}

function toRow(layer: CatalogEntry): string[] {
  return [
    layer.key.slice(0, 12),
    size(layer.diskBytes),
    String(layer.entries),
    layer.lastUsed.slice(0, 10),
    layer.isInUse ? "yes" : "no",
    layer.usedBy.join(", ") || "-",
    layer.path,
    layer.archive.name,
  ];
}

function showLayer({ options, operands: [key = ""] }: StoreLine): void {
  using node = new Node(options.store);
  const layer = node.store.catalog.find(key);
  print(
    options.json,
    layer,
    toFacts([
      ["key", layer.key],
      ["path", layer.path],
      ["archive", layer.archive.name],
      ["sha256", layer.archive.sha256],
      ["entries", String(layer.entries)],
      ["size", `${size(layer.bytes)} in files, ${size(layer.diskBytes)} on disk`],
      ["owners", layer.ownersLost === 0 ? "all kept" : `${layer.ownersLost} became root`],
      ["id map", layer.idmap.trim().replaceAll("\n", ", ")],
      ["setuid bits", layer.setuid === "drop" ? "dropped" : "kept"],
      ["created", layer.created],
      ["last use", layer.lastUsed],
      ["in use", layer.isInUse ? "yes" : "no"],
      ["used by", layer.usedBy.join(", ") || "nothing"],
      ["tree", `${node.store.dir}/layers/${layer.key}/tree`],
    ]),
  );
}

async function removeLayers({ options, operands }: StoreLine): Promise<void> {
  using node = new Node(options.store);
  const removed: string[] = [];
  for (const key of operands) removed.push(await node.store.catalog.remove(key));
  print(options.json, { removed }, removed);
}

function size(bytes: number): string {
  return formatBytes(bytes, { binary: true });
}
