/** What every process inside is bound to before its first instruction, as steps. */
import { CAP, machine, PR, SECCOMP, SOCK_FPROG } from "../../ffi/mod.ts";
import { compile, rules, toBytes } from "./seccomp.ts";
import { flags, type Plan, step, type Struct } from "./step.ts";

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
    step("drop a capability", "prctl", [flags(PR, PR.PR_CAPBSET_DROP), number, 0, 0, 0])
  );
}

/** Closes the vfork window: while a child shares our memory, nothing inside may look at it. */
export function hideMemory(): Plan {
  return [step("hide our memory", "prctl", [flags(PR, PR.PR_SET_DUMPABLE), 0, 0, 0, 0])];
}

/** Forbids new privileges and installs the filter; only calls the filter allows may follow. */
export function confine(): Plan {
  return [
    step("forbid new privileges", "prctl", [flags(PR, PR.PR_SET_NO_NEW_PRIVS), 1, 0, 0, 0]),
    step("install the seccomp filter", "prctl", [
      flags(PR, PR.PR_SET_SECCOMP),
      flags(SECCOMP, SECCOMP.SECCOMP_MODE_FILTER),
      filter(),
    ]),
  ];
}

let cached: Struct | undefined;

function filter(): Struct {
  if (cached === undefined) {
    const program = compile(rules(machine), machine);
    const code = { bytes: toBytes(program), shown: "…" };
    cached = {
      size: SOCK_FPROG.size,
      fields: [
        { offset: SOCK_FPROG.len, value: program.length, bits: 16 },
        { offset: SOCK_FPROG.filter, value: code },
      ],
      shown: `{len=${program.length}, filter=…}`,
    };
  }
  return cached;
}
