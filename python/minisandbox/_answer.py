"""A value that another thread brings.

`concurrent.futures` takes a lock for it, which a thread that is interrupted (Ctrl-C) in the wrong
moment keeps for ever. Here nobody holds a lock that another one waits for.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Callable, Generic, TypeVar, cast

T = TypeVar("T")


class Answer(Generic[T]):
    """A value, or an error, that comes once, for one who waits.

    Args:
        on_given_up: Is called if whoever waited gives up before it has come.
        stranded: Gets a value that nobody waits for any more.
    """

    def __init__(
        self,
        on_given_up: Callable[[], None] | None = None,
        stranded: Callable[[T], None] | None = None,
    ) -> None:
        self._on_given_up = on_given_up
        self._stranded = stranded
        self._callbacks: deque[Callable[[], None]] = deque()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._is_given_up = False
        #: Released when it has come.
        self._latch = threading.Lock()
        self._latch.acquire()
        self._is_done = False
        #: Whoever takes what is in them may do that once.
        self._turns_to_settle: deque[None] = deque([None])
        self._turns_to_strand: deque[None] = deque([None])

    @property
    def is_done(self) -> bool:
        """Whether it has come."""
        return self._is_done

    def settle(self, value: T) -> None:
        """Brings the value; the first stands."""
        if _take_turn(self._turns_to_settle):
            self._value = value
            self._finish()

    def fail(self, error: BaseException) -> None:
        """Brings an error; the first stands."""
        if _take_turn(self._turns_to_settle):
            self._error = error
            self._finish()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Has something called when it has come, by whichever thread brings it."""
        self._callbacks.append(callback)
        if self._is_done:
            self._call_back()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits; False if it has not come in that time."""
        longest = threading.TIMEOUT_MAX
        left = -1 if seconds is None else min(seconds, longest)
        if not self._latch.acquire(timeout=left):
            return False
        self._latch.release()
        return True

    def result(self) -> T:
        """Gives the value that has come, or raises the error."""
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def give_up(self) -> None:
        """Says that nobody waits for it any more."""
        self._is_given_up = True
        if self._is_done:
            self._strand()
        elif self._on_given_up is not None:
            self._on_given_up()

    def _finish(self) -> None:
        self._is_done = True
        self._latch.release()
        self._call_back()
        if self._is_given_up:
            self._strand()

    def _call_back(self) -> None:
        with contextlib.suppress(IndexError):  # two threads may do this at once
            while True:
                self._callbacks.popleft()()

    def _strand(self) -> None:
        if self._error is None and self._stranded is not None and _take_turn(self._turns_to_strand):
            self._stranded(cast("T", self._value))


def _take_turn(turns: deque[None]) -> bool:
    try:
        turns.popleft()
    except IndexError:
        return False
    return True
