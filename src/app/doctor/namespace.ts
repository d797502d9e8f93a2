/** Checks of namespaces: that they can be made, how many, and the process that keeps them. */
import {
  type Answer,
  type Docker,
  dockerRemedy,
  type NamespaceKind,
  probeNamespaces,
  readDocker,
} from "../../sandbox/mod.ts";
import { caution, fail, type Finding, pass, skipped } from "./finding.ts";
import type { Probe } from "./probe.ts";
import { readSysctl } from "./sysctl.ts";

const ALL = "Sandboxes cannot be made.";
const KINDS = ["mnt", "pid", "net", "ipc", "uts", "cgroup"] as const;

/** Namespaces that the engine keeps for itself, beside one of each kind a sandbox. */
const OWN = 8;

/** Settings that keep ordinary users from making namespaces; null where the kernel has none. */
export interface NamespaceSettings {
  readonly isRoot: boolean;
  /** user.max_user_namespaces */
  readonly maxUser: number | null;
  /** kernel.unprivileged_userns_clone (Debian) */
  readonly debianClone: number | null;
  /** kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
  readonly ubuntuRestrict: number | null;
}

/** Checks of namespaces. */
export const namespaceProbes: readonly Probe[] = [
  {
    check: "user namespaces",
    lost: ALL,
    examine: ({ host }) => judgeUser(probeNamespaces().user, readSettings(host.uid === 0)),
  },
  {
    check: "other namespaces",
    lost: ALL,
    examine: ({ host }) => judgeOthers(probeNamespaces(), readSettings(host.uid === 0)),
  },
  {
    check: "namespace limits",
    lost: ALL,
    examine: ({ wish }) =>
      judgeLimits(
        Object.fromEntries(
          ["user", ...KINDS].map((kind) => [kind, readSysctl(`user/max_${kind}_namespaces`)]),
        ),
        wish.sandboxes,
      ),
  },
  {
    check: "holder",
    lost: ALL,
    examine: async ({ engine }) => {
      const startMs = performance.now();
      await engine.fill(1);
      const ms = (performance.now() - startMs).toFixed(1);
      return pass("holder", `runs; a user and a network namespace below it took ${ms} ms`);
    },
  },
];

function readSettings(isRoot: boolean): NamespaceSettings {
  return {
    isRoot,
    maxUser: readSysctl("user/max_user_namespaces"),
    debianClone: readSysctl("kernel/unprivileged_userns_clone"),
    ubuntuRestrict: readSysctl("kernel/apparmor_restrict_unprivileged_userns"),
  };
}

/** Judges by what the kernel said to a new user namespace. */
export function judgeUser(
  answer: Answer,
  settings: NamespaceSettings,
  docker: Docker | null = readDocker(),
): Finding {
  if (answer === null) return pass("user namespaces", "can be made");
  return fail("user namespaces", `refused: ${answer}`, {
    lost: ALL,
    remedy: findCause(settings) ??
      (answer === "EUSERS"
        ? "Start minisandbox outside of a sandbox: they are nested too deeply here."
        : answer === "EINVAL"
        ? "Use a kernel with CONFIG_USER_NS."
        : refusedBy(docker)),
  });
}

/** Judges by what the kernel said to the other kinds, asked for in a new user namespace. */
export function judgeOthers(
  answers: Readonly<Record<"user" | NamespaceKind, Answer>>,
  settings: NamespaceSettings,
  docker: Docker | null = readDocker(),
): Finding {
  if (answers.user !== null) return skipped("other namespaces", "there is no user namespace");
  const refused = KINDS.filter((kind) => answers[kind] !== null);
  if (refused.length === 0) return pass("other namespaces", `${KINDS.join(", ")} can be made`);
  const [first] = refused;
  const found = refused.map((kind) => `${kind}: ${answers[kind]}`).join(", ");
  return fail("other namespaces", `refused: ${found}`, {
    lost: ALL,
    remedy: answers[first!] === "ENOSPC"
      ? `sysctl -w user.max_${first}_namespaces=65536`
      : findCause({ ...settings, maxUser: null }) ??
        refusedBy(docker),
  });
}

/** Judges how many namespaces a user may have, against the number of sandboxes wanted. */
export function judgeLimits(
  limits: Readonly<Record<string, number | null>>,
  sandboxes: number,
): Finding {
  const check = "namespace limits";
  const known = Object.entries(limits).filter(([, limit]) => limit !== null) as [string, number][];
  if (known.length === 0) return skipped(check, "/proc/sys/user cannot be read");
  const tight = known.filter(([, limit]) => limit < sandboxes + OWN);
  const least = Math.min(...known.map(([, limit]) => limit));
  if (tight.length === 0) return pass(check, `at least ${least} of each kind`);
  const found = tight.map(([kind, limit]) => `${kind}: ${limit}`).join(", ");
  const remedy = tight.map(([kind]) => `sysctl -w user.max_${kind}_namespaces=65536`).join("; ");
  return least < OWN
    ? fail(check, found, { lost: ALL, remedy })
    : caution(check, found, { lost: `Fewer than ${sandboxes} sandboxes at once.`, remedy });
}

function refusedBy(docker: Docker | null): string {
  return docker === null
    ? "A filter or a security module refuses it: see what AppArmor, SELinux or the container's " +
      "engine says of this program."
    : dockerRemedy(docker);
}

function findCause(settings: NamespaceSettings): string | null {
  const { isRoot, maxUser, debianClone, ubuntuRestrict } = settings;
  if (maxUser === 0) return "sysctl -w user.max_user_namespaces=65536";
  if (!isRoot && debianClone === 0) return "sysctl -w kernel.unprivileged_userns_clone=1";
  if (!isRoot && ubuntuRestrict === 1) {
    return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile " +
      "for minisandbox with the rule: userns,";
  }
  return null;
}
