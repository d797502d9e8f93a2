/** Carries out a plan: encodes its steps as a table of system calls and makes the process. */
import {
  describeErrno,
  ENTRY_FLAG,
  type Memory,
  NR,
  type ResultOf,
  SyscallError,
  type TableEntry,
  type Vclone,
  vclone,
  vcloneAside,
} from "../../ffi/mod.ts";
import { SetupError } from "../errors.ts";
import { remedyFor } from "./remedy.ts";
import { type Argument, type Plan, showCall, type Step, type Vector } from "./step.ts";

/** A step that the kernel refused. */
export interface Refusal {
  readonly step: Step;
  readonly error: SyscallError;
}

/** A plan that has been started. */
export interface Running {
  /** The process that was made; the plan may have made another and ended it. */
  readonly child: Vclone;
  /** What a step returned; 0 until it has. */
  output(name: string): number;
  /** What a step has filled. */
  room(name: string): Uint8Array<ArrayBuffer>;
  /** The step that failed so far, or null. */
  refusal(): Refusal | null;
}

/** What plans need to be carried out. */
export interface Means {
  /** Where the table lies; it is in use until the plan's last process has executed or ended. */
  readonly memory: Memory;
  /** The descriptors that the plan names. */
  readonly fds: Readonly<Record<string, number>>;
  /** `CLONE_*` flags of the first process. */
  readonly flags?: number;
}

/** Means, and where vectors and rooms were placed. */
type Encoding = Means & {
  readonly vectors: Map<Vector, number>;
  readonly rooms: Map<string, { readonly address: number; readonly size: number }>;
};

/**
 * Starts a plan in a process of its own and returns when that process has executed or ended.
 *
 * @throws {SyscallError} If the process cannot be made.
 */
export function carryOut(plan: Plan, means: Means): Running {
  const { table, toRunning } = write(plan, means);
  return toRunning(vclone(means.memory, table, means.flags ?? 0));
}

/** Starts one that goes on beside this thread: see `vcloneAside`. @throws As `carryOut`. */
export function carryOutAside(plan: Plan, means: Means): Running {
  const { table, toRunning } = write(plan, means);
  return toRunning(vcloneAside(means.memory, table, means.flags ?? 0));
}

function write(
  plan: Plan,
  means: Means,
): { readonly table: readonly TableEntry[]; readonly toRunning: (child: Vclone) => Running } {
  const outputs = new Map<string, number>();
  const encoding: Encoding = { ...means, vectors: new Map(), rooms: new Map() };
  const table = plan.map((step, index) => {
    const entry = encode(step, encoding, outputs);
    if (step.output !== undefined) outputs.set(step.output, index);
    return entry;
  });
  const toRunning = (child: Vclone): Running => ({
    child,
    output: (name) => child.result(outputs.get(name)!),
    room(name): Uint8Array<ArrayBuffer> {
      const { address, size } = encoding.rooms.get(name)!;
      return means.memory.copy(address, size);
    },
    refusal(): Refusal | null {
      const failure = child.failure();
      if (failure === null) return null;
      const step = plan[failure.index]!;
      return { step, error: new SyscallError(showCall(step), failure.errno) };
    },
  });
  return { table, toRunning };
}

/** Turns a refused step into the error that the caller sees. */
export function toSetupError({ step, error }: Refusal): SetupError {
  const remedy = remedyFor(step, error.errno);
  return new SetupError(
    step.name,
    `Cannot ${step.name}: ${error.call}: ${describeErrno(error.errno)}`,
    { cause: error, ...(remedy === null ? {} : { remedy }) },
  );
}

function encode(step: Step, means: Encoding, outputs: ReadonlyMap<string, number>): TableEntry {
  const flags = (step.optional === true ? ENTRY_FLAG.ignoreError : 0) |
    (step.endsParent === true ? ENTRY_FLAG.endIfPositive : 0);
  const args = step.args.map((argument) => {
    if (typeof argument === "object" && argument !== null && "output" in argument) {
      return { resultOf: outputs.get(argument.output)! } satisfies ResultOf;
    }
    return place(argument, means);
  });
  return { number: NR[step.call], args, flags };
}

/** Places a vector once, however many steps take it: arguments and variables may be megabytes. */
function placeVector(argument: Vector, { memory, vectors }: Encoding): number {
  const known = vectors.get(argument);
  if (known !== undefined) return known;
  const address = memory.vector(argument.vector);
  vectors.set(argument, address);
  return address;
}

/** Gives the number that stands for an argument, after placing what it points to. */
function place(argument: Argument, means: Encoding): number {
  const { memory, fds } = means;
  if (typeof argument === "number") return argument;
  if (typeof argument === "string" || argument === null) return memory.string(argument);
  if ("fd" in argument) {
    const number = fds[argument.fd];
    if (number === undefined) throw new TypeError(`Cannot find the descriptor "${argument.fd}"`);
    return number;
  }
  if ("names" in argument || "name" in argument) return argument.value;
  if ("mode" in argument) return argument.mode;
  if ("bytes" in argument) return memory.place(argument.bytes, 8);
  if ("vector" in argument) return placeVector(argument, means);
  if ("room" in argument) {
    const { room, size } = argument;
    const address = memory.reserve(size);
    means.rooms.set(room, { address, size });
    return address;
  }
  if ("size" in argument) {
    const fields = argument.fields.map((field) => ({ ...field, value: place(field.value, means) }));
    const address = memory.reserve(argument.size);
    for (const { offset, value, bits } of fields) {
      if (bits === 16) memory.setUint16(address + offset, value);
      else memory.setUint64(address + offset, value);
    }
    return address;
  }
  throw new TypeError("Cannot place the result of a step inside a structure");
}
