/** What every process inside is bound to before its first instruction, as steps. */
import { CAP, machine, PR, SECCOMP, SOCK_FPROG } from "../../ffi/mod.ts";
import { compile, compileAllowed, type Instruction, rules, toBytes } from "./seccomp.ts";
import { named, type Plan, type Step, step, type Struct } from "./step.ts";

/** The capabilities that root inside keeps, within its own user namespace. */
export const CAPABILITIES = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  "CAP_SETGID",
  "CAP_SETUID",
  "CAP_SETPCAP",
  "CAP_NET_BIND_SERVICE",
  "CAP_NET_RAW",
  "CAP_SYS_CHROOT",
  "CAP_SETFCAP",
] as const satisfies readonly (keyof typeof CAP)[];

/** A capability that a program may keep. */
export type Capability = (typeof CAPABILITIES)[number];

/** What a program may do beyond, or may not do within, the usual. */
export interface Hardening {
  /** The capabilities that are left to its root. */
  readonly capabilities: readonly Capability[];
  /** Whether programs with set-uid bits or file capabilities give what they say, inside. */
  readonly allowsSetuid: boolean;
  /** Whether it may make namespaces and mount in them, as sandboxes within do. */
  readonly allowsNesting: boolean;
}

/** The usual. */
export const USUAL_HARDENING: Hardening = {
  capabilities: CAPABILITIES,
  allowsSetuid: false,
  allowsNesting: false,
};

/**
 * Drops every capability but those kept from the bounding set. A set dropped before a user namespace is
 * entered comes back full, so this stands after the last entry into one.
 */
export function dropCapabilities(
  lastCapability: number,
  keep: readonly (keyof typeof CAP)[],
): Plan {
  const kept = new Set<number>(keep.map((name) => CAP[name]));
  const numbers = Array.from({ length: lastCapability + 1 }, (_, i) => i);
  return numbers.filter((number) => !kept.has(number)).map((number) =>
    step("drop a capability", "prctl", [named(PR, "PR_CAPBSET_DROP"), number, 0, 0, 0])
  );
}

/** Closes the vfork window: while a child shares our memory, nothing inside may look at it. */
export function hideMemory(): Plan {
  return [step("hide our memory", "prctl", [named(PR, "PR_SET_DUMPABLE"), 0, 0, 0, 0])];
}

/**
 * Forbids new privileges and installs the filter; only calls the filter allows may follow. Without the
 * first, the second needs CAP_SYS_ADMIN in the user namespace, so the root of it is still to be left.
 */
export function confine(
  { allowsSetuid, allowsNesting }: Omit<Hardening, "capabilities"> = USUAL_HARDENING,
): Plan {
  return [
    ...(allowsSetuid ? [] : [forbidPrivileges()]),
    installFilter(allowsNesting ? nestingFilter() : usualFilter()),
  ];
}

/** Leaves init what it takes to execute and to wait: it does nothing else for its sandbox. */
export function confineInit(): Plan {
  return [forbidPrivileges(), installFilter(initFilter())];
}

function forbidPrivileges(): Step {
  return step("forbid new privileges", "prctl", [named(PR, "PR_SET_NO_NEW_PRIVS"), 1, 0, 0, 0]);
}

function installFilter(filter: Struct): Step {
  return step("install the seccomp filter", "prctl", [
    named(PR, "PR_SET_SECCOMP"),
    SECCOMP.SECCOMP_MODE_FILTER,
    filter,
  ]);
}

/** The rest of init's plan, and its own code. */
const INIT_CALLS = [
  ...["close_range", "rt_sigaction", "rt_sigprocmask", "execveat"] as const,
  ...["read", "write", "exit_group"] as const,
];

const usualFilter = once(() => toStruct(compile(rules(machine), machine)));
const nestingFilter = once(() =>
  toStruct(compile(rules(machine, { allowsNesting: true }), machine))
);
const initFilter = once(() => toStruct(compileAllowed(INIT_CALLS, machine)));

function toStruct(program: readonly Instruction[]): Struct {
  const code = { bytes: toBytes(program), shown: "…" };
  return {
    size: SOCK_FPROG.size,
    fields: [
      { offset: SOCK_FPROG.len, value: program.length, bits: 16 },
      { offset: SOCK_FPROG.filter, value: code },
    ],
    shown: `{len=${program.length}, filter=…}`,
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => made ??= make();
}
