"""Things that come one after the other, from one thread to another, or to a task."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Generic, TypeVar

from ._answer import Answer

T = TypeVar("T")


class Signal:
    """Wakes whoever waits; who waits looks again at what he waits for."""

    def __init__(self) -> None:
        self._waiting: deque[Answer[None]] = deque()

    def wait(self) -> Answer[None]:
        """Gives what comes with the next `wake`: look once more after you have it."""
        answer: Answer[None] = Answer()
        self._waiting.append(answer)
        return answer

    def wake(self) -> None:
        """Wakes all who wait now."""
        with contextlib.suppress(IndexError):  # others wake, too
            for _ in range(len(self._waiting)):
                self._waiting.popleft().settle(None)


class Feed(Generic[T]):
    """A queue with an end. Nothing is lost with a reader who gives up."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._signal = Signal()
        self._is_closed = False

    def put(self, item: T) -> None:
        """Adds one."""
        self._items.append(item)
        self._signal.wake()

    def close(self) -> None:
        """Says that no more come."""
        self._is_closed = True
        self._signal.wake()

    @property
    def is_closed(self) -> bool:
        """Whether no more come; some may be left."""
        return self._is_closed

    @property
    def is_empty(self) -> bool:
        """Whether there is none now."""
        return not self._items

    def take(self) -> T | None:
        """Takes the next, or None if there is none now."""
        try:
            return self._items.popleft()
        except IndexError:
            return None

    def changed(self) -> Answer[None]:
        """Gives what comes when there is one, or the end."""
        answer = self._signal.wait()
        if self._items or self._is_closed:
            self._signal.wake()
        return answer
