/** Peer tests: SWE-ReX's own tests, with its own client, against `serve --swerex`. */
import { assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path/from-file-url";
import { BINARY, sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { run } from "../support/worst_tree.ts";

const SWEREX = "swe-rex==1.4.0";

/** Its client with what its tests import, and what builds it from its sources. */
const PACKAGES = [
  SWEREX,
  "aiohttp==3.14.5",
  "pytest==8.4.2",
  "pytest-asyncio==1.5.0",
  "setuptools==80.9.0",
  "wheel==0.45.1",
];

/** Those of its tests that concern a server or a client of one; the others start its own. */
const FILES = ["test_execution.py", "test_server.py", "test_remote_deployment.py"];

Deno.test({
  name: "SWE-ReX's own tests pass against serve --swerex, the one that it expects to fail too",
  ...requires("venv", "less"),
  fn: async () => {
    using temp = tempDir();
    const [venv, suite] = [`${temp.path}/venv`, `${temp.path}/suite`];
    await makeClient(venv);
    await makeSuite(venv, suite);
    const options = [
      ...["asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function", "markers=slow"],
    ].flatMap((option) => ["-o", option]);
    const { stdout } = await new Deno.Command(`${venv}/bin/python`, {
      args: [
        ...["-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", `--basetemp=${temp.path}/shared`],
        ...options,
        ...FILES.map((file) => `tests/${file}`),
      ],
      cwd: suite,
      env: {
        MINISANDBOX: BINARY,
        MINISANDBOX_STORE: sharedStore(),
        SWEREX_BINDS: JSON.stringify([{ source: venv, target: venv }]),
        PATH: `${venv}/bin:/usr/bin:/bin`,
      },
      stderr: "inherit",
    }).output();
    // 50, 3 and 1: "xpassed" is the one that is marked as failing on its own server.
    assertMatch(new TextDecoder().decode(stdout), /^53 passed, 1 xpassed in /m);
  },
});

async function makeClient(venv: string): Promise<void> {
  await run("/usr/bin/python3", "-m", "venv", venv);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
  await run(`${venv}/bin/python`, ...pip, ...PACKAGES);
}

/** Its tests come with its sources; what they share does not, and is ours. */
async function makeSuite(venv: string, suite: string): Promise<void> {
  const pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
  const from = ["--no-build-isolation", "--no-binary=swe-rex", "--dest", `${suite}/sdist`];
  await run(`${venv}/bin/python`, ...pip, ...from, SWEREX);
  const [sdist] = [...Deno.readDirSync(`${suite}/sdist`)].map(({ name }) => name);
  const members = FILES.map((file) => `swe_rex-1.4.0/tests/${file}`);
  const where = ["--strip-components=1", "-C", suite];
  await run("tar", "-xzf", `${suite}/sdist/${sdist}`, ...where, ...members);
  const conftest = fromFileUrl(import.meta.resolve("./swerex/conftest.py"));
  Deno.copyFileSync(conftest, `${suite}/tests/conftest.py`);
  Deno.writeTextFileSync(`${suite}/tests/__init__.py`, "");
}
