/** `layer pack` and `layer export`: trees made into archives. */
import { Node } from "../app/node.ts";
import { exportLayer, packDirectory } from "../app/pack.ts";
import { UsageError } from "../errors.ts";
import { openOutput } from "./output_file.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay } from "./relay.ts";
import { STORE_OPTIONS, type Verb, verb, type VerbLine } from "./verb.ts";

const PACK_OPTIONS = {
  output: { kind: "value", alias: "o" },
  level: { kind: "value" },
  owners: { kind: "value" },
  mtime: { kind: "value" },
  quiet: { kind: "flag" },
} as const;

const EXPORT_OPTIONS = {
  ...STORE_OPTIONS,
  output: { kind: "value", alias: "o" },
  level: { kind: "value" },
  quiet: { kind: "flag" },
} as const;

/** Packs a directory. */
export const packVerb: Verb = verb("pack DIR -o FILE", {
  options: PACK_OPTIONS,
  least: 1,
  run: pack,
});

/** Packs a layer. */
export const exportVerb: Verb = verb("export KEY -o FILE", {
  options: EXPORT_OPTIONS,
  least: 1,
  run: exportOne,
});

async function pack({ options, operands }: VerbLine<typeof PACK_OPTIONS>): Promise<void> {
  const settings = {
    owners: parseOwners(options.owners),
    mtime: parseMtime(options.mtime),
    level: parseLevel(options.level),
  };
  using relay = new Relay(false);
  using progress = new Progress(onStderr(options.quiet));
  await using output = await openOutput(options.output);
  const watch = { onNote: progress.note, signal: relay.signal };
  await packDirectory(operands[0]!, settings, output.write, watch);
  await output.commit();
}

async function exportOne({ options, operands }: VerbLine<typeof EXPORT_OPTIONS>): Promise<void> {
  const level = parseLevel(options.level);
  using relay = new Relay(false);
  using progress = new Progress(onStderr(options.quiet));
  using node = new Node(options.store);
  await using output = await openOutput(options.output);
  await exportLayer(node, operands[0]!, {
    level,
    write: output.write,
    onNote: progress.note,
    signal: relay.signal,
  });
  await output.commit();
}

function parseLevel(text = "6"): number | null {
  if (/^[0-9]$/.test(text)) return text === "0" ? null : Number(text);
  throw new UsageError(`Cannot read --level ${JSON.stringify(text)}: no such level`, {
    remedy: "Give 1 to 9, or 0 for a plain tar.",
  });
}

function parseOwners(text = "root"): "keep" | "root" {
  if (text === "keep" || text === "root") return text;
  throw new UsageError(`Cannot read --owners ${JSON.stringify(text)}: no such policy`, {
    remedy: "Give keep or root.",
  });
}

function parseMtime(text = "keep"): "keep" | number {
  if (text === "keep") return text;
  if (/^\d{1,11}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read --mtime ${JSON.stringify(text)}: no number of seconds`, {
    remedy: "Give keep, or seconds since 1970.",
  });
}
