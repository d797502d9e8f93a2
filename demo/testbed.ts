/** Makes `testbed.tar.gz`, the older release as a repository of one commit, and `fix.patch`. */
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { runChecked } from "./child.ts";
import type { Task } from "./task.ts";
import { packTree } from "./venv.ts";

/** The same identity and date at every build, and no setting of this machine. */
const GIT_ENV = {
  GIT_AUTHOR_NAME: "minisandbox demo",
  GIT_AUTHOR_EMAIL: "demo@localhost",
  GIT_AUTHOR_DATE: "2020-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "minisandbox demo",
  GIT_COMMITTER_EMAIL: "demo@localhost",
  GIT_COMMITTER_DATE: "2020-01-01T00:00:00Z",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

/** What a task's repository is made into. */
export interface Testbed {
  readonly archive: string;
  /** The difference of the package's source between the releases, as git says it. */
  readonly patch: string;
  /** The package's metadata in the older release. */
  readonly packageInfo: string;
}

/** Builds the repository of a task and its fix from the archives of the two releases. */
export async function packTestbed(
  task: Task,
  options: { readonly sdists: readonly [string, string]; readonly folder: string },
): Promise<Testbed> {
  const [base, fixed] = ["testbed", "fixed"].map((name) => join(options.folder, name)) as [
    string,
    string,
  ];
  const archive = join(options.folder, "testbed.tar.gz");
  const patch = join(options.folder, "fix.patch");
  await unpack(options.sdists[0], base);
  await unpack(options.sdists[1], fixed);
  await layOver(task.testFiles, { from: fixed, onto: base });
  await git(base, ["init", "--quiet", "--template="]);
  await git(base, ["symbolic-ref", "HEAD", "refs/heads/main"]);
  await git(base, ["add", "--all", "--force"]);
  await git(base, ["commit", "--quiet", "--message", `${task.name} ${task.base}`]);
  await packTree(base, archive);
  await layOver(task.fixFiles, { from: fixed, onto: base });
  await git(base, ["add", "--all", "--force"]);
  await git(base, ["diff", "--cached", "--binary", `--output=${patch}`]);
  return { archive, patch, packageInfo: join(base, "PKG-INFO") };
}

async function unpack(archive: string, folder: string): Promise<void> {
  await Deno.mkdir(folder);
  const options = ["--strip-components=1", "--no-same-owner", "-C", folder];
  await runChecked(["tar", "-xzf", archive, ...options]);
}

/** Copies files of one tree over another; a file that the first lacks is removed. */
async function layOver(
  files: readonly string[],
  { from, onto }: { readonly from: string; readonly onto: string },
): Promise<void> {
  for (const file of files) {
    try {
      await Deno.mkdir(join(onto, dirname(file)), { recursive: true });
      await Deno.copyFile(join(from, file), join(onto, file));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await Deno.remove(join(onto, file));
    }
  }
}

async function git(repository: string, args: readonly string[]): Promise<void> {
  await runChecked(["git", "-C", repository, ...args], { env: GIT_ENV });
}
