"""The output of a program as it comes, in bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._connection import Connection
from ._feed import Feed
from ._params import CREDIT_BYTES
from ._wire import Json
from .errors import MinisandboxError
from .text import Chunk

_OUTPUT = "process.output"
_CREDIT = "process.credit"


class OutputStream(Feed[Json]):
    """What a program prints. The server sends so much ahead, and more when it was taken."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._process = ""
        self._taken = 0
        self._is_dropped = False
        self._readers: set[object] = set()
        self._waiters: set[object] = set()

    def begin(self, wire: Any) -> None:
        """Listens, and learns when the program has ended: nothing comes after that answer."""
        self._process = wire["process"]
        self._connection.subscribe(_OUTPUT, self._process, self)
        with contextlib.suppress(MinisandboxError):
            ended = self._connection.call("process.wait", {"process": self._process})
            ended.when_done(self._end)

    def put(self, item: Json) -> None:
        """Adds a piece, or drops it."""
        super().put(item)
        if self._is_dropped:
            self._drop()

    def take_chunk(self) -> Chunk | None:
        """Takes what comes next, or None if there is nothing now."""
        wire = self.take()
        if wire is None:
            return None
        chunk = Chunk.of(wire)
        self._grant(len(chunk.bytes))
        return chunk

    @contextlib.contextmanager
    def read(self) -> Iterator[None]:
        """Somebody reads meanwhile."""
        reader = object()
        self._readers.add(reader)
        try:
            yield
        finally:
            self._readers.discard(reader)
            self._drop_if_only_waited()

    @contextlib.contextmanager
    def waited(self) -> Iterator[None]:
        """Somebody waits for the end meanwhile: output that nobody reads is dropped."""
        waiter = object()
        self._waiters.add(waiter)
        try:
            self._drop_if_only_waited()
            yield
        finally:
            self._waiters.discard(waiter)

    def _drop_if_only_waited(self) -> None:
        """What is dropped, now and later, does not hold up the program; the server keeps it."""
        if self._is_dropped or self._readers or not self._waiters:
            return
        self._is_dropped = True
        self._connection.notify(_CREDIT, {"process": self._process, "bytes": self._taken})
        self._drop()

    def _drop(self) -> None:
        while self.take_chunk() is not None:
            pass

    def _grant(self, count: int) -> None:
        if not self._is_dropped:
            self._taken += count
            if self._taken < CREDIT_BYTES // 2:
                return
            count, self._taken = self._taken, 0
        self._connection.notify(_CREDIT, {"process": self._process, "bytes": count})

    def _end(self) -> None:
        self._connection.unsubscribe(_OUTPUT, self._process)
        self.close()
