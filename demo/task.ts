/** The real bug fixes that the demo works on: what each is made of, and how it is judged. */
import { join } from "@std/path/join";

/** A real bug fix: two successive releases of a package, with the tests that tell them apart. */
export interface Task {
  readonly name: string;
  /** The release that has the bug. */
  readonly base: string;
  /** The next release, which has the fix. */
  readonly fixed: string;
  /** The Python that the counts below were found with, like `3.11`. */
  readonly python: string;
  /** The folders that hold the package's source. */
  readonly src: readonly string[];
  readonly tests: readonly string[];
  /** What the tests need, pinned. */
  readonly deps: readonly string[];
  readonly testCommand: string;
  /** The source archive of each release. */
  readonly sdists: Readonly<Record<string, Sdist>>;
  /** The files that the fix changes. */
  readonly fixFiles: readonly string[];
  /** The test files that the fixed release changed. */
  readonly testFiles: readonly string[];
  /** The tests that fail before the fix and pass after it. */
  readonly failToPass: readonly string[];
  /** How many tests pass before and after. */
  readonly passToPassCount: number;
}

/** A source archive in a package registry. */
export interface Sdist {
  readonly file: string;
  readonly sha256: string;
}

/** Reads the tasks, in the order of their names. */
export async function readTasks(): Promise<Task[]> {
  const folder = join(import.meta.dirname ?? ".", "task");
  const names = Array.from(Deno.readDirSync(folder), (entry) => entry.name).sort();
  return await Promise.all(
    names.map(async (name) => JSON.parse(await Deno.readTextFile(join(folder, name)))),
  );
}

/** Says which source archive belongs to a release. */
export function sdistOf(task: Task, version: string): Sdist {
  const sdist = task.sdists[version];
  if (sdist === undefined) throw new RangeError(`No archive of ${task.name} ${version} is known`);
  return sdist;
}

/** Says where the package's modules lie in the repository: `/testbed` or a folder in it. */
export function sourceRoot(task: Task): string {
  return task.src.includes("src") ? "/testbed/src" : "/testbed";
}
