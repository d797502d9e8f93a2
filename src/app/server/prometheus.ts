/** Metrics as Prometheus reads them (text format 0.0.4). */
import type { HistogramState } from "./histogram.ts";
import type { MetricsState } from "./metrics.ts";

/** A label's value by its name. */
type Labels = Readonly<Record<string, string>>;

/** Gives metrics as text. */
export function toPrometheus(state: MetricsState): string {
  const { sandboxes, commands, startMs, budget, process, pressure } = state;
  const now = { live: sandboxes.live, starting: sandboxes.starting, queued: sandboxes.queued };
  return [
    ...family("sandboxes", "gauge", "Sandboxes by state.", byLabel("state", now)),
    ...family("sandboxes_ready", "gauge", "Sandboxes for which all was made in advance.", [
      [{}, sandboxes.ready],
    ]),
    ...family("sandboxes_max", "gauge", "Sandboxes that may be.", [[{}, sandboxes.max]]),
    ...family("sandboxes_started_total", "counter", "Sandboxes made.", [[{}, sandboxes.started]]),
    ...family(
      "sandboxes_failed_total",
      "counter",
      "Sandboxes that could not be made, by kind of error.",
      byLabel("kind", sandboxes.failed),
    ),
    ...family(
      "sandboxes_ended_total",
      "counter",
      "Sandboxes that have ended, by reason.",
      byLabel("reason", sandboxes.ended),
    ),
    ...family(
      "commands_total",
      "counter",
      "Commands that have ended, by outcome.",
      byLabel("outcome", commands),
    ),
    ...histograms("start_seconds", "How long sandboxes took to be made, by phase.", startMs),
    ...family("unpack_budget_waiting", "gauge", "Archives that wait to be unpacked.", [
      [{}, budget.waiting],
    ]),
    ...family("resident_bytes", "gauge", "Resident memory of the server.", [
      [{}, process.residentBytes],
    ]),
    ...family("open_files", "gauge", "Descriptors of the server.", [[{}, process.openFiles]]),
    ...family("threads", "gauge", "Threads of the server.", [[{}, process.threads]]),
    ...family(
      "pressure_ratio",
      "gauge",
      "Share of the last 10 s in which some task of the machine waited.",
      Object.entries(pressure).flatMap(([resource, percent]) =>
        percent === null ? [] : [[{ resource }, percent / 100] as const]
      ),
    ),
    "",
  ].join("\n");
}

function family(
  name: string,
  type: "gauge" | "counter",
  help: string,
  samples: readonly (readonly [Labels, number])[],
): string[] {
  const full = `minisandbox_${name}`;
  return [
    `# HELP ${full} ${help}`,
    `# TYPE ${full} ${type}`,
    ...samples.map(([labels, value]) => `${full}${toLabels(labels)} ${value}`),
  ];
}

function histograms(
  name: string,
  help: string,
  all: Readonly<Record<string, HistogramState>>,
): string[] {
  const full = `minisandbox_${name}`;
  const lines = Object.entries(all).flatMap(([phase, { atMost, boundsMs, count, sumMs }]) => [
    ...boundsMs.map((bound, i) =>
      `${full}_bucket${toLabels({ phase, le: String(bound / 1000) })} ${atMost[i]}`
    ),
    `${full}_bucket${toLabels({ phase, le: "+Inf" })} ${count}`,
    `${full}_sum${toLabels({ phase })} ${sumMs / 1000}`,
    `${full}_count${toLabels({ phase })} ${count}`,
  ]);
  return [`# HELP ${full} ${help}`, `# TYPE ${full} histogram`, ...lines];
}

function byLabel(label: string, counts: Readonly<Record<string, number>>): [Labels, number][] {
  return Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]);
}

function toLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
