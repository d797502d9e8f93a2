/** What all systems work with: one environment, as archives and as folders, and the questions on it. */
import { HostError } from "../../errors.ts";
import { run } from "./child.ts";
import { fillTree } from "./filler.ts";

/** Where the layers are shown inside. */
export const PATHS = { venv: "/opt/venv", testbed: "/testbed" } as const;

/** The environment of the bench. */
export interface Site extends AsyncDisposable {
  /** A directory of this run, which the ids of a sandbox can pass. */
  readonly scratch: string;
  /** As tar.gz. */
  readonly archives: Readonly<Record<keyof typeof PATHS, string>>;
  /** Unpacked, for systems that share folders. */
  readonly folders: Readonly<Record<keyof typeof PATHS, string>>;
  /** Entries and bytes of both. */
  readonly entries: number;
  readonly bytes: number;
  /** The python that the venv was made for. */
  readonly python: string;
  readonly signal: AbortSignal;
}

/** What an environment is asked, and what it answers. */
export interface Question {
  readonly phase: string;
  readonly text: string;
  readonly expected: string;
}

/** Printed by the package when it is imported from the venv of this run. */
const IMPORTED = "bench_package of 40 modules";

/** A shell that answers at all. */
export const GREETING: Question = { phase: "answer", text: "echo hi", expected: "hi\n" };

/** An environment that is ready: its repository is clean, and its package can be imported. */
export const QUESTIONS: readonly Question[] = [
  GREETING,
  {
    phase: "git status",
    text: 'git -C "$TESTBED" status --porcelain --branch',
    expected: "## main\n",
  },
  {
    phase: "import",
    text: '"$VENV/bin/python" -c "import bench_package as b; print(b.NAME, b.__file__)"',
    expected: "",
  },
];

/** Gives the questions for an environment whose venv is at a path. */
export function questionsAt(venv: string): readonly Question[] {
  return QUESTIONS.map((question) =>
    question.phase === "import"
      ? { ...question, expected: `${IMPORTED} ${venv}/lib/bench/bench_package/__init__.py\n` }
      : question
  );
}

/** Variables of each shell: where the environment is, and a git that reads no file of a user. */
export function siteEnv(paths: Readonly<Record<keyof typeof PATHS, string>> = PATHS): Readonly<
  Record<string, string>
> {
  return {
    VENV: paths.venv,
    TESTBED: paths.testbed,
    PYTHONPATH: `${paths.venv}/lib/bench`,
    PYTHONDONTWRITEBYTECODE: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
  };
}

const MODULES = 40;

/**
 * Makes the environment: a venv with a package, filled up with files of this machine's Python, and a
 * git repository.
 *
 * @throws {HostError} If there is no Python, git or tar.
 */
export async function openSite(
  options: {
    readonly parent: string | null;
    readonly bytes: number;
    readonly signal: AbortSignal;
  },
): Promise<Site> {
  const { parent, bytes, signal } = options;
  const scratch = await Deno.makeTempDir({
    prefix: "minisandbox-bench-",
    ...(parent === null ? {} : { dir: parent }),
  });
  await using undo = new AsyncDisposableStack();
  undo.defer(async () => void await run(["rm", "-rf", scratch]));
  await Deno.chmod(scratch, 0o755);
  const folders = { venv: `${scratch}/venv`, testbed: `${scratch}/testbed` };
  const python = await findPython();
  const filled = await makeVenv(folders.venv, python, bytes);
  const files = await makeTestbed(folders.testbed);
  const archives = { venv: `${folders.venv}.tar.gz`, testbed: `${folders.testbed}.tar.gz` };
  for (const name of ["venv", "testbed"] as const) {
    signal.throwIfAborted();
    const owners = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
    await run(["tar", ...owners, "-czf", archives[name], "-C", folders[name], "."]);
  }
  const kept = undo.move();
  return {
    ...{ scratch, archives, folders, python, signal },
    entries: filled.entries + files,
    bytes: filled.bytes,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Sandboxes over the host's /usr see no other. */
async function findPython(): Promise<string> {
  for (const path of ["/usr/bin/python3", "/usr/local/bin/python3"]) {
    if (await Deno.stat(path).catch(() => null) !== null) return path;
  }
  throw new HostError("Cannot measure: there is no python3 in /usr/bin", {
    remedy: "Install the package python3.",
  });
}

async function makeVenv(
  dir: string,
  python: string,
  bytes: number,
): Promise<{ readonly bytes: number; readonly entries: number }> {
  const home = `${dir}/lib/bench/bench_package`;
  await Deno.mkdir(`${dir}/bin`, { recursive: true });
  await Deno.mkdir(home, { recursive: true });
  await Deno.symlink(python, `${dir}/bin/python`);
  const names = Array.from({ length: MODULES }, (_, i) => `part${i}`);
  for (const name of names) {
    await Deno.writeTextFile(`${home}/${name}.py`, `"""${name}"""\nX = 1\n`);
  }
  await Deno.writeTextFile(
    `${home}/__init__.py`,
    `from . import ${names.join(", ")}\nNAME = "bench_package of %d modules" % ${MODULES}\n`,
  );
  const library = await run([python, "-I", "-c", "import os; print(os.path.dirname(os.__file__))"]);
  const filled = await fillTree(`${dir}/lib/filler`, library.trim(), bytes);
  return { bytes: filled.bytes, entries: filled.entries + MODULES + 2 };
}

const SOURCES = 200;

async function makeTestbed(dir: string): Promise<number> {
  for (let i = 0; i < SOURCES; i++) {
    const folder = `${dir}/src/part${i % 20}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/file${i}.py`, `"""File ${i}."""\n`.repeat(1 + i % 40));
  }
  const env = {
    ...{ GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    ...{ GIT_AUTHOR_NAME: "bench", GIT_AUTHOR_EMAIL: "bench@localhost" },
    ...{ GIT_COMMITTER_NAME: "bench", GIT_COMMITTER_EMAIL: "bench@localhost" },
  };
  const git = (...args: string[]) => run(["git", "-C", dir, ...args], { env });
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", ".");
  await git("commit", "--quiet", "--message", "Files of the bench");
  return SOURCES;
}
