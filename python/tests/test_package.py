"""The package itself."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import minisandbox
from minisandbox._answer import Answer
from minisandbox._feed import Feed, Signal
from minisandbox._wire import GarbageError, Lines, decode, encode

MAKE_SYNC = Path(__file__).parents[1] / "make_sync.py"

PAIRS = ("Server", "Sandbox", "Process", "Session", "Layers", "Snapshots", "Environments")


def test_the_client_for_threads_is_made_of_the_one_for_tasks() -> None:
    assert subprocess.run([sys.executable, str(MAKE_SYNC), "--check"], check=False).returncode == 0


@pytest.mark.parametrize("name", PAIRS)
def test_both_clients_have_the_same_methods(name: str) -> None:
    one, other = getattr(minisandbox, name), getattr(minisandbox, f"Async{name}")

    def public(cls: type) -> dict[str, str]:
        return {
            member: str(inspect.signature(value)).replace("Async", "").replace(", None", "")
            for member, value in inspect.getmembers(cls)
            if not member.startswith("_") and callable(value)
        }

    assert public(one) == public(other)


def test_everything_public_is_documented() -> None:
    for name in minisandbox.__all__:
        thing = getattr(minisandbox, name)
        if inspect.isclass(thing):
            assert thing.__doc__, name
            for member, value in vars(thing).items():
                if inspect.isfunction(value) and not member.startswith("_"):
                    assert value.__doc__, f"{name}.{member}"


def test_lines_are_cut_wherever_chunks_end() -> None:
    text = b'{"a":1}\n\n  \n{"b":"' + b"x" * 100 + b'"}\n'
    for size in (1, 2, 3, 7, 1000):
        lines = Lines(1000)
        found = [
            line for at in range(0, len(text), size) for line in lines.push(text[at : at + size])
        ]
        assert found == [b'{"a":1}', b'{"b":"' + b"x" * 100 + b'"}']
    with pytest.raises(GarbageError):
        list(Lines(10).push(b"x" * 11))


def test_what_is_no_message_is_garbage() -> None:
    for line in (b"x", b"[]", b"1", b"{}", b'{"jsonrpc":"1.0"}', b"\xff", b"[" * 100_000):
        with pytest.raises(GarbageError):
            decode(line)


def test_what_is_no_json_is_not_sent() -> None:
    assert encode({"ä": "\n\u2028"}) == '{"ä":"\\n\u2028"}\n'.encode()
    for value in (float("nan"), object(), "\ud800", b""):
        with pytest.raises(minisandbox.UsageError):
            encode({"a": value})


def test_a_feed_loses_nothing_with_a_reader_who_gives_up() -> None:
    feed: Feed[int] = Feed()
    given_up = feed.changed()
    assert not given_up.is_done
    given_up.give_up()
    feed.put(1)
    assert feed.changed().is_done
    assert (feed.take(), feed.take(), feed.is_empty) == (1, None, True)
    waiting = feed.changed()
    feed.close()
    assert waiting.is_done


def test_a_signal_wakes_all_who_wait() -> None:
    signal = Signal()
    waiting = [signal.wait() for _ in range(3)]
    waiting[1].give_up()
    signal.wake()
    assert all(it.is_done for it in waiting)


def test_an_answer_comes_once_and_what_nobody_takes_is_given_back() -> None:
    told: list[str] = []
    answer: Answer[int] = Answer(
        lambda: told.append("given up"), lambda value: told.append(str(value))
    )
    assert answer.wait(0.001) is False
    answer.when_done(lambda: told.append("done"))
    answer.settle(1)
    answer.settle(2)
    answer.fail(RuntimeError())
    answer.when_done(lambda: told.append("done at once"))
    assert (answer.wait(), answer.wait(), answer.result()) == (True, True, 1)
    assert told == ["done", "done at once"]
    answer.give_up()
    answer.give_up()
    assert told == ["done", "done at once", "1"]

    late: Answer[int] = Answer(
        lambda: told.append("given up"), lambda value: told.append(str(value))
    )
    late.give_up()
    late.settle(3)
    assert told[3:] == ["given up", "3"]
