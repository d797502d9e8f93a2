/** The options that limit a sandbox. */
import type { LimitsSpec } from "../app/spec.ts";
import { UsageError } from "../errors.ts";
import type { OptionValues } from "./option.ts";
import { parseSize } from "./size.ts";

/** What `run` takes. */
export const LIMIT_OPTIONS = {
  memory: { kind: "value", alias: "m" },
  swap: { kind: "value" },
  cpus: { kind: "value" },
  "cpu-weight": { kind: "value" },
  pids: { kind: "value" },
  disk: { kind: "value" },
  inodes: { kind: "value" },
  nofile: { kind: "value" },
  fsize: { kind: "value" },
  "tmp-size": { kind: "value" },
  "shm-size": { kind: "value" },
  "cpu-time": { kind: "value" },
  output: { kind: "value" },
} as const;

type LimitValues = OptionValues<typeof LIMIT_OPTIONS>;

/** How each option is read, and which field it stands for. */
const FIELDS: Readonly<
  Record<keyof LimitValues, readonly [keyof LimitsSpec, (text: string, name: string) => number]>
> = {
  memory: ["memoryBytes", parseSize],
  swap: ["swapBytes", parseSizeOrNothing],
  cpus: ["cpus", parseNumber],
  "cpu-weight": ["cpuWeight", parseWhole],
  pids: ["pids", parseWhole],
  disk: ["diskBytes", parseSize],
  inodes: ["inodes", parseWhole],
  nofile: ["openFiles", parseWhole],
  fsize: ["fileBytes", parseSizeOrNothing],
  "tmp-size": ["tmpBytes", parseSize],
  "shm-size": ["shmBytes", parseSize],
  "cpu-time": ["cpuTimeMs", (text, name) => parseNumber(text, name) * 1000],
  output: ["outputBytes", parseSizeOrNothing],
};

/**
 * Gives the limits with what options say in their place; `none` takes a limit away.
 *
 * @throws {UsageError} If one cannot be read.
 */
export function applyLimits(limits: LimitsSpec, options: LimitValues): LimitsSpec {
  const said = Object.entries(FIELDS).flatMap(([name, [field, parse]]) => {
    const text = options[name as keyof LimitValues];
    if (text === undefined) return [];
    return [[field, text === "none" ? null : parse(text, name)] as const];
  });
  return { ...limits, ...Object.fromEntries(said) };
}

function parseSizeOrNothing(text: string): number {
  return text === "0" ? 0 : parseSize(text);
}

function parseWhole(text: string, name: string): number {
  const number = parseNumber(text, name);
  if (Number.isInteger(number)) return number;
  throw refuse(text, name, "no whole number");
}

function parseNumber(text: string, name: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw refuse(text, name, "no number");
}

function refuse(text: string, name: string, state: string): UsageError {
  return new UsageError(`Cannot read --${name} ${JSON.stringify(text)}: ${state}`, {
    remedy: "Give a number, or none for no limit.",
  });
}
