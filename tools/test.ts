/** Builds the program and runs the test suites, each within its share of CI's time. */
import { checkCounts } from "./attack_count.ts";
import { build } from "./build.ts";
import { listFiles } from "./checkout.ts";
import { type Identity, openSelves, openUsers } from "./identity.ts";
import {
  addCounts,
  countJunit,
  type Counts,
  formatCounts,
  listFailures,
  NO_TESTS,
} from "./junit.ts";

/** What each suite may take, in minutes, as ourselves; with the build they fill CI's 40 minutes. */
const SUITE_MINUTES: Readonly<Record<string, number>> = {
  unit: 1.5,
  integration: 21,
  escape: 5.5,
  peer: 6,
};

/** What the same suites may take for each further user; users are tested beside ourselves. */
const USER_MINUTES: Readonly<Record<string, number>> = { integration: 14, escape: 5 };

/** The suites whose subject depends on who runs them. */
const SUITES_OF_EACH_USER: readonly string[] = Object.keys(USER_MINUTES);

/** Files of those suites whose subject does not: they are run as ourselves alone. */
const ONCE = [
  "escape/archive_fuzz",
  ...[
    "bench",
    "command_line",
    "diff_git",
    "ffi_constant",
    "ffi_layout",
    "ffi_readiness",
    "file_descriptor",
    "file_large",
    "fork_pip",
    "python_client",
    "rpc_fuzz",
    "serve_crowd",
    "serve_fuzz",
    "serve_soak",
    "serve_swerex",
    "serve_swerex_session",
    "session_end",
    "session_output",
    "session_program",
    "session_state",
    "session_timeout",
  ].map((name) => `integration/${name}`),
].map((path) => `tests/${path}_test.ts`);

const SUITES = Object.keys(SUITE_MINUTES);

async function testAll(names: readonly string[]): Promise<Counts> {
  const unknown = names.find((name) => !SUITES.includes(name));
  if (unknown !== undefined) {
    throw new Error(`Cannot test "${unknown}": no such suite. Choose from ${SUITES.join(", ")}.`);
  }
  const chosen = names.length > 0 ? names : SUITES;
  await build();

  let counts = NO_TESTS;
  const rows: string[] = [];
  const failures: string[] = [];
  const attacks = new Map<string, number>();
  const testLane = async (identities: Iterable<Identity> | AsyncIterable<Identity>) => {
    for await (const identity of identities) {
      const { isSelf, suites = isSelf ? SUITES : SUITES_OF_EACH_USER } = identity;
      for (const suite of chosen.filter((name) => suites.includes(name))) {
        const { seconds, ...found } = await testSuite(suite, identity, failures);
        rows.push(`${suite} as ${identity.name}: ${formatCounts(found)} in ${seconds} s`);
        counts = addCounts(counts, found);
        const { kind } = identity;
        const fewest = Math.min(attacks.get(kind) ?? Infinity, found.passed);
        if (suite === "escape") attacks.set(kind, fewest);
      }
    }
  };
  // Side by side: most tests wait for processes, and a user meets nothing of another's.
  const lanes = [testLane(openSelves())];
  if (chosen.some((name) => SUITES_OF_EACH_USER.includes(name))) lanes.push(testLane(openUsers()));
  await Promise.all(lanes);
  // Said again where it is looked for: above the counts, below the many lines of all tests.
  for (const failure of failures) console.log(`\n${failure}`);
  console.log(`\n${rows.join("\n")}`);
  const complaints = checkCounts(attacks);
  for (const complaint of complaints) console.error(`test: ${complaint}`);
  return { ...counts, failed: counts.failed + complaints.length };
}

async function testSuite(
  suite: string,
  identity: Identity,
  failures: string[],
): Promise<Counts & { readonly seconds: string }> {
  const files = (await listFiles(`tests/${suite}`)).filter((path) =>
    path.endsWith("_test.ts") && (identity.isSelf || !ONCE.includes(path))
  );
  const minutes = (identity.isSelf ? SUITE_MINUTES : USER_MINUTES)[suite] ?? 0;
  const deadline = AbortSignal.timeout(minutes * 60_000);
  const started = performance.now();
  let counts = NO_TESTS;
  console.log(`\n${suite} as ${identity.name}: ${files.length} files, at most ${minutes} minutes`);
  if (files.length === 0) {
    console.error(`test: Cannot run ${suite}: it holds no test.`);
    return { ...NO_TESTS, failed: 1, seconds: "0.0" };
  }
  // One process a file: what a test does to its process reaches no other file, a crash neither.
  for (const file of files) {
    counts = addCounts(counts, await testFile(file, identity, deadline, failures));
    if (deadline.aborted) {
      console.error(`test: Cannot finish ${suite}: its ${minutes} minutes ended in ${file}.`);
      break;
    }
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${suite} as ${identity.name}: ${formatCounts(counts)} in ${seconds} s`);
  return { ...counts, seconds };
}

async function testFile(
  file: string,
  identity: Identity,
  deadline: AbortSignal,
  failures: string[],
): Promise<Counts> {
  const report = await Deno.makeTempFile({ prefix: "minisandbox-junit-" });
  try {
    await identity.allowWrite(report);
    const args = [
      "test",
      "--allow-all",
      "--no-check",
      `--junit-path=${report}`,
      // Two that write at once can be read if one of them writes little.
      `--reporter=${identity.isSelf ? "pretty" : "dot"}`,
      file,
    ];
    const isSuccess = await identity.deno(args, deadline);
    const xml = await Deno.readTextFile(report);
    const counts = countJunit(xml);
    const isUncounted = !isSuccess && counts.failed === 0;
    const found = isUncounted ? [`${file}: its process failed`] : listFailures(xml);
    failures.push(...found.map((it) => `failed as ${identity.name}: ${it}`));
    return isUncounted ? { ...counts, failed: 1 } : counts;
  } finally {
    await Deno.remove(report);
  }
}

if (import.meta.main) {
  let counts: Counts = { ...NO_TESTS, failed: 1 };
  try {
    counts = await testAll(Deno.args);
  } catch (error) {
    console.error(`test: ${error instanceof Error ? error.message : error}`);
  }
  console.log(`\n${formatCounts(counts)}`);
  Deno.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
}
