/** `minisandbox store`: whether it is sound, what it takes, and what can go. */
import { format as formatBytes } from "@std/fmt/bytes";
import { Node } from "../app/node.ts";
import { cleanStore, storeUsage, type Usage, type Verified, verifyLayers } from "../app/store.ts";
import { parseDuration } from "./duration.ts";
import { onStderr } from "./progress.ts";
import { Relay } from "./relay.ts";
import { parseSize } from "./size.ts";
import type { Subcommand } from "./subcommand.ts";
import { toFacts, toTable } from "./table.ts";
import { parseUserns } from "./userns_option.ts";
import { print, STORE_OPTIONS, verb, verbCommand, type VerbLine } from "./verb.ts";

const HELP = `Usage: minisandbox store verify [OPTION]... [KEY]...
       minisandbox store gc [OPTION]...
       minisandbox store usage [OPTION]...

The store holds what sandboxes are made of: layers, bases, environments and snapshots.

  verify    read every file of layers again, or of all, and compare it with the list made when they
            were unpacked: type, mode, owner, size, time, content; names each fault
  gc        remove what nothing uses: with no option only what dead processes left and what is of no
            use any more; layers only as the options say. What a sandbox uses, or a base, an
            environment or a snapshot needs, stays
  usage     show what the store takes

Options:
      --store DIR       the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                        $XDG_DATA_HOME/minisandbox]
      --json            print JSON
      --help            print this
  verify:
      --userns on|off   off: those that were unpacked with it [on]
  gc:
      --max-size SIZE   remove unused layers, the one longest unused first, until all layers take no
                        more than this
      --older-than AGE  remove layers that have not been used for so long: 30d, 12h
      --dry-run         only show what would go

Exit codes: 0; of verify, 1 if something is wrong, or if one that was named cannot be compared.

Examples:
  minisandbox store verify
  minisandbox store gc --max-size 50G --older-than 30d --dry-run
  minisandbox store usage --json`;

const VERIFY_OPTIONS = { ...STORE_OPTIONS, userns: { kind: "value" } } as const;

const GC_OPTIONS = {
  ...STORE_OPTIONS,
  "max-size": { kind: "value" },
  "older-than": { kind: "value" },
  "dry-run": { kind: "flag" },
} as const;

/** The subcommand. */
export const storeCommand: Subcommand = verbCommand({
  name: "store",
  summary: "verify, clean up and measure the store",
  help: HELP,
  verbs: {
    verify: verb("verify [OPTION]... [KEY]...", {
      options: VERIFY_OPTIONS,
      most: Infinity,
      run: verify,
    }),
    gc: verb("gc [OPTION]...", { options: GC_OPTIONS, run: gc }),
    usage: verb("usage [OPTION]...", { options: STORE_OPTIONS, run: usage }),
  },
});

async function verify({ options, operands }: VerbLine<typeof VERIFY_OPTIONS>): Promise<number> {
  using relay = new Relay(false);
  using node = new Node(options.store, { usesUserNamespace: parseUserns(options.userns) });
  const { isTerminal, write } = onStderr(options.json);
  const layers: Verified[] = [];
  const found = verifyLayers(node, operands, {
    onProgress: ({ key, bytes }, hashed) => {
      const percent = Math.floor(100 * hashed / Math.max(1, bytes));
      if (isTerminal) write(`\r\x1b[K${key.slice(0, 12)} ${percent}%`);
    },
    signal: relay.signal,
  });
  for await (const layer of found) {
    if (isTerminal) write("\r\x1b[K");
    layers.push(layer);
    if (!options.json) print(false, layer, toVerdict(layer));
  }
  if (options.json) print(true, layers, []);
  const isGood = ({ faults, isSkipped }: Verified) =>
    faults.length === 0 && !(isSkipped && operands.length > 0);
  return layers.every(isGood) ? 0 : 1;
}

function toVerdict({ key, path, archive, entries, faults, isSkipped }: Verified): string[] {
  if (isSkipped) {
    return [
      `SKIP ${key.slice(0, 12)} ${path} (${archive}): unpacked for other ids`,
      "     remedy: verify it as who unpacked it did: as that user, or with --userns off",
    ];
  }
  const state = faults.length === 0
    ? `${entries} entries are whole`
    : `${faults.length} ${faults.length === 1 ? "fault" : "faults"}`;
  return [
    `${faults.length === 0 ? "PASS" : "FAIL"} ${key.slice(0, 12)} ${path} (${archive}): ${state}`,
    ...faults.map((fault) => `     ${JSON.stringify(fault.path)}: ${fault.state}`),
    ...(faults.length === 0 ? [] : [
      `     remedy: minisandbox layer remove ${key.slice(0, 12)}, then import its archive again`,
    ]),
  ];
}

async function gc({ options }: VerbLine<typeof GC_OPTIONS>): Promise<void> {
  const { "max-size": size, "older-than": age, "dry-run": isDryRun } = options;
  const wish = {
    maxBytes: size === undefined ? null : parseSize(size),
    olderThanMs: age === undefined ? null : parseDuration("older-than", age),
    isDryRun,
  };
  using node = new Node(options.store);
  const report = await cleanStore(node, wish);
  const rows = report.removed.map(({ kind, name, bytes, lastUsed }) => [
    kind,
    kind === "layer" ? name.slice(0, 12) : name.slice(0, 48),
    bytesOf(bytes),
    lastUsed?.slice(0, 10) ?? "-",
  ]);
  const verb = isDryRun ? "would free" : "freed";
  print(options.json, report, [
    ...toTable(["KIND", "NAME", "SIZE", "LAST USE"], rows),
    `${verb} ${bytesOf(report.freedBytes)}; the layers that stay take ${bytesOf(report.keptBytes)}`,
  ]);
}

function usage({ options }: VerbLine<typeof STORE_OPTIONS>): void {
  using node = new Node(options.store);
  const found = storeUsage(node);
  print(options.json, found, toUsageFacts(found));
}

function toUsageFacts(found: Usage): string[] {
  const amount = ({ count, bytes }: Usage["layers"]) => `${count}, ${bytesOf(bytes)}`;
  return toFacts([
    ["store", found.dir],
    ["layers", amount(found.layers)],
    ["  in use", amount(found.inUse)],
    ["  unused", amount(found.unused)],
    ["bases", String(found.bases)],
    ["environments", String(found.environments)],
    ["snapshots", String(found.snapshots)],
    ["trees", amount(found.trees)],
    ["running", String(found.running)],
    ["free", bytesOf(found.freeBytes)],
  ]);
}

function bytesOf(bytes: number): string {
  return formatBytes(bytes, { binary: true });
}
