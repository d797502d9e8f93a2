/** `minisandbox snapshot`: what runs have kept, by name. */
import { format as formatBytes } from "@std/fmt/bytes";
import { Node } from "../app/node.ts";
import { removeSnapshot, type SnapshotFile } from "../app/snapshot.ts";
import type { Subcommand } from "./subcommand.ts";
import { toTable } from "./table.ts";
import { print, STORE_OPTIONS, verb, verbCommand, type VerbLine } from "./verb.ts";

const HELP = `Usage: minisandbox snapshot list|remove [OPTION]... [NAME]...

A snapshot is what a sandbox wrote, kept by "run --keep NAME": a layer that "run --from NAME" puts on
top of the same base and layers. Files that were removed stay removed.

  list      show the snapshots
  remove    remove snapshots, and their layers where nothing uses them

Options:
      --store DIR    the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                     $XDG_DATA_HOME/minisandbox]
      --json         print JSON
      --help         print this

Examples:
  minisandbox run --keep configured -- sh -c 'echo done > /srv/state'
  minisandbox run --from configured -- cat /srv/state
  minisandbox snapshot remove configured`;

type StoreLine = VerbLine<typeof STORE_OPTIONS>;

/** The subcommand. */
export const snapshotCommand: Subcommand = verbCommand({
  name: "snapshot",
  summary: "list and remove what runs have kept",
  help: HELP,
  verbs: {
    list: verb("list [OPTION]...", { options: STORE_OPTIONS, run: list }),
    remove: verb("remove [OPTION]... NAME...", {
      options: STORE_OPTIONS,
      least: 1,
      most: Infinity,
      run: remove,
    }),
  },
});

function list({ options }: StoreLine): void {
  using node = new Node(options.store);
  const found = node.store.names.list<SnapshotFile>("snapshot");
  const rows = found.map(([name, { bytes, entries, needsBase, created }]) => [
    name,
    formatBytes(bytes, { binary: true }),
    String(entries),
    needsBase ?? "-",
    created.slice(0, 16).replace("T", " "),
  ]);
  print(
    options.json,
    found.map(([name, snapshot]) => ({ name, ...snapshot })),
    toTable(["NAME", "SIZE", "ENTRIES", "BASE", "CREATED"], rows),
  );
}

async function remove({ options, operands }: StoreLine): Promise<void> {
  using node = new Node(options.store);
  for (const name of operands) await removeSnapshot(node.store, name);
  print(options.json, { removed: operands }, operands);
}
