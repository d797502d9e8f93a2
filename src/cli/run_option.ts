/** The options of `run`, turned into a spec. */
import { resolve } from "@std/path/resolve";
import type { ArchivePolicy } from "../app/layer.ts";
import { DEFAULT_WISH, type SpecWish } from "../app/settle.ts";
import type { SandboxSpec, UpperSpec } from "../app/spec.ts";
import { messageOf, NotFoundError, UsageError } from "../errors.ts";
import { ARCHIVE_OPTIONS, parseArchivePolicy } from "./archive_option.ts";
import { type BudgetMode, parseBudget } from "./budget_option.ts";
import { applyHardening, HARDEN_OPTIONS } from "./harden_option.ts";
import { applyLimits, LIMIT_OPTIONS } from "./limit_option.ts";
import { parseLayerArguments } from "./layer_argument.ts";
import { type OptionValues, parseOptions } from "./option.ts";
import { parsePlace } from "./place.ts";
import { parseSize } from "./size.ts";
import { parseUserns } from "./userns_option.ts";
import { toVariables } from "./variable.ts";

/** What `run` takes. */
const RUN_OPTIONS = {
  layer: { kind: "list", alias: "l" },
  environment: { kind: "value" },
  from: { kind: "list" },
  base: { kind: "value", alias: "b" },
  workdir: { kind: "value", alias: "w" },
  env: { kind: "list", alias: "e" },
  bind: { kind: "list" },
  network: { kind: "value" },
  user: { kind: "value", alias: "u" },
  timeout: { kind: "value" },
  upper: { kind: "value" },
  "upper-dir": { kind: "value" },
  hostname: { kind: "value" },
  userns: { kind: "value" },
  tty: { kind: "flag", alias: "t" },
  interactive: { kind: "flag", alias: "i" },
  ...LIMIT_OPTIONS,
  ...HARDEN_OPTIONS,
  keep: { kind: "value" },
  spec: { kind: "value" },
  outcome: { kind: "value" },
  plan: { kind: "flag" },
  store: { kind: "value" },
  "io-budget": { kind: "value" },
  ...ARCHIVE_OPTIONS,
  quiet: { kind: "flag" },
} as const;

type RunOptionValues = OptionValues<typeof RUN_OPTIONS>;

/** A command line of `run`. */
export interface RunLine {
  readonly wish: SpecWish;
  /** Where to keep what was written: a name, or a directory. */
  readonly keep: string | null;
  readonly isTerminal: boolean;
  readonly isInteractive: boolean;
  readonly isPlan: boolean;
  readonly isQuiet: boolean;
  readonly store: string | undefined;
  readonly usesUserNamespace: boolean;
  readonly ioBudget: BudgetMode;
  readonly archives: ArchivePolicy;
}

/** Where the outcome goes, also when the rest of the line cannot be read. */
export function findOutcomeFile(argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const args = end < 0 ? argv : argv.slice(0, end);
  const at = args.findLastIndex((arg) => arg === "--outcome" || arg.startsWith("--outcome="));
  if (at < 0) return undefined;
  return args[at] === "--outcome" ? args[at + 1] : args[at]!.slice("--outcome=".length);
}

/**
 * Reads a command line: options stand for, or are added to, what a spec file says.
 *
 * @throws {UsageError} If it cannot be read.
 */
export async function parseRunLine(argv: readonly string[]): Promise<RunLine> {
  const { options, operands, rest } = parseOptions(RUN_OPTIONS, argv);
  if (operands.length > 0) {
    throw new UsageError(
      `Cannot read the command line: ${JSON.stringify(operands[0])} stands before --`,
      { remedy: "Give the command after --, such as: minisandbox run -- ls -l." },
    );
  }
  const file = options.spec === undefined ? DEFAULT_WISH : await readSpec(options.spec);
  return {
    wish: applyOptions(file, options, rest ?? []),
    keep: options.keep === undefined ? null : parsePlace(options.keep),
    isTerminal: options.tty,
    isInteractive: options.interactive,
    isPlan: options.plan,
    isQuiet: options.quiet,
    store: options.store,
    usesUserNamespace: parseUserns(options.userns),
    ioBudget: parseBudget(options["io-budget"]),
    archives: parseArchivePolicy(options),
  };
}

function applyOptions(
  spec: SpecWish,
  options: RunOptionValues,
  command: readonly string[],
): SpecWish {
  const { base = spec.base, workdir = spec.workdir, hostname = spec.hostname } = options;
  return {
    environment: options.environment ?? spec.environment,
    base: base === null ? null : parsePlace(base),
    layers: [...spec.layers, ...parseLayerArguments(options.layer)],
    from: [...spec.from, ...options.from.map(parsePlace)],
    binds: [...spec.binds, ...options.bind.map(parseBind)],
    env: { ...spec.env, ...toVariables(options.env) },
    workdir,
    network: parseNetwork(options.network) ?? spec.network,
    user: options.user ?? spec.user,
    hostname,
    timeoutMs: parseSeconds(options.timeout) ?? spec.timeoutMs,
    upper: parseUpper(spec.upper, options),
    limits: applyLimits(spec.limits, options),
    hardening: applyHardening(spec.hardening, options),
    command: command.length > 0 ? command : spec.command,
  };
}

/** `SRC:DST[:ro|rw]`. */
function parseBind(text: string): SandboxSpec["binds"][number] {
  const match = /^([^:]+):([^:]+)(?::(ro|rw))?$/.exec(text);
  if (match === null) {
    throw new UsageError(`Cannot read --bind ${JSON.stringify(text)}: it is no SRC:DST[:ro|rw]`, {
      remedy: "Give paths that hold a colon by --spec FILE.",
    });
  }
  const [, source = "", target = "", mode] = match;
  return { source: resolve(source), target, writable: mode === "rw" };
}

function parseNetwork(text: string | undefined): SandboxSpec["network"] | undefined {
  if (text === undefined || text === "none" || text === "blackhole" || text === "host") {
    return text;
  }
  throw new UsageError(`Cannot read --network ${JSON.stringify(text)}: no such network`, {
    remedy: "Give none, blackhole or host.",
  });
}

function parseSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(text)) {
    throw new UsageError(`Cannot read --timeout ${JSON.stringify(text)}: no number of seconds`, {
      remedy: "Give it as 60 or 0.5.",
    });
  }
  return Number(text) * 1000;
}

/** `disk`, `tmpfs` or `tmpfs:SIZE`. */
function parseUpper(spec: UpperSpec, options: RunOptionValues): UpperSpec {
  const { upper, "upper-dir": dir } = options;
  const [kind, size, ...more] = upper?.split(":") ?? [];
  if (dir !== undefined && kind === "tmpfs") {
    throw new UsageError("Cannot use --upper-dir with --upper tmpfs: memory has no directory", {
      remedy: "Give one of them.",
    });
  }
  if (dir !== undefined) return { kind: "disk", dir: resolve(dir) };
  if (upper === undefined) return spec;
  if (kind === "disk" && size === undefined) return { kind: "disk", dir: null };
  if (kind === "tmpfs" && more.length === 0) {
    return { kind: "tmpfs", sizeBytes: size === undefined ? null : parseSize(size) };
  }
  throw new UsageError(`Cannot read --upper ${JSON.stringify(upper)}: no such place`, {
    remedy: "Give disk, tmpfs or tmpfs:SIZE.",
  });
}

async function readSpec(path: string): Promise<SpecWish> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new NotFoundError(`Cannot read the spec ${JSON.stringify(path)}: no such file`);
    }
    throw new UsageError(`Cannot read the spec ${JSON.stringify(path)}: ${messageOf(error)}`);
  }
  const { parseSpec } = await import("../app/spec_json.ts");
  return parseSpec(text, path);
}
