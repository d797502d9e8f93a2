/** The vocabulary of plans: a step is one system call with a name, as pure data. */
import { AT, flagNames, octal, quote, type SyscallName } from "../../ffi/mod.ts";

/** A descriptor that is known by name until the plan is carried out. */
export interface Fd {
  readonly fd: string;
}

/** What an earlier step of the same plan returned; one step may take it. */
export interface Output {
  readonly output: string;
}

/** A number that is shown by the names of its flags. */
export interface Flags {
  readonly value: number;
  readonly names: Readonly<Record<string, number>>;
}

/** A number that is shown by its name. */
export interface Named {
  readonly value: number;
  readonly name: string;
}

/** The mode of a file, shown in octal. */
export interface Mode {
  readonly mode: number;
}

/** Bytes that the call points to. */
export interface Bytes {
  readonly bytes: Uint8Array;
  readonly shown: string;
}

/** An array of strings, as `execve(2)` takes it. */
export interface Vector {
  readonly vector: readonly string[];
  readonly shown?: string;
}

/** A structure whose fields may be descriptors or addresses; fields are 64 bits, or as given. */
export interface Struct {
  readonly size: number;
  readonly fields: readonly {
    readonly offset: number;
    readonly value: Argument;
    readonly bits?: 16 | 64;
  }[];
  readonly shown: string;
}

/** Memory that the call fills; what it holds then is known by the name. */
export interface Room {
  readonly room: string;
  readonly size: number;
}

/** An argument of a step's system call; a string is a C string, null a null pointer. */
export type Argument =
  | number
  | string
  | null
  | Fd
  | Output
  | Flags
  | Named
  | Mode
  | Bytes
  | Vector
  | Struct
  | Room;

/** One system call of a plan. */
export interface Step {
  /** What it does, as words that follow "Cannot". */
  readonly name: string;
  /** The system call. */
  readonly call: SyscallName;
  /** Its arguments. */
  readonly args: readonly Argument[];
  /** The name by which its result is known. */
  readonly output?: string;
  /** Whether the plan goes on when the call is refused. */
  readonly optional?: boolean;
  /** Whether the process that made another with this call ends here. */
  readonly endsParent?: boolean;
}

/** Steps in order. */
export type Plan = readonly Step[];

/** Makes a step. */
export function step(
  name: string,
  call: SyscallName,
  args: readonly Argument[],
  more: Omit<Step, "name" | "call" | "args"> = {},
): Step {
  return { name, call, args, ...more };
}

/** A descriptor by name. */
export function fd(name: string): Fd {
  return { fd: name };
}

/** The result of an earlier step. */
export function output(name: string): Output {
  return { output: name };
}

/** A number shown by the names of its flags. */
export function flags(names: Readonly<Record<string, number>>, ...values: number[]): Flags {
  return { value: values.reduce((sum, value) => sum + value, 0), names };
}

/** One of some numbers, shown by its name. */
export function named<const T extends Readonly<Record<string, number>>>(
  numbers: T,
  name: keyof T & string,
): Named {
  return { value: numbers[name]!, name };
}

/** The mode of a file. */
export function mode(value: number): Mode {
  return { mode: value };
}

/** Text the call points to, without a NUL byte at its end. */
export function bytes(text: string): Bytes {
  return { bytes: new TextEncoder().encode(text), shown: quote(text) };
}

/** Shows a step's call as strace does. */
export function showCall({ call, args }: Step): string {
  return `${call}(${args.map(showArgument).join(", ")})`;
}

/** Shows a step on one line: its call, its result's name, and what it does. */
export function showStep(it: Step): string {
  const result = it.output === undefined ? "" : ` = <${it.output}>`;
  const optional = it.optional === true ? " (optional)" : "";
  return `${showCall(it)}${result}  # ${it.name}${optional}`;
}

function showArgument(argument: Argument): string {
  if (argument === null) return "NULL";
  if (typeof argument === "string") return quote(argument);
  if (typeof argument === "number") {
    return argument === AT.AT_FDCWD ? "AT_FDCWD" : String(argument);
  }
  if ("fd" in argument) return `<${argument.fd}>`;
  if ("output" in argument) return `<${argument.output}>`;
  if ("names" in argument) return flagNames(argument.names, argument.value);
  if ("name" in argument) return argument.name;
  if ("mode" in argument) return octal(argument.mode);
  if ("room" in argument) return `<${argument.room}>`;
  if ("vector" in argument) return argument.shown ?? `[${argument.vector.map(quote).join(", ")}]`;
  return argument.shown;
}
