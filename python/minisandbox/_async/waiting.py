"""Waiting in a task for what another thread brings."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TypeVar

from .._answer import Answer
from ..errors import TimedOutError

T = TypeVar("T")


async def wait(answer: Answer[T], seconds: float | None = None) -> T:
    """Waits for an answer of one's own, and gives it up when the task is cancelled.

    Raises:
        TimedOutError: If that takes too long.
    """
    loop = asyncio.get_running_loop()
    come: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not come.done():
            come.set_result(None)

    def tell() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the task with it
            loop.call_soon_threadsafe(wake)

    try:
        answer.when_done(tell)
        await asyncio.wait([come], timeout=seconds)
    except BaseException:
        answer.give_up()
        raise
    if not answer.is_done:
        answer.give_up()
        raise TimedOutError(f"Cannot wait for the server: no answer in {seconds:g} s")
    return answer.result()
