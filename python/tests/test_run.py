"""Programs that are run to their end."""

from __future__ import annotations

import math

import pytest

from minisandbox import (
    CommandError,
    GoneError,
    Keep,
    Limits,
    NotFoundError,
    OutcomeError,
    Sandbox,
    Server,
    UsageError,
)


def test_a_result_tells_how_a_program_ended_and_what_it_printed(sandbox: Sandbox) -> None:
    result = sandbox.run("echo out; echo err >&2; exit 3")
    assert (result.outcome.kind, result.exit_code, result.is_success) == ("exited", 3, False)
    assert (result.stdout.text, result.stdout.bytes) == ("out\n", b"out\n")
    assert (str(result.stderr), result.stderr.total_bytes) == ("err\n", 4)
    assert result.duration_ms > 0


def test_words_reach_a_program_as_they_are(sandbox: Sandbox) -> None:
    words = ["printf", "%s\\n", "", "a b", "ä\n", "$HOME", "'"]
    assert sandbox.run(words).stdout.text == "\na b\nä\n\n$HOME\n'\n"


def test_bytes_that_are_no_text_are_exact(sandbox: Sandbox) -> None:
    every = bytes(range(256)) * 3
    result = sandbox.run("cat", stdin=every)
    assert result.stdout.lossy
    assert result.stdout.bytes == every
    assert sandbox.run("cat", stdin="ä\0\r\n\u2028").stdout.bytes == "ä\0\r\n\u2028".encode()


def test_a_program_has_no_stdin_unless_given(sandbox: Sandbox) -> None:
    assert sandbox.run("cat").stdout.text == ""


def test_a_deadline_ends_a_program_and_its_output_is_told(sandbox: Sandbox) -> None:
    result = sandbox.run("echo before; sleep 1000 & wait", timeout=0.2)
    assert (result.outcome.kind, result.exit_code) == ("timedOut", None)
    assert result.stdout.text == "before\n"
    silent = sandbox.run("sleep 1000", no_output_timeout=0.2, timeout=math.inf)
    assert str(silent.outcome) == "noOutput"


def test_a_signal_is_told_by_name(sandbox: Sandbox) -> None:
    outcome = sandbox.run("kill -KILL $$").outcome
    assert (outcome.kind, outcome.signal, outcome.code) == ("signaled", "SIGKILL", None)


def test_directory_variables_shell_and_user_are_given(sandbox: Sandbox) -> None:
    env = {"NAME": "value"}
    assert sandbox.run("pwd; echo $NAME", cwd="/tmp", env=env).stdout.text == "/tmp\nvalue\n"
    alone = sandbox.run(["/usr/bin/env"], env=env, clear_env=True)
    assert alone.stdout.text == "NAME=value\n"
    assert sandbox.run("echo $0", shell=["sh", "-c"]).stdout.text == "sh\n"
    assert sandbox.run("id -u", user=0).stdout.text == "0\n"


def test_streams_are_merged_in_order(sandbox: Sandbox) -> None:
    result = sandbox.run("echo 1; echo 2 >&2; echo 3", merge=True)
    assert (result.stdout.text, result.stderr.text) == ("1\n2\n3\n", "")


def test_what_is_kept_has_a_start_and_an_end(sandbox: Sandbox) -> None:
    output = sandbox.run("seq 1 100000", keep=Keep(head_bytes=4, tail_bytes=7)).stdout
    assert output.tail is not None
    assert (output.text, output.tail.text) == ("1\n2\n", "100000\n")
    assert output.omitted_bytes == output.total_bytes - 11
    assert str(output) == f"1\n2\n\n[{output.omitted_bytes} bytes omitted]\n100000\n"


def test_output_has_a_limit(sandbox: Sandbox) -> None:
    result = sandbox.run("yes", max_output_bytes=1000)
    assert (result.outcome.kind, result.stdout.total_bytes) == ("outputLimit", 1000)


def test_check_gives_a_success_and_raises_else(sandbox: Sandbox) -> None:
    assert sandbox.run("echo yes").check().stdout.text == "yes\n"
    with pytest.raises(OutcomeError) as caught:
        sandbox.run("echo no >&2; exit 4").check()
    assert str(caught.value) == "Cannot go on: the program ended by exited 4\n  no"
    assert caught.value.data["outcome"].code == 4


def test_limits_and_the_default_timeout_are_those_of_the_sandbox(server: Server) -> None:
    limits = Limits(file_bytes=1000, pids=math.inf)
    with server.create(limits=limits, timeout=0.2, env={"A": "b"}, workdir="/usr") as sandbox:
        assert sandbox.run("sleep 1000").outcome.kind == "timedOut"
        assert sandbox.run("pwd; echo $A", timeout=math.inf).stdout.text == "/usr\nb\n"
        assert (
            "1000"
            not in sandbox.run("head -c 2000 /dev/zero > /tmp/x; stat -c %s /tmp/x").stderr.text
        )
        assert sandbox.run("stat -c %s /tmp/x").stdout.text == "1000\n"


def test_a_program_that_is_missing_is_a_command_error(sandbox: Sandbox) -> None:
    with pytest.raises(CommandError) as caught:
        sandbox.run(["no-such-program"])
    error = caught.value
    assert (error.kind, error.code, error.exit_code) == ("command", -32003, 127)
    with pytest.raises(CommandError) as caught:
        sandbox.run(["/etc/passwd"])
    assert caught.value.exit_code == 126


def test_a_wrong_argument_is_a_usage_error(server: Server, sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match="relative"):
        sandbox.run("true", cwd="relative")
    for timeout in (0, -1, math.nan, True):
        with pytest.raises(UsageError, match="seconds"):
            sandbox.run("true", timeout=timeout)
    with pytest.raises(UsageError, match="no Unicode"):
        sandbox.run("true", stdin="\udc80")
    with pytest.raises(UsageError, match="bla"):
        server.create(spec={"bla": 1})
    with pytest.raises(TypeError):
        sandbox.run("true", timeot=1)  # type: ignore[call-arg]


def test_a_sandbox_that_was_closed_is_gone(server: Server) -> None:
    sandbox = server.create()
    assert sandbox.close() is True
    assert sandbox.close() is False
    with pytest.raises(GoneError) as caught:
        sandbox.run("true")
    assert caught.value.remedy == "Make another by sandbox.create."
    with pytest.raises(NotFoundError):
        server.attach("sb-none").run("true")
