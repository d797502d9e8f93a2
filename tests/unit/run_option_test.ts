/** Tests of the options of `run`: what each becomes, and the whole message of each refusal. */
import { assertEquals, assertRejects } from "@std/assert";
import { findOutcomeFile, parseRunLine } from "../../src/cli/run_option.ts";
import { NotFoundError, UsageError } from "../../src/errors.ts";

const wish = async (...argv: string[]) => (await parseRunLine(argv)).wish;
const refusal = async (...argv: string[]) =>
  (await assertRejects(() => parseRunLine(argv), UsageError)).message;

Deno.test("parseRunLine() turns each option into a field", async () => {
  const { wish, ...line } = await parseRunLine([
    ...["-l", "/a.tar:/opt/a", "-b", "/base", "-w", "/w", "-e", "A=1", "-e", "B="],
    ...["--bind", "/x:/y", "--bind", "/p:/q:rw", "--network", "host", "-u", "1000"],
    ...["--timeout", "1.5", "--upper", "tmpfs:2M", "--hostname", "h", "-ti", "--plan"],
    ...["--store", "/s", "--quiet", "--", "ls", "--", "-l"],
  ]);
  assertEquals(wish.layers, [{ archive: "/a.tar", path: "/opt/a" }]);
  assertEquals([wish.base, wish.workdir, wish.user], ["/base", "/w", "1000"]);
  assertEquals([wish.network, wish.hostname, wish.timeoutMs], ["host", "h", 1500]);
  assertEquals(wish.env, { A: "1", B: "" });
  assertEquals(wish.binds, [
    { source: "/x", target: "/y", writable: false },
    { source: "/p", target: "/q", writable: true },
  ]);
  assertEquals(wish.upper, { kind: "tmpfs", sizeBytes: 2 << 20 });
  assertEquals(wish.command, ["ls", "--", "-l"]);
  assertEquals([line.isTerminal, line.isInteractive, line.isPlan, line.isQuiet, line.store], [
    ...[true, true, true, true, "/s"],
  ]);
});

Deno.test("a relative path is taken from our directory, a name stays a name", async () => {
  const cwd = Deno.cwd();
  assertEquals((await wish("-b", "./x")).base, `${cwd}/x`);
  assertEquals((await wish("-b", "host")).base, "host");
  assertEquals((await wish("--bind", "x:/y")).binds[0]!.source, `${cwd}/x`);
  assertEquals((await wish("--upper-dir", "x")).upper, { kind: "disk", dir: `${cwd}/x` });
});

Deno.test("--env takes our value, and leaves out what we have not", async () => {
  Deno.env.set("MINISANDBOX_TEST_VALUE", "a=b");
  try {
    assertEquals((await wish("-e", "MINISANDBOX_TEST_VALUE", "-e", "MINISANDBOX_TEST_NONE")).env, {
      MINISANDBOX_TEST_VALUE: "a=b",
    });
  } finally {
    Deno.env.delete("MINISANDBOX_TEST_VALUE");
  }
});

Deno.test("sizes are read in powers of 1024", async () => {
  const size = async (text: string) => {
    const { upper } = await wish("--upper", `tmpfs:${text}`);
    return upper.kind === "tmpfs" ? upper.sizeBytes : null;
  };
  for (
    const [text, bytes] of [
      ["4096", 4096],
      ["4K", 4096],
      ["1.5M", 1572864],
      ["2g", 2 ** 31],
      ["1GB", 2 ** 30],
      ["1GiB", 2 ** 30],
      ["1T", 2 ** 40],
    ] as const
  ) assertEquals([text, await size(text)], [text, bytes]);
});

Deno.test("parseRunLine() refuses each bad form in one message", async () => {
  assertEquals(
    await refusal("ls", "-l", "x:/y"),
    'Cannot read the command line: "ls" stands before --. ' +
      "Give the command after --, such as: minisandbox run -- ls -l.",
  );
  assertEquals(
    await refusal("--bind", "/x"),
    'Cannot read --bind "/x": it is no SRC:DST[:ro|rw]. Give paths that hold a colon by --spec FILE.',
  );
  assertEquals(
    await refusal("-e", "=x"),
    'Cannot read --env "=x": it has no name. Give it as NAME=VALUE.',
  );
  assertEquals(
    await refusal("--network", "bridge"),
    'Cannot read --network "bridge": no such network. Give none, blackhole or host.',
  );
  for (const seconds of ["x", "-1", "1e3", ".5", "1.", "0x10", "∞"]) {
    assertEquals(
      await refusal(`--timeout=${seconds}`),
      `Cannot read --timeout "${seconds}": no number of seconds. Give it as 60 or 0.5.`,
    );
  }
  assertEquals(
    await refusal("--upper", "disk:5M"),
    'Cannot read --upper "disk:5M": no such place. Give disk, tmpfs or tmpfs:SIZE.',
  );
  assertEquals(
    await refusal("--upper", "tmpfs", "--upper-dir", "/x"),
    "Cannot use --upper-dir with --upper tmpfs: memory has no directory. Give one of them.",
  );
  assertEquals(
    await refusal("--upper", "tmpfs:1X"),
    'Cannot read the size "1X": no size of 4K or more. Give it as 512M or 2G.',
  );
  assertEquals(
    await refusal("-w", "/a", "--workdir", "/b"),
    "Cannot read the command line: --workdir is given twice. Give it once.",
  );
});

Deno.test("a spec that is missing or a directory is refused", async () => {
  const missing = await assertRejects(() => parseRunLine(["--spec", "/no/such"]), NotFoundError);
  assertEquals(missing.message, 'Cannot read the spec "/no/such": no such file');
  assertEquals((await refusal("--spec", "/usr")).startsWith('Cannot read the spec "/usr": '), true);
});

Deno.test("findOutcomeFile() finds the last of them, before -- only", () => {
  assertEquals(findOutcomeFile(["--outcome", "a", "--bad", "--", "--outcome", "b"]), "a");
  assertEquals(findOutcomeFile(["--outcome=a", "--outcome", "b=c"]), "b=c");
  assertEquals(findOutcomeFile(["--", "--outcome", "b"]), undefined);
  assertEquals(findOutcomeFile(["--outcome"]), undefined);
});
