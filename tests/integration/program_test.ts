/** Tests that programs people run work inside, in this mode and on each base. */
import { assertEquals, assertMatch } from "@std/assert";
import { debianRootTar, hasDebianRootTar } from "../support/debian_root.ts";
import { identity } from "../support/identity.ts";
import { bash, minisandbox } from "../support/minisandbox.ts";
import {
  DEBIAN_PROGRAMS,
  HOST_PROGRAMS,
  type ProgramCase,
  PYTEST,
  REQUIRED,
} from "../support/program_case.ts";
import { ifInstalled, requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { makePytest } from "../support/venv.ts";
import { run } from "../support/worst_tree.ts";
import { writeWheel } from "../support/wheel.ts";

const hasOneId = identity() === "single";
const BASE = "programs";

Deno.test({
  name: "every program that CI installs is there",
  ignore: Deno.env.get("MUST_RUN") !== "1",
  fn: () => {
    const missing = REQUIRED.filter((program) => ifInstalled(program).ignore);
    assertEquals(missing, []);
  },
});

const shared = tempDir();
Deno.test.afterAll(() => shared[Symbol.dispose]());

/** A pytest that is there already: where there is no network, none can be made. */
const MADE_PYTEST = Deno.env.get("MINISANDBOX_TEST_PYTEST");

const pytest = MADE_PYTEST ?? `${shared.path}/pytest`;

/** Makes what programs of the host need, when a test first asks. */
const prepareHost = once(async () => {
  Deno.mkdirSync(`${shared.path}/wheels`);
  writeWheel(`${shared.path}/wheels`, "hello", "x = 1");
  if (MADE_PYTEST === undefined) await makePytest(pytest);
});

/** Each way to run them as this user: with the options, and what is printed then if not the usual. */
const WAYS = [
  { way: "", args: [], expected: (it: ProgramCase) => it.prints, ignore: false },
  {
    way: ", without user namespaces",
    args: ["--userns", "off"],
    expected: (it: ProgramCase) => it.withoutUserns ?? it.prints,
    ignore: identity() !== "root",
  },
];

for (const { way, args, expected, ignore } of WAYS) {
  for (const it of HOST_PROGRAMS) {
    Deno.test({
      name: `on the host's programs${way}: ${it.what}`,
      ignore: ignore || requires("venv").ignore || ifInstalled(...it.needs).ignore,
      fn: async () => {
        await prepareHost();
        const binds = [`${shared.path}/wheels:/wheels`, `${pytest}:${PYTEST}`];
        await testProgram({ ...it, prints: expected(it) }, [
          ...args,
          ...binds.flatMap((bind) => ["--bind", bind]),
        ]);
      },
    });
  }
}

const debian = { ignore: requires("debootstrap").ignore || !await hasDebianRootTar() };

const importDebian = once(async () => {
  const tar = await debianRootTar();
  const { code, stderr } = await minisandbox(["base", "import", "--quiet", tar, BASE]);
  assertEquals(code, 0, stderr);
});

for (const it of DEBIAN_PROGRAMS) {
  Deno.test({
    name: `on a root of Debian: ${it.what}`,
    ...debian,
    fn: async () => {
      await importDebian();
      await testProgram(it, ["--base", BASE]);
    },
  });
}

const directory = `${shared.path}/debian`;
const unpackDebian = once(async () => {
  Deno.mkdirSync(directory);
  await run("tar", "--numeric-owner", "-xf", await debianRootTar(), "-C", directory);
});

for (const it of DEBIAN_PROGRAMS) {
  Deno.test({
    name: `on a root of Debian, without user namespaces: ${it.what}`,
    ignore: debian.ignore || identity() !== "root",
    fn: async () => {
      await unpackDebian();
      const prints = it.withoutUserns ?? it.prints;
      await testProgram({ ...it, prints }, ["--base", directory, "--userns", "off"]);
    },
  });
}

async function testProgram(it: ProgramCase, args: readonly string[]): Promise<void> {
  const script = `exec 2>&1; cd $(mktemp -d)\n${it.script}`;
  const { stdout, stderr } = await bash(script, [...args, "--timeout", "60", ...it.args ?? []]);
  assertMatch(stdout + stderr, hasOneId ? it.withOneId ?? it.prints : it.prints);
}

function once(make: () => Promise<void>): () => Promise<void> {
  let made: Promise<void> | undefined;
  return () => made ??= make();
}
