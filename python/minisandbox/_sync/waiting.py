"""Waiting in a thread for what another one brings."""

from __future__ import annotations

from typing import TypeVar

from .._answer import Answer
from ..errors import TimedOutError

T = TypeVar("T")


def wait(answer: Answer[T], seconds: float | None = None) -> T:
    """Waits for an answer of one's own, and gives it up when interrupted, by Ctrl-C too.

    Raises:
        TimedOutError: If that takes too long.
    """
    try:
        has_come = answer.wait(seconds)
    except BaseException:
        answer.give_up()
        raise
    if not has_come:
        answer.give_up()
        raise TimedOutError(f"Cannot wait for the server: no answer in {seconds:g} s")
    return answer.result()
