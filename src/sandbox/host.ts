/** What this host is and can do, as far as plans depend on it. */
import { CAP, getrlimit, reserveDescriptors, RLIMIT, setrlimit } from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";
import { chooseIdentity, type Identity, type IdentityFacts, NO_IDENTITY } from "./identity.ts";
import { type Quotas, readQuotas } from "./quota.ts";
import type { HiddenPath } from "./hull_plan.ts";

/** The facts about this host that plans are made from. */
export interface Host {
  readonly uid: number;
  readonly gid: number;
  readonly identity: Identity;
  /** Whether we may mount outside of the holder: root may, where no container keeps him from it. */
  readonly mountsOutside: boolean;
  readonly lastCapability: number;
  readonly hidden: readonly HiddenPath[];
  readonly coreLimit: 0 | 1;
  /** How likely we are ended when the host runs out of memory: -1000 to 1000 (proc(5)). */
  readonly oomScore: number;
  /** Signals that this process ignores, as its parent may have left them to it. */
  readonly ignoredSignals: readonly number[];
  /** The limits of open files that we were started with: programs get them back. */
  readonly openFiles: { readonly soft: number; readonly hard: number };
  /** What the kernel lets this user have at once. */
  readonly quotas: Quotas;
}

/** Entries of /proc that tell of, or act on, the whole host. */
const HIDDEN = [
  ...["acpi", "asound", "bus", "fs", "irq", "scsi"],
  ...["kcore", "keys", "key-users", "kmsg", "kpagecount", "kpageflags", "kpagecgroup"],
  ...["latency_stats", "mtrr", "sched_debug", "sysrq-trigger", "timer_list", "timer_stats"],
];

/** What the caller decides about the host. */
export interface HostWish {
  /** Whether sandboxes are to have user namespaces; only root can do without. */
  readonly usesUserNamespace: boolean;
}

const USUAL_WISH: HostWish = { usesUserNamespace: true };

/**
 * Reads the facts.
 *
 * @throws {HostError} If /proc is not there, or a user asks to go without user namespaces.
 */
export function probeHost({ usesUserNamespace }: HostWish = USUAL_WISH): Host {
  const facts = readIdentityFacts();
  const status = readProc("self/status");
  const identity = usesUserNamespace ? chooseIdentity(facts) : withoutUserNamespace(facts, status);
  return {
    uid: facts.uid,
    gid: facts.gid,
    identity,
    mountsOutside: (identity.kind === "root" || identity.kind === "none") &&
      hasCapability(status, CAP.CAP_SYS_ADMIN),
    lastCapability: Number(readProc("sys/kernel/cap_last_cap", "40")),
    hidden: HIDDEN.flatMap((name) => {
      const info = stat(`/proc/${name}`);
      return info === null ? [] : [{ name, isDirectory: info.isDirectory }];
    }),
    coreLimit: readProc("sys/kernel/core_pattern", "|").startsWith("|") ? 1 : 0,
    oomScore: Number(readProc("self/oom_score_adj", "0")),
    ignoredSignals: parseIgnoredSignals(status),
    openFiles: openFileLimits(),
    quotas: readQuotas(),
  };
}

/** To make namespaces, to bring loopback up, and to keep programs from tracing init. */
const NEEDED_OF_ROOT = ["CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_PTRACE"] as const;

function withoutUserNamespace({ uid }: IdentityFacts, status: string): Identity {
  if (uid !== 0) {
    throw new HostError(`Cannot go without user namespaces: user ${uid} is not root`, {
      remedy: "Leave --userns away, or start minisandbox as root.",
    });
  }
  const missing = NEEDED_OF_ROOT.filter((name) => !hasCapability(status, CAP[name]));
  if (missing.length === 0) return NO_IDENTITY;
  const options = missing.map((name) => `--cap-add ${name.slice("CAP_".length)}`).join(" ");
  throw new HostError(`Cannot go without user namespaces: root lacks ${missing.join(", ")}`, {
    remedy: `Leave --userns away, or give them, in Docker by: docker run ${options} ….`,
  });
}

/**
 * Reads what the identity depends on.
 *
 * @throws {HostError} If /proc is not there.
 */
export function readIdentityFacts(): IdentityFacts {
  const uid = Deno.uid()!;
  return {
    uid,
    gid: Deno.gid()!,
    userName: findUserName(uid),
    subuid: readOptional("/etc/subuid"),
    subgid: readOptional("/etc/subgid"),
    uidMap: readProc("self/uid_map"),
    get hasNewuidmap() {
      return findOnPath("newuidmap") !== null && findOnPath("newgidmap") !== null;
    },
  };
}

/** Raises our own soft limit of open files to the hard one. */
export function raiseOpenFiles({ openFiles: { hard } }: Host): void {
  setrlimit(RLIMIT.RLIMIT_NOFILE, BigInt(hard), BigInt(hard));
}

/** Makes room for the descriptors of several hundred sandboxes. */
export function expectCrowd(): void {
  reserveDescriptors(8192);
}

function openFileLimits(): Host["openFiles"] {
  const { soft, hard } = getrlimit(RLIMIT.RLIMIT_NOFILE);
  return { soft: Number(soft), hard: Number(hard) };
}

/** Reads the line `SigIgn` of `/proc/self/status`: signal N is bit N-1 (proc_pid_status(5)). */
export function parseIgnoredSignals(status: string): number[] {
  const mask = BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return Array.from({ length: 64 }, (_, i) => i + 1).filter((signal) =>
    (mask >> BigInt(signal - 1) & 1n) === 1n
  );
}

/** Reads the line `CapEff` of `/proc/self/status`, a set of bits (capabilities(7)). */
export function hasCapability(status: string, capability: number): boolean {
  const set = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return (set >> BigInt(capability) & 1n) === 1n;
}

function readProc(name: string, fallback?: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${name}`);
  } catch (error) {
    if (fallback !== undefined) return fallback;
    throw new HostError(`Cannot read "/proc/${name}"`, {
      cause: error,
      remedy: "Mount /proc: mount -t proc proc /proc.",
    });
  }
}

function readOptional(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

function stat(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch {
    return null;
  }
}

/** The first entry of /etc/passwd with the id; users from elsewhere have no subordinate ids here. */
function findUserName(uid: number): string | null {
  for (const line of readOptional("/etc/passwd").split("\n")) {
    const [name, , id] = line.split(":");
    if (name !== undefined && id === String(uid)) return name;
  }
  return Deno.env.get("USER") ?? null;
}

/** Finds a program in the directories of PATH, or where programs usually lie. */
export function findOnPath(name: string): string | null {
  return findProgram(name, `${Deno.env.get("PATH") ?? ""}:/usr/bin:/bin`.split(":"));
}

/** Finds a program in the first of these directories that has it; null if none does. */
export function findProgram(name: string, directories: readonly string[]): string | null {
  const paths = directories.filter((dir) => dir !== "").map((dir) => `${dir}/${name}`);
  return paths.find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
