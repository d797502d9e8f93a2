"""Programs that are started."""

from __future__ import annotations

import hashlib

import pytest

from minisandbox import Chunk, Keep, NotFoundError, Sandbox, Terminal, TimedOutError, UsageError


def text_of(chunks: list[Chunk], stream: str) -> bytes:
    return b"".join(chunk.bytes for chunk in chunks if chunk.stream == stream)


def test_output_comes_as_it_is_printed(sandbox: Sandbox) -> None:
    with sandbox.start(
        "read x; echo got $x; read y; echo $y >&2", stream=True, stdin_open=True
    ) as process:
        assert process.write("one\n")
        output = process.output()
        first = next(output)
        assert (first.stream, first.offset, first.text) == ("stdout", 0, "got one\n")
        process.write(b"two\n", last=True)
        rest = list(output)
        assert text_of(rest, "stderr") == b"two\n"
        assert process.wait().exit_code == 0
        assert process.wait().stdout.text == "got one\n"


def test_much_output_is_whole_and_in_order(sandbox: Sandbox) -> None:
    count = 3_000_000
    with sandbox.start(f"head -c {count} /dev/urandom | tee /tmp/it", stream=True) as process:
        data, offset = [], 0
        for chunk in process.output():
            assert chunk.offset == offset
            offset += len(chunk.bytes)
            data.append(chunk.bytes)
    digest = sandbox.run("sha256sum < /tmp/it").stdout.text.split()[0]
    assert hashlib.sha256(b"".join(data)).hexdigest() == digest
    assert offset == count


def test_a_program_that_is_not_read_is_held_up_and_wait_reads_on(sandbox: Sandbox) -> None:
    script = "head -c 5000000 /dev/zero | tr '\\0' x; echo done > /tmp/done"
    keep = Keep(head_bytes=3, tail_bytes=0)
    with sandbox.start(script, stream=True, keep=keep) as process:
        output = process.output()
        next(output)
        with pytest.raises(TimedOutError):
            process.wait(0.5)
        assert sandbox.run("test -e /tmp/done").exit_code == 1
        output.close()
        result = process.wait()
        assert (result.stdout.text, result.stdout.total_bytes) == ("xxx", 5_000_000)
    assert sandbox.run("cat /tmp/done").stdout.text == "done\n"


def test_without_stream_there_is_no_output_to_read(sandbox: Sandbox) -> None:
    with sandbox.start("echo it") as process:
        with pytest.raises(UsageError, match="stream=True"):
            next(process.output())
        assert process.wait().stdout.text == "it\n"


def test_much_is_written_in_parts(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 20_000
    with sandbox.start("wc -c", stdin_open=True) as process:
        assert process.write(data)
        process.close_stdin()
        assert process.wait().stdout.text == f"{len(data)}\n"
        assert process.write("more") is False


def test_wait_has_a_time_limit_and_ends_nothing(sandbox: Sandbox) -> None:
    with sandbox.start("echo so far; read x", stdin_open=True) as process:
        with pytest.raises(TimedOutError):
            process.wait(0.2)
        peek = process.peek()
        assert (peek.ended, peek.stdout.text) == (False, "so far\n")
        process.close_stdin()
        assert process.wait().exit_code == 1
        assert process.peek().ended


def test_signals_are_sent(sandbox: Sandbox) -> None:
    script = (
        "trap 'echo got it; exit 5' USR1; echo ready; while :; do read -t 1 x <> /dev/zero; done"
    )
    with sandbox.start(script, stream=True) as process:
        output = process.output()
        assert next(output).text == "ready\n"
        assert process.signal("SIGUSR1")
        assert process.wait().exit_code == 5
        assert process.signal() is False


def test_the_end_of_a_block_ends_the_program_and_what_it_started(sandbox: Sandbox) -> None:
    with sandbox.start("sleep 1000 & sleep 1000") as process:
        assert [it.outcome for it in sandbox.processes() if it.process == process.id] == [None]
    outcome = process.wait().outcome
    assert outcome.kind == "cancelled"
    assert process.kill() is False
    with pytest.raises(NotFoundError):
        type(process)(sandbox.server, f"{sandbox.id}.p999", None).wait()


def test_a_terminal_has_a_size(sandbox: Sandbox) -> None:
    script = "stty size; read x; stty size"
    with sandbox.start(script, terminal=Terminal(10, 20), stdin_open=True, stream=True) as process:
        assert "10 20" in next(process.output()).text
        process.resize(Terminal(30, 40))
        process.write("\n")
        assert "30 40" in process.wait().stdout.text
