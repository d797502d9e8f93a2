"""Shells that live across calls."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from minisandbox import (
    AsyncServer,
    Chunk,
    Keep,
    NotFoundError,
    OutcomeError,
    Sandbox,
    UsageError,
)


def test_a_session_keeps_directory_and_variables(sandbox: Sandbox) -> None:
    with sandbox.session(cwd="/usr", env={"A": "b"}) as session:
        assert session.run("pwd; echo $A").output.text == "/usr\nb\n"
        session.run("cd /tmp; x=1; f() { echo f $x; }")
        assert session.run("pwd; f").check().output.text == "/tmp\nf 1\n"
        failed = session.run("false")
        assert (failed.exit_code, failed.is_success, failed.ended) == (1, False, False)
        with pytest.raises(OutcomeError, match="exited 1"):
            failed.check()
        assert [(it.session, it.open) for it in sandbox.sessions()] == [("default", True)]
    assert session.close() is False
    with pytest.raises(NotFoundError):
        session.run("true")


def test_bytes_and_syntax_errors_are_told(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        assert session.run("printf '\\377\\0a'").output.bytes == b"\xff\0a"
        wrong = session.run("echo before; if")
        assert (wrong.outcome.kind, "before\n" in wrong.output.text) == ("syntaxError", False)
        assert "syntax error" in str(wrong.outcome)
        cut = session.run("seq 1 1000", keep=Keep(2, 5)).output
        assert cut.tail is not None
        assert (cut.text, cut.tail.text) == ("1\n", "1000\n")


def test_after_a_deadline_the_session_goes_on(sandbox: Sandbox) -> None:
    with sandbox.session("one", timeout=1000) as session:
        session.run("cd /tmp; x=5")
        slow = session.run("echo before; sleep 1000", timeout=0.3)
        assert (slow.outcome.kind, slow.output.text) == ("timedOut", "before\n")
        assert session.run("echo $x; pwd").output.text == "5\n/tmp\n"
        with pytest.raises(UsageError, match="one"):
            sandbox.session("one")


def test_output_is_heard_as_it_comes(sandbox: Sandbox) -> None:
    heard: list[str] = []

    def hear(chunk: Chunk) -> None:
        heard.append(chunk.text)
        sandbox.run("touch /tmp/go")

    with sandbox.session() as session:
        command = "echo 1; while ! test -e /tmp/go; do :; done; echo 2"
        result = session.run(command, on_output=hear)
    assert "".join(heard) == result.output.text == "1\n2\n"


def test_an_interactive_program_is_talked_to(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        begun = session.start("python3 -q", expect=[">>> "], timeout=30)
        assert begun.match is not None
        assert (begun.match.index, begun.timed_out, begun.result) == (0, False, None)
        prompt = re.compile("^>>> ", re.MULTILINE)
        said = session.send("6 * 7\n", expect=["never", prompt], timeout=30)
        assert said.match is not None
        assert (said.match.index, "42" in said.output.text) == (1, True)
        ended = session.send("exit(3)\n", last=True, timeout=30)
        assert ended.result is not None
        assert ended.result.exit_code == 3
        with pytest.raises(UsageError, match="flags"):
            session.send("", expect=[re.compile("a", re.VERBOSE)])


def test_what_runs_is_interrupted_from_another_thread(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        kinds: list[str] = []
        command = "touch /tmp/ready; sleep 1000"
        thread = threading.Thread(target=lambda: kinds.append(session.run(command).outcome.kind))
        thread.start()
        sandbox.run("while ! test -e /tmp/ready; do :; done")
        assert session.interrupt() is None
        thread.join()
        assert kinds == ["interrupted"]
        assert session.run("echo lives").output.text == "lives\n"


def test_a_cancelled_task_ends_its_command_alone() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            async with await sandbox.session() as session:
                task = asyncio.create_task(session.run("x=1; touch /tmp/ready; sleep 1000"))
                await sandbox.run("while ! test -e /tmp/ready; do :; done")
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (await session.run("echo lives $x")).output.text == "lives 1\n"

    asyncio.run(work())
