/** Virtual environments of Python with packages in them. */
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

/** Makes one with pytest and its workers, which other users of this machine may use. */
export async function makePytest(dir: string): Promise<void> {
  await run("/usr/bin/python3", "-m", "venv", dir);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  await run(`${dir}/bin/python`, ...pip, "pytest==8.3.4", "pytest-xdist==3.6.1");
}
