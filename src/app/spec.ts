/** What a caller asks for: a sandbox, and the command in it. */
import { UsageError } from "../errors.ts";
import {
  DEFAULT_LIMITS,
  type Hardening,
  type Limits,
  type Network,
  USUAL_HARDENING,
} from "../sandbox/mod.ts";

export { CAPABILITIES, type Capability, type Hardening } from "../sandbox/mod.ts";

/** A sandbox as it is asked for; the same whether by options or as JSON. */
export interface SandboxSpec {
  /** `host`, the directory of a root file system, or the name of an imported one. */
  readonly base: string;
  /** Archives, and where each is shown. */
  readonly layers: readonly LayerSpec[];
  /** Snapshots that lie on top of all layers, the last one topmost. */
  readonly from: readonly string[];
  /** Paths of the host that are shown as they are. */
  readonly binds: readonly BindSpec[];
  /** Variables beside, or in place of, the fixed ones. */
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly network: Network;
  /** A name or an id. */
  readonly user: string | number;
  readonly hostname: string;
  /** Null for no limit. */
  readonly timeoutMs: number | null;
  readonly upper: UpperSpec;
  readonly limits: LimitsSpec;
  readonly hardening: Hardening;
  /** What is executed; empty where a sandbox is made without a command. */
  readonly command: readonly string[];
}

/** An archive by its path, by its SHA-256 where it is in the store, or by both. */
export interface LayerSpec {
  readonly archive?: string;
  readonly sha256?: string;
  readonly path: string;
}

/** A path of the host that is shown as it is. */
export interface BindSpec {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
}

/** Where what the sandbox writes is kept; `dir` is made if it is not there. */
export type UpperSpec =
  | { readonly kind: "disk"; readonly dir: string | null }
  | { readonly kind: "tmpfs"; readonly sizeBytes: number | null };

/** What a sandbox may use; null for no limit. */
export interface LimitsSpec extends Limits {
  /** What it may write, in bytes: an upper in memory only. */
  readonly diskBytes: number | null;
  /** How many files and directories it may make: an upper in memory only. */
  readonly inodes: number | null;
  /** What the command may print, on stdout and stderr together, in bytes. */
  readonly outputBytes: number | null;
}

/** What is not said. */
export const DEFAULT_SPEC: SandboxSpec = {
  base: "host",
  layers: [],
  from: [],
  binds: [],
  env: {},
  workdir: "/",
  network: "none",
  user: "root",
  hostname: "sandbox",
  timeoutMs: null,
  upper: { kind: "disk", dir: null },
  limits: { ...DEFAULT_LIMITS, diskBytes: null, inodes: null, outputBytes: 2 ** 30 },
  hardening: USUAL_HARDENING,
  command: [],
};

/** The longest hostname (sethostname(2)). */
const HOSTNAME_MAX = 64;

/** A longer time-out is none: setTimeout cannot hold it. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

/**
 * Refuses what no sandbox can be made from, whoever asked.
 *
 * @throws {UsageError} That names the first fault.
 */
export function checkSpec(spec: SandboxSpec): void {
  const { base, binds, env, workdir, user, hostname, timeoutMs, command } = spec;
  checkLimits(spec);
  if (base.includes("/")) checkPath("base", base);
  checkPath("workdir", workdir);
  for (const { source, target } of binds) {
    checkPath("bind source", source);
    checkPath("bind target", target);
    if (/^\/*$/.test(target)) throw refuse("bind target", target, "it is the root");
    if (target.split("/").includes("..")) throw refuse("bind target", target, 'it holds ".."');
  }
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name)) throw refuse("variable", name, "no such name can be set");
    if (value.includes("\0")) throw refuse("variable", name, "its value holds a NUL byte");
  }
  if (!/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(hostname)) {
    throw refuse("hostname", hostname, "only letters, digits, dots and hyphens are allowed");
  }
  if (hostname.length > HOSTNAME_MAX) {
    throw refuse("hostname", hostname, `it is longer than ${HOSTNAME_MAX} bytes`);
  }
  if (typeof user === "number" && (!Number.isInteger(user) || user < 0 || user > 0xffff_fffe)) {
    throw refuse("user", String(user), "it is no id");
  }
  if (timeoutMs !== null && !(timeoutMs > 0 && timeoutMs <= TIMEOUT_MAX_MS)) {
    throw refuse("timeout", `${timeoutMs} ms`, "it must be more than 0 and at most 24 days");
  }
  if (command.some((word) => word.includes("\0"))) {
    throw refuse("command", command[0] ?? "", "it holds a NUL byte");
  }
  if (command[0] === "") throw refuse("command", "", "it is empty");
}

function checkLimits({ limits, upper }: SandboxSpec): void {
  for (const [name, value] of Object.entries(limits)) {
    const isRight = value === null ||
      (value >= LEAST[name as keyof LimitsSpec] && value <= 2 ** 52);
    if (!isRight) throw refuse("limit", `${name} ${value}`, "it is out of range");
  }
  const { cpuWeight, diskBytes, inodes, memoryBytes, swapBytes } = limits;
  if (cpuWeight !== null && cpuWeight > 10_000) {
    throw refuse("limit", `cpuWeight ${cpuWeight}`, "it is more than 10000");
  }
  if (swapBytes !== null && memoryBytes === null) {
    throw refuse("limit", `swapBytes ${swapBytes}`, "it needs a limit of memory beside it");
  }
  if (upper.kind === "disk" && (diskBytes !== null || inodes !== null)) {
    throw new UsageError("Cannot limit what is written on disk: the kernel has no such limit", {
      remedy: "Keep it in memory: give --upper tmpfs with --disk or --inodes.",
    });
  }
}

/** The least that each limit may be: less, and nothing could be started. */
const LEAST: Readonly<Record<keyof LimitsSpec, number>> = {
  memoryBytes: 1 << 20,
  swapBytes: 0,
  cpus: 0.01,
  cpuWeight: 1,
  pids: 1,
  openFiles: 8,
  fileBytes: 0,
  cpuTimeMs: 1,
  tmpBytes: 4096,
  shmBytes: 4096,
  diskBytes: 65536,
  inodes: 64,
  outputBytes: 0,
};

function checkPath(what: string, path: string): void {
  if (!path.startsWith("/")) throw refuse(what, path, "it is not absolute");
  if (path.includes("\0")) throw refuse(what, path, "it holds a NUL byte");
}

function refuse(what: string, value: string, state: string): UsageError {
  return new UsageError(`Cannot use the ${what} ${JSON.stringify(value)}: ${state}`);
}
