/** `minisandbox layer`: what is unpacked in the store. */
import { format as formatBytes } from "@std/fmt/bytes";
import { ensureLayers } from "../app/layer.ts";
import { LayerTimes } from "../app/layer_time.ts";
import { Node } from "../app/node.ts";
import type { LayerInfo } from "../app/store.ts";
import { UsageError } from "../errors.ts";
import { type BudgetMode, parseBudget } from "./budget_option.ts";
import { parseLayerArguments } from "./layer_argument.ts";
import { parseOptions } from "./option.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay } from "./relay.ts";
import type { Subcommand } from "./subcommand.ts";

const SUMMARY = "import, list and remove unpacked archives";

const HELP = `Usage: minisandbox layer import [OPTION]... ARCHIVE:PATH...
       minisandbox layer list [OPTION]...
       minisandbox layer remove [OPTION]... KEY...

A layer is an archive (tar, plain or gzip) unpacked once into the store, to be shown at PATH in
every sandbox that asks for it. "run --layer" imports what is missing by itself.

  import    unpack archives that are not in the store yet, and print their keys
  list      show the layers: key, size, files, last use, path, archive
  remove    remove layers that no sandbox uses; the start of a KEY is enough

Options:
      --store DIR   the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                    $XDG_DATA_HOME/minisandbox]
      --jobs N      import so many at once [2]
      --io-budget SIZE|auto|none
                    what may be unpacked at once on this node: bytes, as its disk bears, or all [auto]
      --json        print JSON
      --quiet       show no progress
      --help        print this

Examples:
  minisandbox layer import venv.tar.gz:/opt/venv testbed.tar.gz:/testbed
  minisandbox layer list --json
  minisandbox layer remove 3fa1c9`;

const VERBS: Readonly<Record<string, (line: Line) => Promise<void>>> = {
  import: importLayers,
  list: listLayers,
  remove: removeLayers,
};

/** The subcommand. */
export const layerCommand: Subcommand = {
  name: "layer",
  summary: SUMMARY,
  help: HELP,
  run: async ([verb = "", ...rest]) => {
    const act = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (act === undefined) {
      throw new UsageError(`Cannot read the command line: layer knows no ${JSON.stringify(verb)}`, {
        remedy: "Give import, list or remove; see: minisandbox layer --help.",
      });
    }
    await act(readLine(rest));
    return 0;
  },
};

interface Line {
  readonly operands: readonly string[];
  readonly store: string | undefined;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly jobs: number;
  readonly ioBudget: BudgetMode;
}

function readLine(argv: readonly string[]): Line {
  const { options, operands, rest } = parseOptions({
    store: { kind: "value" },
    jobs: { kind: "value" },
    "io-budget": { kind: "value" },
    json: { kind: "flag" },
    quiet: { kind: "flag" },
  }, argv);
  const jobs = Number(options.jobs ?? 2);
  if (!Number.isInteger(jobs) || jobs < 1) {
    throw new UsageError(`Cannot read --jobs ${JSON.stringify(options.jobs)}: no whole number`, {
      remedy: "Give 1 or more.",
    });
  }
  return {
    operands: [...operands, ...rest ?? []],
    store: options.store,
    isJson: options.json,
    isQuiet: options.quiet,
    jobs,
    ioBudget: parseBudget(options["io-budget"]),
  };
}

async function importLayers(line: Line): Promise<void> {
  const wishes = parseLayerArguments(need(line, "ARCHIVE:PATH"));
  using relay = new Relay(false);
  using node = new Node(line.store, line);
  await node.store.sweep();
  using progress = new Progress(onStderr(line.isQuiet));
  const times = new LayerTimes();
  const layers = await ensureLayers(node.store, wishes, {
    idmap: node.idmap,
    unpack: node.unpack,
    budget: node.budget,
    jobs: line.jobs,
    onEvent: (event) => {
      times.note(event);
      progress.show(event);
    },
    signal: relay.signal,
  });
  const rows = layers.map(({ key, path }, i) => {
    const wish = wishes[i]!;
    return { key, path, archive: wish.archive, phases: times.of(wish) };
  });
  for (const layer of layers) layer[Symbol.dispose]();
  print(
    line,
    { layers: rows, budget: node.budget.state() },
    rows.map(({ key, path }) => `${key} ${path}`),
  );
}

function listLayers(line: Line): Promise<void> {
  using node = new Node(line.store);
  const layers = node.store.listLayers();
  print(line, layers, toTable(layers));
  return Promise.resolve();
}

async function removeLayers(line: Line): Promise<void> {
  const keys = need(line, "KEY");
  using node = new Node(line.store);
  const { store } = node;
  const removed: string[] = [];
  for (const key of keys) removed.push(await store.removeLayer(key));
  print(line, { removed }, removed);
}

function need({ operands }: Line, what: string): readonly string[] {
  if (operands.length > 0) return operands;
  throw new UsageError(`Cannot read the command line: ${what} is missing`, {
    remedy: "See: minisandbox layer --help.",
  });
}

function print({ isJson }: Line, value: unknown, lines: readonly string[]): void {
  if (isJson) console.log(JSON.stringify(value, null, 2));
  else if (lines.length > 0) console.log(lines.join("\n"));
}

function toTable(layers: readonly LayerInfo[]): string[] {
  if (layers.length === 0) return [];
  const rows = [
    ["KEY", "SIZE", "ENTRIES", "LAST USE", "IN USE", "PATH", "ARCHIVE"],
    ...layers.map((layer) => [
      layer.key.slice(0, 12),
      formatBytes(layer.bytes, { binary: true }),
      String(layer.entries),
      layer.lastUsed.slice(0, 10),
      layer.isInUse ? "yes" : "no",
      layer.path,
      layer.archive.name,
    ]),
  ];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd());
}
