/** Tests of the seccomp filter: run by an interpreter of ours, for each call there is. */
import { assert, assertEquals } from "@std/assert";
import {
  AUDIT_ARCH_BY_MACHINE,
  BPF,
  CLONE,
  IOCTL,
  type Machine,
  NR_BY_MACHINE,
  SECCOMP_DATA,
  SECCOMP_RET,
} from "../../ffi/mod.ts";
import { compile, type Instruction, type Rule, rules } from "../../src/sandbox/seccomp.ts";

const MACHINES: readonly Machine[] = ["x86_64", "aarch64"];

/** Each kind of nesting. */
const NESTINGS = [
  { allowsNesting: false },
  { allowsNesting: true },
];

/** What a filter is asked about; arguments by their low halves. */
interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly number[];
}

/** Runs a filter on a call; gives its answer and how many steps that took. */
function interpret(
  program: readonly Instruction[],
  { arch, number, args = [] }: Call,
): { readonly answer: number; readonly steps: number } {
  let loaded = 0;
  let steps = 0;
  for (let at = 0;; at++) {
    steps++;
    const { code, ifTrue, ifFalse, k } = program[at]!;
    if (code === (BPF.BPF_RET | BPF.BPF_K)) return { answer: k, steps };
    if (code === (BPF.BPF_LD | BPF.BPF_W | BPF.BPF_ABS)) {
      if (k === SECCOMP_DATA.arch) loaded = arch;
      else if (k === SECCOMP_DATA.nr) loaded = number;
      else loaded = args[(k - SECCOMP_DATA.args) / 8] ?? 0;
      continue;
    }
    const isTrue = code === (BPF.BPF_JMP | BPF.BPF_JEQ | BPF.BPF_K)
      ? loaded === k
      : code === (BPF.BPF_JMP | BPF.BPF_JGE | BPF.BPF_K)
      ? loaded >= k
      : (loaded & k) !== 0;
    at += isTrue ? ifTrue : ifFalse;
  }
}

/** What the rules say, tried one after the other. */
function decide(list: readonly Rule[], number: number, args: readonly number[]): number {
  const rule = list.find((it) => it.number === number && applies(it, args));
  return rule === undefined
    ? SECCOMP_RET.SECCOMP_RET_ALLOW
    : SECCOMP_RET.SECCOMP_RET_ERRNO | rule.errno;
}

function applies({ anyBit, oneOf, noneOf }: Rule, args: readonly number[]): boolean {
  if (anyBit !== undefined) return ((args[anyBit.argument] ?? 0) & anyBit.mask) !== 0;
  if (oneOf !== undefined) return oneOf.values.includes(args[oneOf.argument] ?? 0);
  if (noneOf !== undefined) return !noneOf.values.includes(args[noneOf.argument] ?? 0);
  return true;
}

Deno.test("the filter answers each call as the rules say, one after the other", () => {
  const values = [0, 1, 2, 3, 0x8, 40, CLONE.CLONE_NEWUSER, IOCTL.TIOCSTI, IOCTL.TIOCLINUX];
  for (const machine of MACHINES) {
    const arch = AUDIT_ARCH_BY_MACHINE[machine];
    for (const nesting of NESTINGS) {
      const list = rules(machine, nesting);
      const program = compile(list, machine);
      for (let number = 0; number < 600; number++) {
        for (const args of [[], ...values.map((value) => [value, value])]) {
          const { answer } = interpret(program, { arch, number, args });
          assertEquals([number, args, answer], [number, args, decide(list, number, args)]);
        }
      }
    }
  }
});

Deno.test("the filter allows no call of another machine, and none of x32", () => {
  const refused = SECCOMP_RET.SECCOMP_RET_ERRNO | 38;
  for (const machine of MACHINES) {
    const program = compile(rules(machine), machine);
    const [other] = MACHINES.filter((it) => it !== machine);
    const number = NR_BY_MACHINE.read[machine === "x86_64" ? 0 : 1];
    const foreign = AUDIT_ARCH_BY_MACHINE[other!];
    assertEquals(interpret(program, { arch: foreign, number }).answer, refused);
    if (machine !== "x86_64") continue;
    const arch = AUDIT_ARCH_BY_MACHINE[machine];
    assertEquals(interpret(program, { arch, number: 0x4000_0000 + number }).answer, refused);
  }
});

Deno.test("the filter is short for every call", () => {
  for (const machine of MACHINES) {
    const program = compile(rules(machine), machine);
    const arch = AUDIT_ARCH_BY_MACHINE[machine];
    for (let number = 0; number < 600; number++) {
      assert(interpret(program, { arch, number }).steps < 30, `call ${number}`);
    }
  }
});
