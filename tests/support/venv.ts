/** A virtual environment of Python with a large package in it. */
import { run } from "./worst_tree.ts";

/** Makes it, with more than 5,000 files. */
export async function makeVenv(dir: string): Promise<void> {
  await run("/usr/bin/python3", "-m", "venv", dir);
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--no-compile",
  ];
  await run(`${dir}/bin/python`, ...pip, "django==5.0.6");
}
