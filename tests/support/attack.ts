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
  /** What it comes to outside; "ok" by default. Null where the host itself would be changed. */
  readonly outside?: string | null;
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

/** Makes a test of each attack. */
export function testAttacks(attacks: readonly Attack[]): void {
  for (const it of attacks) {
    Deno.test({
      name: `a program in the sandbox cannot ${it.deed}`,
      ...requires("unshare", "userns"),
      fn: async () => await testAttack(it),
    });
  }
}

async function testAttack(it: Attack): Promise<void> {
  const { python, outside = "ok", under = [], inside, args = [], host = mountPoints } = it;
  const code = program(python, it.argument?.() ?? "");
  const before = await host();
  if (outside !== null) assertEquals(await runOutside(code, under), outside, "outside");
  assertEquals(await runInside(code, args), inside, "inside");
  assertEquals(await host(), before, "host");
}

/** Makes a whole program of the body of an attack. */
export function program(body: string, argument = ""): string {
  const lines = body.split("\n").map((line) => `    ${line}`).join("\n");
  return PRELUDE.replace("{}", JSON.stringify(NR)).replace("''", JSON.stringify(argument)) +
    `def attack():\n${lines}\nfinish(attack)\n`;
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
import ctypes, errno, fcntl, mmap, os, platform, signal, socket, struct, subprocess, sys
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
`;
