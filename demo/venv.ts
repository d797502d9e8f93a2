/** Makes `venv.tar.gz`: a virtual environment with pip, built to stand at /opt/venv. */
import { basename } from "@std/path/basename";
import { join } from "@std/path/join";
import { runChecked } from "./child.ts";
import type { Context } from "./context.ts";
import { PIP_ENV } from "./python.ts";
import { sourceRoot, type Task } from "./task.ts";

/** Where the environment stands inside a sandbox. */
export const VENV = "/opt/venv";

/** Builds the environment of a task from wheels alone, and packs it. */
export async function packVenv(
  context: Context,
  task: Task,
  options: { readonly wheels: string; readonly folder: string; readonly packageInfo: string },
): Promise<string> {
  const venv = join(options.folder, "venv");
  const archive = join(options.folder, "venv.tar.gz");
  const { executable, version } = context.python;
  await runChecked([executable, "-m", "venv", venv], { env: PIP_ENV });
  const pip = [join(venv, "bin/python"), "-m", "pip", "install", "--quiet", "--no-index"];
  await runChecked([...pip, "--find-links", options.wheels, ...task.deps], { env: PIP_ENV });
  await installEditable(join(venv, `lib/python${version}/site-packages`), task, options);
  await relocate(venv);
  await packTree(venv, archive);
  return archive;
}

/** Packs a folder as its root owns it. */
export async function packTree(folder: string, archive: string): Promise<void> {
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  await runChecked(["tar", "-czf", archive, "--sort=name", ...owner, "-C", folder, "."]);
}

/** Installs the package as `pip install --editable /testbed` does, running none of its code. */
async function installEditable(
  site: string,
  task: Task,
  { packageInfo }: { readonly packageInfo: string },
): Promise<void> {
  const info = join(site, `${task.name}-${task.base}.dist-info`);
  const direct = { url: "file:///testbed", dir_info: { editable: true } };
  await Deno.mkdir(info);
  await Deno.copyFile(packageInfo, join(info, "METADATA"));
  await Deno.writeTextFile(join(info, "INSTALLER"), "minisandbox-demo\n");
  await Deno.writeTextFile(join(info, "direct_url.json"), JSON.stringify(direct));
  await Deno.writeTextFile(join(site, `${task.name}.pth`), `${sourceRoot(task)}\n`);
  const files = ["METADATA", "INSTALLER", "direct_url.json", "RECORD"];
  const record = [...files.map((file) => join(basename(info), file)), `${task.name}.pth`];
  await Deno.writeTextFile(join(info, "RECORD"), record.map((file) => `${file},,\n`).join(""));
}

/** Writes the final path where the build path stands: in scripts and in pyvenv.cfg. */
async function relocate(venv: string): Promise<void> {
  const scripts = Array.from(Deno.readDirSync(join(venv, "bin")))
    .filter((entry) => entry.isFile).map((entry) => join(venv, "bin", entry.name));
  for (const file of [...scripts, join(venv, "pyvenv.cfg")]) {
    const text = await Deno.readTextFile(file);
    if (text.includes(venv)) await Deno.writeTextFile(file, text.replaceAll(venv, VENV));
  }
}
