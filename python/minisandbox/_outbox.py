"""What waits to be written to a server."""

from __future__ import annotations

import itertools
import os
from collections import deque

from ._answer import Answer
from ._feed import Signal

#: While so much waits, further calls wait before they are made.
_FULL_BYTES = 8 << 20

#: So many messages are written at once; Linux takes 1024.
_AT_ONCE = 64


class Outbox:
    """A queue that any thread adds to, and one thread writes."""

    def __init__(self) -> None:
        self._added: deque[bytes] = deque()
        self._unwritten: deque[memoryview] = deque()
        self._unwritten_bytes = 0
        self._room = Signal()
        #: Whether the server has closed what it reads: it is ending, or of no use.
        self.is_deaf = False

    def add(self, data: bytes) -> None:
        """Adds a message."""
        self._added.append(data)

    @property
    def is_full(self) -> bool:
        """Whether no more should be added now."""
        return self._unwritten_bytes >= _FULL_BYTES

    def room(self) -> Answer[None]:
        """Gives what comes when there is room: the writing thread must be woken then."""
        return self._room.wait()

    def wake(self) -> None:
        """Wakes whoever waits for room."""
        self._room.wake()

    @property
    def has_more(self) -> bool:
        """Whether something is left to write."""
        return bool(self._unwritten)

    def write(self, descriptor: int) -> None:
        """Writes as much as can be."""
        while self._added:
            data = self._added.popleft()
            self._unwritten.append(memoryview(data))
            self._unwritten_bytes += len(data)
        while self._unwritten:
            try:
                count = os.writev(descriptor, list(itertools.islice(self._unwritten, _AT_ONCE)))
            except BlockingIOError:
                break
            except OSError:
                self.is_deaf = True
                self._unwritten.clear()
                self._unwritten_bytes = 0
                break
            self._take(count)
        if not self.is_full:
            self._room.wake()

    def _take(self, count: int) -> None:
        self._unwritten_bytes -= count
        while count > 0:
            first = self._unwritten.popleft()
            if count < len(first):
                self._unwritten.appendleft(first[count:])
            count -= len(first)
