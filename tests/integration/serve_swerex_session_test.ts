/** Tests of sessions as SWE-ReX clients use them. */
import { assertEquals, assertMatch } from "@std/assert";
import { requires } from "../support/requirement.ts";
import { SwerexServer } from "../support/swerex_client.ts";

/** A server, and one session of a sandbox of it. */
class Session extends SwerexServer {
  #path: string | undefined;

  async path(): Promise<string> {
    if (this.#path === undefined) {
      this.#path = `/${await this.rpc.create()}`;
      await this.ok(`${this.#path}/create_session`, { session_type: "bash" });
    }
    return this.#path;
  }

  // deno-lint-ignore no-explicit-any
  async run(command: string, more: object = {}): Promise<any> {
    const action = { command, action_type: "bash", ...more };
    return await this.ok(`${await this.path()}/run_in_session`, action);
  }

  async fail(command: string, more: object = {}): ReturnType<SwerexServer["raised"]> {
    const action = { command, action_type: "bash", ...more };
    return await this.raised(`${await this.path()}/run_in_session`, action);
  }

  // deno-lint-ignore no-explicit-any
  async interrupt(more: object = {}): Promise<any> {
    const action = { action_type: "bash_interrupt", ...more };
    return await this.ok(`${await this.path()}/run_in_session`, action);
  }
}

const OBSERVED = { exit_code: 0, failure_reason: "", expect_string: "", session_type: "bash" };
const SILENT = { check: "silent" };

Deno.test("a session tells output to the byte, and exit codes as check wants them", async () => {
  await using session = new Session();
  assertEquals(await session.run("printf ' \\n x'"), { ...OBSERVED, output: " \n x" });
  assertEquals(
    (await session.run("printf '\\xff\\r\\n\\x1b[31mred\\x1b[0m'")).output,
    "\\xff\r\nred",
  );
  assertEquals((await session.run("exit 3", SILENT)).exit_code, 3);
  assertEquals((await session.run("exit 3", { check: "ignore" })).exit_code, null);
  const failed = await session.fail("echo why; exit 3", { error_msg: "first" });
  assertEquals(failed.class_path, "swerex.exceptions.NonZeroExitCodeError");
  assertMatch(
    failed.message,
    /^first: Command "echo why; exit 3" failed with exit code 3\..*\n"why\\n"$/,
  );
  await session.run("cd /usr; x=1; f() { echo $x; }");
  assertEquals((await session.run("pwd; f")).output, "/usr\n1\n");
});

Deno.test("what is no shell is told in bash's words, and nothing of it is done", async () => {
  await using session = new Session();
  for (const check of ["raise", "silent", "ignore"]) {
    const wrong = await session.fail("touch /tmp/done\n(a", { check });
    assertEquals(wrong.class_path, "swerex.exceptions.BashIncorrectSyntaxError");
    assertEquals(wrong.extra_info["bash_stdout"], "");
    assertMatch(wrong.extra_info["bash_stderr"]!, /syntax error/);
  }
  assertEquals((await session.run("ls /tmp")).output, "");
});

Deno.test("a command that is late is ended with all it started; an interrupt tells what it printed", async () => {
  await using session = new Session();
  const late = { timeout: 0.3, check: "ignore" };
  const said = await session.fail("echo begun; sleep 1000 & sleep 1000", late);
  assertEquals(said.class_path, "swerex.exceptions.CommandTimeoutError");
  const count = "pgrep -c sleep";
  assertEquals((await session.run(count, SILENT)).output, "0\n");
  await session.fail("echo begun; sleep 1000", late);
  assertEquals(await session.interrupt(), { ...OBSERVED, output: "begun" });
  assertEquals(await session.interrupt(), { ...OBSERVED, output: "" });
  assertEquals((await session.run("echo asdf")).output, "asdf\n");
});

Deno.test("that a command had to be killed is told with the next output only if that is asked for", async () => {
  const stubborn = "(trap '' INT; exec sleep 1000)";
  for (
    const [options, expected] of [
      [[], "asdf\n"],
      [["--swerex-compat", "kill-word"], `[1]+  Killed                  ${stubborn}\nasdf\n`],
    ] as const
  ) {
    await using session = new Session(...options);
    await session.fail(stubborn, { timeout: 0.1 });
    await session.interrupt();
    assertEquals((await session.run("echo asdf")).output, expected);
    assertEquals((await session.run("echo asdf")).output, "asdf\n");
    await session.fail("sleep 1000", { timeout: 0.1 }); // which SIGINT ends
    assertEquals((await session.run("echo asdf")).output, "asdf\n");
  }
});

Deno.test({
  name: "an interactive program is talked to, and normal commands go on after it",
  ...requires("python3"),
  fn: async () => {
    await using session = new Session();
    const typed = { is_interactive_command: true, expect: [">>> "], timeout: 20 };
    for (let round = 0; round < 2; round++) {
      assertMatch((await session.run("python3 -q", typed)).expect_string, />>> /);
      assertEquals(await session.run("print('a\\nb')", typed), {
        ...OBSERVED,
        output: "a\nb\n",
        expect_string: ">>> ",
      });
      const late = await session.fail("1", { ...typed, expect: ["never"], timeout: 0.1 });
      assertEquals(late.class_path, "swerex.exceptions.CommandTimeoutError");
      const busy = await session.fail("echo normal");
      assertEquals(busy.class_path, "swerex.exceptions.SwerexException");
      const quit = { is_interactive_quit: true, timeout: 20 };
      assertEquals((await session.run("exit(4)\n", quit)).exit_code, 4);
      assertEquals((await session.run("echo normal")).output, "normal\n");
    }
    const wrong = await session.fail("cat", { is_interactive_command: true, expect: ["("] });
    assertEquals(wrong.class_path, "re.error");
  },
});

Deno.test({
  name: "an interactive program is interrupted, and goes on where it was waited for",
  ...requires("python3"),
  fn: async () => {
    await using session = new Session();
    const typed = { is_interactive_command: true, expect: [">>> "], timeout: 20 };
    await session.run("python3 -q", typed);
    await session.fail("import time; time.sleep(1000)", { ...typed, timeout: 0.3 });
    const interrupted = await session.interrupt({ expect: [">>> "], timeout: 5 });
    assertMatch(interrupted.output, /KeyboardInterrupt/);
    assertEquals(interrupted.expect_string, ">>> ");
    assertEquals((await session.run("print(1)", typed)).output, "1\n");
    assertEquals((await session.interrupt({ timeout: 0.2 })).exit_code, 0);
    assertEquals((await session.run("echo normal")).output, "normal\n");
  },
});

Deno.test("a normal command that is waited for by its output goes on without an exit code", async () => {
  await using session = new Session();
  const wish = { ...SILENT, expect: ["rea.y"], timeout: 20 };
  assertEquals(await session.run("echo not ready; cat", wish), {
    ...OBSERVED,
    output: "not ",
    exit_code: null,
    expect_string: "rea.y",
  });
  await session.interrupt();
  const over = await session.run("echo other; false", wish);
  assertEquals([over.output, over.exit_code], ["other\n", 1]);
});

Deno.test("sessions have names of their own, and can be opened anew once they have ended", async () => {
  await using session = new Session();
  const path = await session.path();
  const open = { session_type: "bash" };
  const classOf = async (endpoint: string, wish: object) =>
    (await session.raised(`${path}/${endpoint}`, wish)).class_path;
  assertEquals(await classOf("create_session", open), "swerex.exceptions.SessionExistsError");
  const other = { session: "other", action_type: "bash", command: "true" };
  const missing = "swerex.exceptions.SessionDoesNotExistError";
  assertEquals(await classOf("run_in_session", other), missing);
  assertEquals(await classOf("close_session", { ...open, session: "other" }), missing);

  assertEquals((await session.fail("kill -9 $$")).class_path, "swerex.exceptions.NoExitCodeError");
  assertEquals((await session.fail("echo x")).class_path, missing);
  await session.ok(`${path}/create_session`, open);
  assertEquals((await session.run("echo x")).output, "x\n");
});

Deno.test("a session reads files first, and is not opened if that takes too long", async () => {
  await using session = new Session();
  const path = await session.path();
  await session.run("echo 'echo hi; PS1=x; y=2' > /tmp/rc; echo 'sleep 1000' > /tmp/slow");
  const open = (name: string, file: string) => ({
    session: name,
    session_type: "bash",
    startup_source: ["/tmp/rc", file],
    startup_timeout: 0.5,
  });
  assertEquals(await session.ok(`${path}/create_session`, open("a", "/tmp/rc")), {
    output: "hi\nhi\n",
    session_type: "bash",
  });
  assertEquals((await session.run("echo $y", { session: "a" })).output, "2\n");
  const late = await session.raised(`${path}/create_session`, open("b", "/tmp/slow"));
  assertEquals(late.class_path, "pexpect.exceptions.TIMEOUT");
  const none = await session.fail("true", { session: "b" });
  assertEquals(none.class_path, "swerex.exceptions.SessionDoesNotExistError");
});
