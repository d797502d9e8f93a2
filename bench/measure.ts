/** Measures commands in turns, so that a machine that slows down slows all of them down. */
import type { Spread } from "../src/app/bench/spread.ts";
import { toSpread } from "../src/app/bench/spread.ts";
import type { Context } from "./context.ts";
import type { CommandLine, Peer } from "./peer.ts";

/** A peer that can be measured here. */
export interface Ready {
  readonly peer: Peer;
  readonly commandLine: CommandLine;
}

/** A peer that cannot. */
export interface Skipped {
  readonly peer: Peer;
  readonly reason: string;
}

/** Prepares peers, and finds those that cannot be used here. */
export async function preparePeers(
  peers: readonly Peer[],
  context: Context,
): Promise<{ readonly ready: readonly Ready[]; readonly skipped: readonly Skipped[] }> {
  const ready: Ready[] = [];
  const skipped: Skipped[] = [];
  for (const peer of peers) {
    try {
      const commandLine = await peer.prepare(context);
      runOnce(commandLine(["true"]), "");
      ready.push({ peer, commandLine });
    } catch (error) {
      skipped.push({ peer, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { ready, skipped };
}

/** Times whole processes, from start to exit, in milliseconds by name. */
export function measureProcesses(ready: readonly Ready[], runs: number): Map<string, Spread> {
  const times = new Map(ready.map(({ peer }) => [peer.name, [] as number[]]));
  for (let i = 0; i < runs; i++) {
    for (const { peer, commandLine } of rotate(ready, i)) {
      times.get(peer.name)!.push(runOnce(commandLine(["true"]), ""));
    }
  }
  return new Map([...times].map(([name, ms]) => [name, toSpread(ms)]));
}

/** The command whose first output is waited for. */
const GREETING = ["bash", "-c", "echo hi"];

/** Times processes from start to first output. */
export async function measureFirstOutputs(
  ready: readonly Ready[],
  runs: number,
): Promise<Map<string, number[]>> {
  const times = new Map(ready.map(({ peer }) => [peer.name, [] as number[]]));
  for (let i = 0; i < runs; i++) {
    for (const { peer, commandLine } of rotate(ready, i)) {
      times.get(peer.name)!.push(await readOnce(commandLine(GREETING)));
    }
  }
  return times;
}

/** Each goes first in its turn: none always follows the same one. */
function rotate<T>(list: readonly T[], by: number): T[] {
  const cut = by % list.length;
  return [...list.slice(cut), ...list.slice(0, cut)];
}

function runOnce(argv: readonly string[], expected: string): number {
  const [program = "", ...args] = argv;
  const begin = performance.now();
  const { code, stdout, stderr } = new Deno.Command(program, { args, stdin: "null" }).outputSync();
  const ms = performance.now() - begin;
  const text = new TextDecoder().decode(stdout);
  if (code === 0 && text === expected) return ms;
  const said = new TextDecoder().decode(stderr).trim().split("\n").at(-1) ?? "";
  throw new Error(`exit code ${code}: ${said || JSON.stringify(text)}`);
}

async function readOnce(argv: readonly string[]): Promise<number> {
  const [program = "", ...args] = argv;
  const begin = performance.now();
  const child = new Deno.Command(program, { args, stdin: "null", stdout: "piped" }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const ms = performance.now() - begin;
  const text = new TextDecoder().decode(value);
  await reader.cancel();
  await child.status;
  if (text === "hi\n") return ms;
  throw new Error(`Cannot measure ${program}: it printed ${JSON.stringify(text)}, not "hi\\n"`);
}
