/** Virtual environments of Python with packages in them. */
import { assertEquals } from "@std/assert";
import { ROOT } from "../../tools/checkout.ts";
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

/** The tools that `python/pyproject.toml` pins, as pip asks for them. */
export function pinnedTools(): string[] {
  const project = Deno.readTextFileSync(`${ROOT}/python/pyproject.toml`);
  const [, list] = /^dev = \[(.*)\]$/m.exec(project) ?? [];
  return JSON.parse(`[${list}]`);
}

/**
 * Makes an environment with this checkout's Python client and some of its pinned tools. What was
 * fetched is kept in the checkout; the client is put in anew.
 *
 * @returns Its directory.
 */
export async function makeClientVenv(...tools: readonly string[]): Promise<string> {
  const wanted = pinnedTools().filter((pin) => tools.includes(pin.replace(/==.*/, ""))).sort();
  assertEquals(wanted.length, tools.length);
  const dir = `${ROOT}/.toolchain/venv/${wanted.join(",").replaceAll("==", "-")}`;
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  if (!isFile(`${dir}/ready`)) {
    await run("/usr/bin/python3", "-m", "venv", "--clear", dir);
    await run(`${dir}/bin/python`, ...install, ...wanted);
    Deno.writeTextFileSync(`${dir}/ready`, "");
  }
  const anew = ["--no-deps", "--no-build-isolation", "--force-reinstall"];
  await run(`${dir}/bin/python`, ...install, ...anew, `${ROOT}/python`);
  return dir;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
