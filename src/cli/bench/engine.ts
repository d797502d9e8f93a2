/** `minisandbox bench engine`: the phases of a sandbox in a live engine. */
import { benchStart, type StartReport } from "../../app/bench/engine.ts";
import { Node } from "../../app/node.ts";
import { DEFAULT_WISH, settleSpec, type SpecWish } from "../../app/settle.ts";
import { DEFAULT_SPEC } from "../../app/spec.ts";
import { UsageError } from "../../errors.ts";
import { parseLayerArguments } from "../layer_argument.ts";
import { parseOptions } from "../option.ts";
import { parseNumber } from "./whole_number.ts";
import { parsePlace } from "../place.ts";
import { onStderr, Progress } from "../progress.ts";
import { Relay } from "../relay.ts";

/** What `bench engine --help` prints. */
export const ENGINE_HELP = `Usage: minisandbox bench engine [OPTION]... [-- COMMAND [ARGUMENT]...]

Makes sandboxes in one live engine, each with a program of its own, and measures the phases up to
its first output in milliseconds. The output is checked. The first ten sandboxes do not count.

Without --at-once the user and network namespaces of the next sandbox are made between two, as an
idle engine does it, and are the row "refill"; with it they belong to each sandbox's time.

Options:
  -l, --layer ARCHIVE:PATH   show an archive in each sandbox; may be repeated
  -b, --base host|DIR|NAME   what lies below, DIR with a slash in it [host]
      --upper disk|tmpfs     where what is written is kept [disk]
      --count N              so many sandboxes [200]
      --at-once N            so many alive at the same time [1]
      --store DIR            the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root,
                             else $XDG_DATA_HOME/minisandbox]
      --json                 print JSON
      --help                 print this

COMMAND is bash -c 'echo hi' if not given; another must print something.

Examples:
  minisandbox bench engine -l venv.tar.gz:/opt/venv --count 256 --at-once 64
  minisandbox bench engine --json -- python3 -c 'print(1)'`;

/** Measures the phases of one engine, without any peer. */
export async function engineMain(argv: readonly string[]): Promise<number> {
  const { options, operands, rest } = parseOptions({
    layer: { kind: "list", alias: "l" },
    base: { kind: "value", alias: "b" },
    upper: { kind: "value" },
    count: { kind: "value" },
    "at-once": { kind: "value" },
    store: { kind: "value" },
    json: { kind: "flag" },
  }, argv);
  if (operands.length > 0) {
    throw new UsageError(`Cannot read the command line: "${operands[0]}" stands before --`, {
      remedy: "Give the command after --.",
    });
  }
  const { base = "host", upper = "disk" } = options;
  if (upper !== "disk" && upper !== "tmpfs") {
    throw new UsageError(`Cannot read --upper ${JSON.stringify(upper)}: no such place`, {
      remedy: "Give disk or tmpfs.",
    });
  }
  const hasCommand = rest !== null && rest.length > 0;
  const wish: SpecWish = {
    ...DEFAULT_WISH,
    base: parsePlace(base),
    layers: parseLayerArguments(options.layer),
    upper: upper === "disk" ? DEFAULT_SPEC.upper : { kind: upper, sizeBytes: null },
    command: hasCommand ? rest : ["bash", "-c", "echo hi"],
  };
  using relay = new Relay(false);
  using progress = new Progress(onStderr());
  using node = new Node(options.store);
  const report = await benchStart(node, {
    spec: settleSpec(node.store, wish),
    count: parseNumber("count", options.count ?? "200"),
    atOnce: parseNumber("at-once", options["at-once"] ?? "1"),
    expected: hasCommand ? null : "hi\n",
  }, {
    signal: relay.signal,
    onLayer: progress.show,
    onNote: progress.note,
  });
  const facts = { case: "engine", user: node.host.identity.kind, kernel: Deno.osRelease(), upper };
  console.log(
    options.json ? JSON.stringify({ ...facts, ...report }, null, 2) : formatReport(report),
  );
  return 0;
}

/** Shows a report as a table. */
export function formatReport({ count, atOnce, once, rows, totalMs }: StartReport): string {
  const number = (ms: number) => ms.toFixed(3).padStart(10);
  const line = (name: string, ...cells: string[]) =>
    name.padEnd(24) + cells.map((cell) => cell.padStart(10)).join("");
  const each = Object.entries(rows).map(([name, { median, p95, min, max }]) =>
    line(name, ...[median, p95, min, max].map(number))
  );
  const before = Object.entries(once).map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(", ");
  return [
    `once, before the first: ${before} ms`,
    line("ms a sandbox", "median", "p95", "min", "max"),
    ...each,
    `${count} sandboxes, ${atOnce} at once: ${totalMs.toFixed(0)} ms, ` +
    `${(totalMs / count).toFixed(2)} ms each`,
  ].join("\n");
}
