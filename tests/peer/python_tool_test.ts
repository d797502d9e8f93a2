/** Peer tests: ruff and mypy have nothing to say of the Python client, and pip takes it as a wheel. */
import { assert, assertEquals } from "@std/assert";
import { ROOT } from "../../tools/checkout.ts";
import { BINARY, sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { makeClientVenv } from "../support/venv.ts";
import { run } from "../support/worst_tree.ts";

const TOOLS = ["hatchling", "mypy", "pytest", "ruff"];

/** Runs a tool in the client's directory, and gives what it says. */
async function tool(...[program = "", ...args]: readonly string[]): Promise<[number, string]> {
  const venv = await makeClientVenv(...TOOLS);
  const { code, stdout, stderr } = await new Deno.Command(`${venv}/bin/${program}`, {
    args,
    cwd: `${ROOT}/python`,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return [code, decoder.decode(stdout) + decoder.decode(stderr)];
}

Deno.test({
  name: "ruff has nothing to say of the Python client",
  ...requires("venv"),
  fn: async () => {
    assertEquals(await tool("ruff", "check", "--no-cache"), [0, "All checks passed!\n"]);
    const [code, said] = await tool("ruff", "format", "--no-cache", "--check");
    assertEquals(code, 0, said);
  },
});

Deno.test({
  name: "mypy --strict has nothing to say of the Python client",
  ...requires("venv"),
  fn: async () => {
    // The oldest that mypy knows; ruff keeps the syntax to 3.9.
    const [code, said] = await tool(
      "mypy",
      "--strict",
      "--no-incremental",
      "--python-version=3.10",
    );
    assertEquals(code, 0, said);
    assert(said.startsWith("Success: no issues found in "), said);
  },
});

Deno.test({
  name: "a wheel of the Python client brings the program, if it was told to",
  ...requires("venv"),
  fn: async () => {
    using temp = tempDir();
    const venv = await makeClientVenv(...TOOLS);
    const pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"];
    const build = [...pip, "wheel", "--no-deps", "--no-build-isolation", "-w", temp.path];
    await new Deno.Command(`${venv}/bin/python`, {
      args: [...build, `${ROOT}/python`],
      env: { MINISANDBOX_BUNDLE: BINARY },
    }).output();
    const [{ name = "" } = {}] = [...Deno.readDirSync(temp.path)];
    assertEquals(name, `minisandbox-0.1.0-py3-none-linux_${Deno.build.arch}.whl`);
    const site = `${temp.path}/site`;
    const install = [...pip, "install", "--no-deps", "--target", site, `${temp.path}/${name}`];
    await run(`${venv}/bin/python`, ...install);
    const script = "import minisandbox\n" +
      "with minisandbox.Server() as server, server.create() as sandbox:\n" +
      "    print(server, sandbox.run('echo hi').stdout)";
    const { stdout, stderr } = await new Deno.Command("/usr/bin/python3", {
      args: ["-B", "-c", script],
      env: { PATH: "/usr/bin:/bin", PYTHONPATH: site, MINISANDBOX_STORE: sharedStore() },
      clearEnv: true,
    }).output();
    assertEquals(new TextDecoder().decode(stderr), "");
    const said = new TextDecoder().decode(stdout);
    assertEquals(said, `<Server "${site}/minisandbox/bin/minisandbox"> hi\n\n`);
  },
});
