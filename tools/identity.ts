/** The users that the suites run as: ourselves and, for root, ordinary users of this host. */
import { delegateCgroups, type Delegation, NO_DELEGATION } from "./cgroup.ts";
import { BINARY, ROOT } from "./checkout.ts";

/** Variables that describe the user who started us, not the one a suite runs as. */
const OWN_VARIABLES = /^(HOME|USER|LOGNAME|MAIL|PATH|SHELL|TMPDIR|XDG_.*|DENO_DIR|SUDO_.*)$/;

/** Deno's test reporter colours a file or pipe too, unless told not to. */
const COLOR: Record<string, string> = Deno.stdout.isTerminal() ? {} : { NO_COLOR: "1" };

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Joins the cgroups named before `--`, then executes what follows it. */
const JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit; shift; done; shift; exec "$@"';

const ORDINARY = "an ordinary user";

/** One user, and the checkout he uses. */
export interface Identity {
  readonly name: string;
  /** Who that is to a reader who does not know this machine. */
  readonly kind: string;
  readonly isSelf: boolean;
  /** The suites that are run so; all that depend on the user if left out. */
  readonly suites?: readonly string[];
  /** Lets the user write a file of ours. */
  allowWrite(file: string): Promise<void>;
  /** Runs Deno in the checkout and tells whether it succeeded; the signal ends it and its group. */
  deno(args: readonly string[], signal: AbortSignal): Promise<boolean>;
}

/** Yields ourselves, and if we are root also ourselves without user namespaces. */
export function* openSelves(): Generator<Identity> {
  yield openSelf(Deno.uid() === 0 ? "root" : `uid ${Deno.uid()}`);
  if (Deno.uid() !== 0) return;
  yield {
    ...openSelf("root with --userns off", { MINISANDBOX_TEST_USERNS: "off" }),
    isSelf: false,
    suites: ["escape"],
  };
}

/**
 * Yields each user named in `MINISANDBOX_TEST_USERS` if we are root; those named in
 * `MINISANDBOX_TEST_CGROUPS` too have cgroups of their own.
 *
 * A user gets a copy of the checkout, since ours may lie where he cannot read; it is removed when
 * the next one is asked for.
 *
 * @throws {Error} If a user is missing, or none is named where tests must run.
 */
export async function* openUsers(): AsyncGenerator<Identity> {
  if (Deno.uid() !== 0) return;
  const users = readNames("MINISANDBOX_TEST_USERS");
  const delegated = readNames("MINISANDBOX_TEST_CGROUPS");
  if (users.length === 0 && Deno.env.get("MUST_RUN") === "1") {
    throw new Error(
      "Cannot test as ordinary users: none is named. Set MINISANDBOX_TEST_USERS=NAME,NAME.",
    );
  }
  if (users.length === 0) console.log("\nMINISANDBOX_TEST_USERS names no ordinary user: root only");
  for (const user of users) {
    const entry = await readUser(user);
    const checkout = await Deno.makeTempDir({ prefix: `minisandbox-${user}-` });
    const cgroups = delegated.includes(user) ? delegateCgroups(user, entry) : NO_DELEGATION;
    try {
      yield await openUser(user, { home: entry.home, checkout, cgroups });
    } finally {
      cgroups.remove();
      await Deno.remove(checkout, { recursive: true });
    }
  }
}

function openSelf(name: string, env: Record<string, string> = {}): Identity {
  return {
    name,
    kind: Deno.uid() === 0 ? name : ORDINARY,
    isSelf: true,
    allowWrite: () => Promise.resolve(),
    deno: (args, signal) =>
      runGroup(Deno.execPath(), {
        args,
        cwd: ROOT,
        env: { MINISANDBOX_BIN: BINARY, ...env, ...COLOR },
        signal,
      }),
  };
}

function readNames(variable: string): string[] {
  return (Deno.env.get(variable) ?? "").split(",").filter(Boolean);
}

async function openUser(
  name: string,
  { home, checkout, cgroups }: { home: string; checkout: string; cgroups: Delegation },
): Promise<Identity> {
  await copyCheckout(checkout, name);
  const inherited = Object.entries(Deno.env.toObject()).filter(([key]) => !OWN_VARIABLES.test(key));
  const env = {
    ...Object.fromEntries(inherited),
    ...{ HOME: home, USER: name, LOGNAME: name, SHELL: "/bin/sh", PATH },
    DENO_DIR: `${checkout}/.toolchain/cache`,
    MINISANDBOX_BIN: `${checkout}/dist/minisandbox`,
    // What a user's store begins with takes seconds to make: it is made once for all test files.
    MINISANDBOX_TEST_SEED: `${checkout}/.toolchain/seed`,
    ...COLOR,
  };
  const prefix = ["setpriv", `--reuid=${name}`, `--regid=${name}`, "--init-groups", "--"];
  return {
    name,
    kind: ORDINARY,
    isSelf: false,
    allowWrite: (file) => run("chown", [name, file]),
    deno: (args, signal) =>
      runGroup("sh", {
        args: [
          "-c",
          JOIN,
          "sh",
          ...cgroups.joinFiles,
          "--",
          ...prefix,
          `${checkout}/.toolchain/deno`,
          ...args,
        ],
        cwd: checkout,
        env,
        isEnvClear: true,
        signal,
      }),
  };
}

async function readUser(user: string): Promise<{ uid: number; gid: number; home: string }> {
  const { success, stdout } = await new Deno.Command("getent", { args: ["passwd", user] }).output();
  const [, , uid, gid, , home] = new TextDecoder().decode(stdout).split(":");
  if (!success || home === undefined) {
    throw new Error(`Cannot test as "${user}": no such user. Make it by useradd.`);
  }
  return { uid: Number(uid), gid: Number(gid), home };
}

async function copyCheckout(checkout: string, user: string): Promise<void> {
  const cache = Deno.env.get("DENO_DIR");
  for await (const { name } of Deno.readDir(ROOT)) {
    if (name !== ".git" && name !== ".toolchain") {
      await run("cp", ["-a", "--reflink=auto", `${ROOT}/${name}`, checkout]);
    }
  }
  await Deno.mkdir(`${checkout}/.toolchain`);
  await run("cp", ["--reflink=auto", Deno.execPath(), `${checkout}/.toolchain/deno`]);
  if (cache !== undefined) {
    await run("cp", ["-a", "--reflink=auto", cache, `${checkout}/.toolchain/cache`]);
  }
  await run("chown", ["-R", `${user}:`, checkout]);
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

interface GroupOptions {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly isEnvClear?: boolean;
  readonly signal: AbortSignal;
}

async function runGroup(program: string, options: GroupOptions): Promise<boolean> {
  const child = new Deno.Command(program, {
    args: [...options.args],
    cwd: options.cwd,
    env: options.env,
    clearEnv: options.isEnvClear ?? false,
    detached: true,
    stdin: "null",
  }).spawn();
  // Our own terminal's Ctrl-C reaches only us, for the child leads a session of its own.
  const kill = (): void => {
    try {
      Deno.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  const interrupt = (): never => {
    kill();
    Deno.exit(130);
  };
  options.signal.addEventListener("abort", kill);
  for (const name of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(name, interrupt);
  try {
    return (await child.status).success;
  } finally {
    options.signal.removeEventListener("abort", kill);
    for (const name of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(name, interrupt);
  }
}
