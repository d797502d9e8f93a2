/** The seccomp filter: which system calls programs are refused, as data, and as classic BPF. */
import {
  AUDIT_ARCH_BY_MACHINE,
  BPF,
  CLONE,
  ERRNO,
  IOCTL,
  type Machine,
  NR_BY_MACHINE,
  NR_ONLY_X86_64,
  SECCOMP_DATA,
  SECCOMP_RET,
  type SyscallName,
} from "../../ffi/mod.ts";

/** A call that is refused: always, or for some values of the low half of one argument. */
export interface Rule {
  /** The call's number. */
  readonly number: number;
  /** What it answers. */
  readonly errno: number;
  /** Refused if the argument has one of these bits. */
  readonly anyBit?: { readonly argument: number; readonly mask: number };
  /** Refused if the argument is one of these. */
  readonly oneOf?: { readonly argument: number; readonly values: readonly number[] };
  /** Refused unless the argument is one of these. */
  readonly noneOf?: { readonly argument: number; readonly values: readonly number[] };
}

/** One instruction of classic BPF (`struct sock_filter`). */
export interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly k: number;
}

/** Calls by which sandboxes are made: answered with EPERM unless nesting is allowed. */
const NESTING: readonly SyscallName[] = [
  ...["mount", "umount2", "pivot_root", "open_tree", "move_mount", "mount_setattr"] as const,
  ...["open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "setns"] as const,
];

/** Calls that a plain program has no business with: answered with EPERM. */
const FORBIDDEN: readonly SyscallName[] = [
  ...["keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd"] as const,
  ...["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"] as const,
  ...["open_by_handle_at", "reboot", "swapon", "swapoff", "syslog", "acct", "quotactl"] as const,
  ...["quotactl_fd", "settimeofday", "clock_settime", "vhangup", "lookup_dcookie"] as const,
  ...["fanotify_init", "pidfd_getfd", "kcmp", "migrate_pages", "nfsservctl"] as const,
];

/** Calls that programs probe for and do without: answered with ENOSYS. */
const ABSENT: readonly SyscallName[] = [
  ...["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"] as const,
];

/** Socket families that stay: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET. */
const FAMILIES = [1, 2, 10, 16, 17];

/** Personalities that stay: PER_LINUX, PER_LINUX32, UNAME26 with each, and the query. */
const PERSONALITIES = [0, 0x8, 0x20000, 0x20008, 0xffffffff];

const NAMESPACES = CLONE.CLONE_NEWNS | CLONE.CLONE_NEWCGROUP | CLONE.CLONE_NEWUTS |
  CLONE.CLONE_NEWIPC | CLONE.CLONE_NEWUSER | CLONE.CLONE_NEWPID | CLONE.CLONE_NEWNET;

const EAFNOSUPPORT = 97;

/** x86_64 numbers from here on are the x32 ABI. */
const X32_BIT = 0x40000000;

/** Lists what a machine's programs are refused. */
export function rules(
  machine: Machine,
  { allowsNesting }: { readonly allowsNesting: boolean } = { allowsNesting: false },
): Rule[] {
  const { EPERM, ENOSYS } = ERRNO;
  const number = (name: SyscallName) => NR_BY_MACHINE[name][machine === "x86_64" ? 0 : 1];
  const obsolete = machine === "x86_64" ? Object.values(NR_ONLY_X86_64) : [];
  const refuse = (mask: number, more = 0) => [
    { number: number("clone"), errno: EPERM, anyBit: { argument: 0, mask } },
    { number: number("unshare"), errno: EPERM, anyBit: { argument: 0, mask: mask | more } },
  ];
  const namespaces = allowsNesting
    // Who has a cgroup namespace can mount cgroups, see the host's, and lift limits where they are his.
    ? refuse(CLONE.CLONE_NEWCGROUP)
    : refuse(NAMESPACES, CLONE.CLONE_NEWTIME); // in clone(2) that bit is part of a signal's number
  return [
    ...(allowsNesting ? [] : NESTING.map((name) => ({ number: number(name), errno: EPERM }))),
    ...namespaces,
    ...FORBIDDEN.map((name) => ({ number: number(name), errno: EPERM })),
    ...ABSENT.map((name) => ({ number: number(name), errno: ENOSYS })),
    ...obsolete.map((nr) => ({ number: nr, errno: ENOSYS })),
    {
      number: number("ioctl"),
      errno: EPERM,
      oneOf: { argument: 1, values: [IOCTL.TIOCSTI, IOCTL.TIOCLINUX, IOCTL.TIOCSETD] },
    },
    ...(["socket", "socketpair"] as const).map((name) => ({
      number: number(name),
      errno: EAFNOSUPPORT,
      noneOf: { argument: 0, values: FAMILIES },
    })),
    {
      number: number("personality"),
      errno: EPERM,
      noneOf: { argument: 0, values: PERSONALITIES },
    },
  ];
}

/** Compiles rules: another machine's calls and x32 are ENOSYS, the rest is allowed. */
export function compile(list: readonly Rule[], machine: Machine): Instruction[] {
  return [
    ...ownNumber(machine, ERRNO.ENOSYS),
    ...(machine === "x86_64" ? [jump(BPF.BPF_JGE, X32_BIT, 0, 1), refuse(ERRNO.ENOSYS)] : []),
    ...search(list.toSorted((a, b) => a.number - b.number)),
  ];
}

/** Compiles a filter that allows some calls and refuses all others, those of other machines too. */
export function compileAllowed(names: readonly SyscallName[], machine: Machine): Instruction[] {
  return [
    ...ownNumber(machine, ERRNO.EPERM),
    ...names.map((name, i) =>
      jump(BPF.BPF_JEQ, NR_BY_MACHINE[name][machine === "x86_64" ? 0 : 1], names.length - i, 0)
    ),
    refuse(ERRNO.EPERM),
    answer(SECCOMP_RET.SECCOMP_RET_ALLOW),
  ];
}

/** Loads the call's number; another machine's calls are refused. */
function ownNumber(machine: Machine, otherwise: number): Instruction[] {
  return [
    load(SECCOMP_DATA.arch),
    jump(BPF.BPF_JEQ, AUDIT_ARCH_BY_MACHINE[machine], 1, 0),
    refuse(otherwise),
    load(SECCOMP_DATA.nr),
  ];
}

/** So few rules are tried one after the other. */
const LEAF_RULES = 3;

/**
 * Finds the rules of a number by halving. The kernel walks a filter for every number there is when it
 * is installed (seccomp_cache_prepare): trying one after the other takes 93 us, this 57.
 */
function search(sorted: readonly Rule[]): Instruction[] {
  const pivot = sorted[sorted.length >> 1]?.number ?? 0;
  const below = sorted.filter(({ number }) => number < pivot);
  if (sorted.length <= LEAF_RULES || below.length === 0) {
    return [...sorted.flatMap(compileRule), answer(SECCOMP_RET.SECCOMP_RET_ALLOW)];
  }
  const left = search(below);
  const right = search(sorted.slice(below.length));
  return [jump(BPF.BPF_JGE, pivot, left.length, 0), ...left, ...right];
}

/** Lays a program out as the kernel reads it: eight bytes an instruction. */
export function toBytes(program: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8 * program.length);
  const view = new DataView(bytes.buffer);
  program.forEach(({ code, ifTrue, ifFalse, k }, i) => {
    view.setUint16(8 * i, code, true);
    view.setUint8(8 * i + 2, ifTrue);
    view.setUint8(8 * i + 3, ifFalse);
    view.setUint32(8 * i + 4, k, true);
  });
  return bytes;
}

/** Compares the number, which is loaded; where the rule looks at an argument, loads it again. */
function compileRule(rule: Rule): Instruction[] {
  const { anyBit, oneOf, noneOf } = rule;
  const test = anyBit ?? oneOf ?? noneOf;
  if (test === undefined) return guard(rule.number, [refuse(rule.errno)]);
  const body = [load(SECCOMP_DATA.args + 8 * test.argument)];
  if (anyBit !== undefined) {
    body.push(jump(BPF.BPF_JSET, anyBit.mask, 0, 1), refuse(rule.errno));
  }
  if (oneOf !== undefined) {
    for (const value of oneOf.values) {
      body.push(jump(BPF.BPF_JEQ, value, 0, 1), refuse(rule.errno));
    }
  }
  if (noneOf !== undefined) {
    const { values } = noneOf;
    values.forEach((value, i) => body.push(jump(BPF.BPF_JEQ, value, values.length - i, 0)));
    body.push(refuse(rule.errno));
  }
  body.push(load(SECCOMP_DATA.nr));
  return guard(rule.number, body);
}

function guard(number: number, body: readonly Instruction[]): Instruction[] {
  return [jump(BPF.BPF_JEQ, number, 0, body.length), ...body];
}

function load(offset: number): Instruction {
  return { code: BPF.BPF_LD | BPF.BPF_W | BPF.BPF_ABS, ifTrue: 0, ifFalse: 0, k: offset };
}

function jump(test: number, k: number, ifTrue: number, ifFalse: number): Instruction {
  if (Math.max(ifTrue, ifFalse) > 0xff) throw new RangeError("Cannot jump so far: a byte holds it");
  return { code: BPF.BPF_JMP | test | BPF.BPF_K, ifTrue, ifFalse, k };
}

function refuse(errno: number): Instruction {
  return answer(SECCOMP_RET.SECCOMP_RET_ERRNO | errno);
}

function answer(value: number): Instruction {
  return { code: BPF.BPF_RET | BPF.BPF_K, ifTrue: 0, ifFalse: 0, k: value };
}
