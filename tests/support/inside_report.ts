/** A report of its own confinement that a program inside writes: namespaces, ids, rights, calls. */
import { CAP, NR_BY_MACHINE, NR_ONLY_X86_64 } from "../../ffi/mod.ts";
import { NAMESPACES as OUTSIDE, program, runInside, runOutside } from "./attack.ts";

/** Calls that end, stop or double a process, or touch the whole host, with whatever arguments. */
const NEVER = [
  ...["rt_sigreturn", "pause", "clone", "fork", "vfork", "exit", "rt_sigsuspend", "sync"],
  ...["exit_group", "restart_syscall", "seccomp"],
];

/** Numbers of calls on x86_64 that are named nowhere in our own sources. */
const OTHERS: Readonly<Record<string, number>> = {
  rt_sigreturn: 15,
  pause: 34,
  fork: 57,
  vfork: 58,
  exit: 60,
  rt_sigsuspend: 130,
  sync: 162,
  exit_group: 231,
  restart_syscall: 219,
  seccomp: 317,
  chroot: 161,
  iopl: 172,
  ioperm: 173,
  fchmod: 91,
  fchown: 93,
  setuid: 105,
  setgid: 106,
  setpgid: 109,
  setsid: 112,
  setreuid: 113,
  setregid: 114,
  setfsuid: 122,
  landlock_restrict_self: 446,
};

/** Names of calls on x86_64. */
const NAMES: ReadonlyMap<number, string> = new Map([
  ...Object.entries(NR_BY_MACHINE).map(([name, [number]]) => [number, name] as const),
  ...Object.entries(NR_ONLY_X86_64).map(([name, number]) => [number, name] as const),
  ...Object.entries(OTHERS).map(([name, number]) => [number, name] as const),
]);

const LAST_CALL = 460;

/**
 * Makes each call with arguments of zero, in a child of its own, and prints number and answer.
 * Descriptor 0 is a pipe: were it a file of the host's, fchmod(0, 0) could be one call too many.
 */
const TRY_CALLS = `
os.dup2(os.pipe()[0], 0)
for number in range(${LAST_CALL} + 1):
    if number in ${JSON.stringify(NEVER.map((name) => OTHERS[name] ?? numberOf(name)))}:
        continue
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
        os._exit(ctypes.get_errno() if result == -1 else 0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status):
        print(number, errno.errorcode.get(os.WEXITSTATUS(status), "ok"))
return ""`;

const DESCRIBE = `
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status"))
host = dict(pair.split("=") for pair in ARG.split())
for kind in sorted(host):
    own = os.readlink("/proc/self/ns/" + kind)
    print(f"namespace {kind}: {'the host' if own == host[kind] else 'own'}")
for name in ("uid_map", "gid_map"):
    rows = [" ".join(row.split()) for row in open("/proc/self/" + name)]
    print(f"{name}: {', '.join(rows)}")
print("user:", os.getuid(), "group:", os.getgid())
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    bits = int(status[name], 16)
    print(f"{name}:", " ".join(CAPS.get(i, str(i)) for i in range(64) if bits >> i & 1) or "none")
print("no_new_privs:", status["NoNewPrivs"])
print("seccomp:", {"0": "off", "1": "strict", "2": "filter"}[status["Seccomp"]])
print("umask:", status["Umask"])
descriptors = os.listdir("/proc/self/fd")
print("descriptors:", *sorted(int(it) for it in descriptors if os.path.lexists("/proc/self/fd/" + it)))
print("/sys:", *(os.listdir("/sys") or ["empty"]))
print("/dev:", *sorted(os.listdir("/dev")))
for path in ("/proc/kcore", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/1/mem"):
    print(f"write {path}: {attempt(opened, path, os.O_WRONLY)}")
return ""`;

/** Namespaces that are told of. */
const NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/**
 * Writes the report of a sandbox. Of the calls it names all that are answered with EPERM, and with
 * ENOSYS those that exist outside.
 *
 * @param args Arguments of `run`.
 */
export async function reportInside(args: readonly string[]): Promise<string> {
  const host = NAMESPACES.map((kind) => `${kind}=${Deno.readLinkSync(`/proc/self/ns/${kind}`)}`);
  const names = Object.entries(CAP).map(([name, number]) => `${number}: "${name.slice(4)}"`);
  const describe = `CAPS = {${names.join(", ")}}\n${DESCRIBE.trim()}`;
  const state = await runInside(program(describe, host.join(" ")), args);
  return state + await refusedCalls(await runInside(program(TRY_CALLS.trim()), args));
}

async function refusedCalls(inside: string): Promise<string> {
  const outside = answers(await runOutside(program(TRY_CALLS.trim()), OUTSIDE));
  const refused = (errno: string) =>
    [...answers(inside)].filter(([number, answer]) =>
      answer === errno && (errno === "EPERM" || outside.get(number) !== errno)
    ).map(([number]) => NAMES.get(number) ?? `#${number}`);
  return ["EPERM", "ENOSYS"].map((errno) => `${errno}: ${refused(errno).join(" ")}\n`).join("");
}

function answers(text: string): Map<number, string> {
  const rows = text.trim().split("\n").map((row) => row.split(" "));
  return new Map(rows.map(([number, answer]) => [Number(number), answer!]));
}

function numberOf(name: string): number {
  return NR_BY_MACHINE[name as keyof typeof NR_BY_MACHINE][0];
}
