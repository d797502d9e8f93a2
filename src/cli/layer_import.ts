/** `layer import`: archives unpacked in advance. */
import { ensureLayers } from "../app/layer.ts";
import { parseLayerPath } from "../app/layer_path.ts";
import { LayerTimes } from "../app/layer_time.ts";
import { Node } from "../app/node.ts";
import { UsageError } from "../errors.ts";
import { ARCHIVE_OPTIONS, parseArchivePolicy } from "./archive_option.ts";
import { parseBudget } from "./budget_option.ts";
import { type ArchiveLayer, parseLayerArgument } from "./layer_argument.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay } from "./relay.ts";
import { print, STORE_OPTIONS, type Verb, verb, type VerbLine } from "./verb.ts";

const OPTIONS = {
  ...STORE_OPTIONS,
  at: { kind: "value" },
  jobs: { kind: "value" },
  "io-budget": { kind: "value" },
  ...ARCHIVE_OPTIONS,
  quiet: { kind: "flag" },
} as const;

/** The verb. */
export const importVerb: Verb = verb("import [--at PATH] ARCHIVE[:PATH]...", {
  options: OPTIONS,
  least: 1,
  most: Infinity,
  run: importLayers,
});

async function importLayers({ options, operands }: VerbLine<typeof OPTIONS>): Promise<void> {
  const wishes = toWishes(operands, options.at);
  const jobs = parseJobs(options.jobs);
  using relay = new Relay(false);
  using node = new Node(options.store, {
    ioBudget: parseBudget(options["io-budget"]),
    archives: parseArchivePolicy(options),
  });
  await node.store.sweep();
  using progress = new Progress(onStderr(options.quiet));
  const times = new LayerTimes();
  let noteOnce = node.budget.isBlind
    ? () => {
      progress.note("this kernel tells no I/O pressure: the budget follows throughput alone");
      noteOnce = null;
    }
    : null;
  const layers = await ensureLayers(node.store, wishes, {
    idmap: node.idmap,
    setuid: node.setuid,
    unpack: node.unpack,
    budget: node.budget,
    jobs,
    use: "import",
    onEvent: (event) => {
      times.note(event);
      progress.show(event);
      if (event.phase === "queued") noteOnce?.();
    },
    signal: relay.signal,
  });
  const rows = layers.map(({ key, sha256, path }, i) => {
    const wish = wishes[i]!;
    return { key, sha256, path, archive: wish.archive, phases: times.of(wish) };
  });
  for (const layer of layers) layer[Symbol.dispose]();
  print(
    options.json,
    { layers: rows, budget: node.budget.state() },
    rows.map(({ key, path }) => `${key} ${path}`),
  );
}

function toWishes(operands: readonly string[], at: string | undefined): ArchiveLayer[] {
  if (at === undefined) return operands.map(parseLayerArgument);
  const path = parseLayerPath(at);
  return operands.map((archive) => ({ archive, path }));
}

function parseJobs(text = "2"): number {
  const jobs = Number(text);
  if (Number.isInteger(jobs) && jobs >= 1) return jobs;
  throw new UsageError(`Cannot read --jobs ${JSON.stringify(text)}: no whole number`, {
    remedy: "Give 1 or more.",
  });
}
