/** The closing table of the demo. */
import type { Check } from "./context.ts";
import type { CrowdResult, Spread } from "./crowd.ts";
import type { HostResult } from "./host.ts";
import type { PeerResult } from "./peer.ts";
import type { SingleResult } from "./single.ts";

/** All results of a demo, as `--json` prints them. */
export interface Results {
  readonly python: string;
  readonly user: "root" | "ordinary";
  readonly downloadMs: number;
  readonly buildMs: number;
  readonly totalMs: number;
  readonly tasks: readonly SingleResult[];
  readonly crowd: CrowdResult;
  readonly peer: PeerResult;
  readonly host: HostResult;
  readonly checks: readonly Check[];
}

/** Renders the results as text. */
export function toReport(results: Results): string {
  const { tasks, crowd, peer, host, checks } = results;
  const wrong = checks.filter(({ isRight }) => !isRight);
  return [
    ...toTable([
      ["one sandbox", "unpack", "prepare", "first output", "in all", "tests passed"],
      ...tasks.flatMap(toTaskRows),
    ]),
    "",
    ...toTable([
      [`${crowd.count} sandboxes at once`, "median", "max"],
      ["unpack", ...toCells(crowd.unpackMs)],
      ["prepare", ...toCells(crowd.prepareMs)],
      ["first output", ...toCells(crowd.firstOutputMs)],
      [
        "disk per sandbox",
        toSize(crowd.diskBytesEach),
        `beside ${toSize(crowd.storeBytes)} shared`,
      ],
      ["all fixed and tested", toTime(crowd.totalMs), ""],
    ]),
    "",
    ...toTable([
      ["the same command", "minisandbox", "bwrap"],
      ["nothing (true)", ...toPeerCells(peer, "nothing")],
      ["git status, import", ...toPeerCells(peer, "look")],
      [
        "unpack both layers",
        toTime(tasks[0]?.cold.unpackMs ?? 0),
        `${toTime(peer.tarMs)} (GNU tar)`,
      ],
    ]),
    ...(peer.skipped === null ? [] : [`bwrap: ${peer.skipped}, skipped`]),
    "",
    toHostLine(host),
    ...wrong.map(({ claim, seen }) => `WRONG: ${claim}${seen === "" ? "" : `: ${seen}`}`),
    `${checks.length - wrong.length} of ${checks.length} claims hold; ` +
    `${toTime(results.totalMs)} in all, ${toTime(results.downloadMs)} of it downloads`,
  ].join("\n");
}

/** Renders a duration with three digits or so. */
export function toTime(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

/** Renders a number of bytes. */
export function toSize(bytes: number): string {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(0)} kB`;
}

/** Aligns cells: the first of a row to the left, the others to the right. */
export function toTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, i) => i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join("   ")
  );
  const [head = "", ...body] = lines;
  return [head, "-".repeat(head.length), ...body.map((line) => line.trimEnd())];
}

function toTaskRows({ task, cold, warm, passedBefore, passedAfter }: SingleResult): string[][] {
  const toRow = (name: string, run: SingleResult["cold"], passed: string): string[] => [
    name,
    ...[run.unpackMs, run.prepareMs, run.firstOutputMs, run.totalMs].map(toTime),
    passed,
  ];
  return [
    toRow(`${task}, cold`, cold, `before the fix ${passedBefore}`),
    toRow(`${task}, warm`, warm, `after the fix ${passedAfter}`),
  ];
}

function toCells({ median, max }: Spread): string[] {
  return [toTime(median), toTime(max)];
}

function toPeerCells({ ours, peer, skipped }: PeerResult, command: "nothing" | "look"): string[] {
  return [toTime(ours[command].median), skipped === null ? toTime(peer[command].median) : "-"];
}

function toHostLine(host: HostResult): string {
  const { isUnchanged, fileCount, layerCount, mountsBefore, mountsAfter, orphanCount } = host;
  return `host ${isUnchanged ? "unchanged" : "CHANGED"}: ${fileCount} files and ${layerCount} ` +
    `layers compared; mounts ${mountsBefore} before, ${mountsAfter} after; ` +
    `${orphanCount} processes left`;
}
