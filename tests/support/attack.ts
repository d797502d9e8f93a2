/** Attacks as data: a piece of Python that works outside, and what it gets inside. */
import { assertEquals } from "@std/assert";
import { NR } from "../../ffi/mod.ts";
import { minisandbox } from "./minisandbox.ts";
import { requires } from "./requirement.ts";

/** The Python that every base host has; what is first on PATH may lie elsewhere. */
export const PYTHON = "/usr/bin/python3";

/** Namespaces in which an ordinary user holds every capability: attacks are shown to work there. */
export const NAMESPACES = ["unshare", "-Urmpiunf", "--mount-proc"];

/** One attack. It is the body of a function: it returns what it got, or raises an OSError. */
export interface Attack {
  /** What a program in the sandbox cannot do. */
  readonly deed: string;
  readonly python: string;
  /** What it comes to outside; "ok" by default. */
  readonly outside?: string | Uncontrolled;
  /** What runs it outside; nothing by default. */
  readonly under?: readonly string[];
  /** What it comes to inside: an error's name, or what it returns. */
  readonly inside: string;
  /** Arguments of `run`. */
  readonly args?: readonly string[];
  /** What must not change. */
  readonly host?: () => unknown;
  /** What it is told, as `ARG`. */
  readonly argument?: () => string;
}

/** Why an attack is not made outside. */
export interface Uncontrolled {
  readonly reason: string;
}

/** Says why an attack is not made outside. */
export function cannot(reason: string): Uncontrolled {
  return { reason };
}

/**
 * Makes a test of each attack. What runs with the same arguments runs in one sandbox, each attack in a
 * process of its own, once the first of them is asked for; outside in the same way.
 */
export function testAttacks(attacks: readonly Attack[]): void {
  const inside = once(attacks, ({ args = [] }) => args, insideOf);
  const outside = once(attacks.filter(isControlled), underOf, runOutsideAll);
  for (const it of attacks) {
    Deno.test({
      name: `a program in the sandbox cannot ${it.deed}`,
      ...requires("unshare", "userns"),
      fn: async () => {
        const { outside: works = "ok" } = it;
        if (typeof works === "string") assertEquals((await outside(it)).get(it), works, "outside");
        const { answers, before, after } = await inside(it);
        assertEquals(answers.get(it), it.inside, "inside");
        assertEquals(after.get(it), before.get(it), "host");
      },
    });
  }
}

type Answers = ReadonlyMap<Attack, string>;

interface Inside {
  readonly answers: Answers;
  readonly before: ReadonlyMap<Attack, unknown>;
  readonly after: ReadonlyMap<Attack, unknown>;
}

async function insideOf(attacks: readonly Attack[], args: readonly string[]): Promise<Inside> {
  const code = programs(attacks);
  const before = await hostsOf(attacks);
  const answers = parseAnswers(attacks, await runInside(code, args));
  return { answers, before, after: await hostsOf(attacks) };
}

function isControlled({ outside }: Attack): boolean {
  return outside === undefined || typeof outside === "string";
}

function underOf({ under = [] }: Attack): readonly string[] {
  return under;
}

async function runOutsideAll(
  attacks: readonly Attack[],
  under: readonly string[],
): Promise<Answers> {
  return parseAnswers(
    attacks,
    await runOutside(programs(attacks, { isApart: under.length > 0 }), under),
  );
}

async function hostsOf(attacks: readonly Attack[]): Promise<ReadonlyMap<Attack, unknown>> {
  const states = new Map<Attack, unknown>();
  for (const it of attacks) states.set(it, await (it.host ?? mountPoints)());
  return states;
}

/** Does what is asked for with all that share a key, at the first of them. */
function once<T>(
  attacks: readonly Attack[],
  keyOf: (it: Attack) => readonly string[],
  run: (group: readonly Attack[], key: readonly string[]) => Promise<T>,
): (it: Attack) => Promise<T> {
  const results = new Map<string, Promise<T>>();
  const name = (it: Attack) => JSON.stringify(keyOf(it));
  return (it) => {
    const found = results.get(name(it)) ??
      run(attacks.filter((other) => name(other) === name(it)), keyOf(it));
    results.set(name(it), found);
    return found;
  };
}

/** Makes one program of many attacks; it prints the answer of each as JSON. */
export function programs(
  attacks: readonly Pick<Attack, "python" | "argument">[],
  { isApart = false } = {},
): string {
  const functions = attacks.map(({ python }, i) => `def attack_${i}():\n${indent(python)}\n`);
  const calls = attacks.map(({ argument }, i) =>
    `answers.append(alone(attack_${i}, ${JSON.stringify(argument?.() ?? "")}, ${
      isApart ? 1 : 0
    }))\n`
  );
  return prelude() + functions.join("") + calls.join("") + "print(json.dumps(answers))\n";
}

function parseAnswers(attacks: readonly Attack[], printed: string): Answers {
  let answers: readonly string[];
  try {
    answers = JSON.parse(printed);
  } catch {
    throw new Error(`Cannot read the answers of ${attacks.length} attacks: ${printed}`);
  }
  return new Map(attacks.map((it, i) => [it, answers[i]!]));
}

/** Makes a whole program of the body of an attack. */
export function program(body: string, argument = ""): string {
  return `${prelude(argument)}def attack():\n${indent(body)}\nfinish(attack)\n`;
}

function prelude(argument = ""): string {
  return PRELUDE.replace("{}", JSON.stringify(NR)).replace("''", JSON.stringify(argument));
}

function indent(body: string): string {
  return body.split("\n").map((line) => `    ${line}`).join("\n");
}

/** Runs a program on the host, and gives what it printed. */
export async function runOutside(code: string, under: readonly string[] = []): Promise<string> {
  const [command = "", ...args] = [...under, PYTHON, "-c", code];
  const { stdout, stderr } = await new Deno.Command(command, { args, stdin: "null" }).output();
  return text(stdout) + text(stderr);
}

/** Runs a program in a sandbox, and gives what it printed. */
export async function runInside(code: string, args: readonly string[] = []): Promise<string> {
  const command = ["run", "--quiet", ...args, "--", PYTHON, "-c", code];
  const { stdout, stderr } = await minisandbox(command);
  return stdout + stderr;
}

/** The mount points of this process, but those that others make in /tmp meanwhile. */
export function mountPoints(): string[] {
  return Deno.readTextFileSync("/proc/self/mountinfo").split("\n")
    .filter((line) => !line.split(" ")[4]?.startsWith("/tmp/"));
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

const PRELUDE = `
import ctypes, errno, fcntl, json, mmap, os, platform, signal, socket, struct, subprocess, sys, time, traceback
ARG = ''
NR = {}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
def plain(value):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, int):
        return ctypes.c_long(value)
    return value
def call(name, *args):
    number = NR[name] if isinstance(name, str) else name
    return check(libc.syscall(ctypes.c_long(number), *map(plain, args)))
def name(error):
    return errno.errorcode.get(error.errno, str(error.errno))
def attempt(deed, *args):
    try:
        deed(*args)
        return "ok"
    except OSError as error:
        return name(error)
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))
def finish(attack):
    try:
        result = attack()
    except OSError as error:
        result = name(error)
    sys.stdout.write("ok" if result is None else str(result))
answers = []
def alone(attack, argument, isApart):
    """Runs an attack in a process of its own, and if told in namespaces of its own."""
    global ARG
    ARG = argument
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setpgid(0, 0)
        signal.alarm(30)
        if isApart:
            check(libc.unshare(0x4c020000))
        try:
            result = attack()
            text = "ok" if result is None else str(result)
        except OSError as error:
            text = name(error)
        except BaseException:
            text = traceback.format_exc()
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    attempt(os.killpg, child, signal.SIGKILL)
    text = os.read(reader, 65536).decode() if status == 0 else f"status {status}"
    os.close(reader)
    return f"signal {status & 127}" if os.WIFSIGNALED(status) else text
`;
