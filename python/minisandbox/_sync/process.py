# Made of _async/process.py by make_sync.py: change that one.
"""A program that runs in a sandbox."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._output import OutputStream
from ..errors import GoneError, NotFoundError, TimedOutError, UsageError
from ..result import Peek, Result
from ..spec import Terminal, given, milliseconds, payload
from ..text import Chunk, Output
from .waiting import wait

if TYPE_CHECKING:
    from .server import Server

#: Data is written in parts of this size.
_WRITE_BYTES = 1 << 20


class Process:
    """A program that was started; as a context manager it is ended at its end.

    Attributes:
        id: Its id.
    """

    def __init__(self, server: Server, process: str, stream: OutputStream | None) -> None:
        self.id = process
        self._server = server
        self._stream = stream

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(GoneError, NotFoundError):  # with its sandbox, or long ago
            self.kill()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def output(self) -> Generator[Chunk, None, None]:
        """Gives what it prints as it comes, each piece once, to its end.

        While it is not read, the program is held up after 1 MiB, as on a pipe. During `wait` it is
        not: what nobody reads is dropped then.

        Raises:
            UsageError: If it was not started with ``stream=True``.
            ServerGoneError: If the server ends before.
        """
        stream = self._stream
        if stream is None:
            raise UsageError("Cannot read the output: it is not streamed", remedy=_STREAM)
        with stream.read():
            while True:
                is_over = stream.is_closed
                chunk = stream.take_chunk()
                if chunk is not None:
                    yield chunk
                elif is_over:
                    break
                else:
                    wait(stream.changed())
        self._server._check()

    def write(self, data: str | bytes, *, last: bool = False) -> bool:
        """Writes to its stdin; False if nobody reads it any more.

        Args:
            data: What to write; it is waited until all is written.
            last: Whether its stdin ends there.

        Raises:
            GoneError: If the sandbox has ended.
            NotFoundError: If the program ended long ago.
        """
        raw = data.encode() if isinstance(data, str) else data
        parts = [raw[at : at + _WRITE_BYTES] for at in range(0, len(raw), _WRITE_BYTES)] or [b""]
        for part in parts:
            is_last = last and part is parts[-1]
            wire = self._call(
                "process.write", {"data": payload(part), "last": is_last}, lasts=None
            )
            if not wire["written"]:
                return False
        return True

    def close_stdin(self) -> None:
        """Ends its stdin."""
        self.write(b"", last=True)

    def signal(self, signal: str | int = "SIGTERM") -> bool:
        """Sends a signal to it, by number or by name; False if it has ended."""
        sent: bool = (self._call("process.signal", {"signal": signal}))["sent"]
        return sent

    def kill(self) -> bool:
        """Ends it and all that it started; False if it has ended."""
        sent: bool = (self._call("process.signal", {"tree": True}))["sent"]
        return sent

    def resize(self, terminal: Terminal) -> None:
        """Tells it of a new size of its terminal."""
        self._call("process.resize", {"terminal": terminal.to_wire()})

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for its end and tells what it came to, as often as it is asked.

        Raises:
            TimedOutError: If it runs on after so many seconds; it is not ended by that.
            GoneError: If the sandbox has ended.
        """
        params = {**milliseconds(timeout, "timeoutMs"), "base64": "ifLossy"}
        with contextlib.nullcontext() if self._stream is None else self._stream.waited():
            wire = self._call("process.wait", params, lasts=timeout)
        if wire["ended"] is None:
            raise TimedOutError(f'Cannot tell how "{self.id}" ended: it runs after {timeout:g} s')
        return Result.of(wire, wire["ended"])

    def peek(self) -> Peek:
        """Tells what it has printed so far."""
        wire = self._call("process.wait", {"timeoutMs": 1, "base64": "ifLossy"})
        is_ended = wire["ended"] is not None
        return Peek(is_ended, Output.of(wire["stdout"]), Output.of(wire["stderr"]))

    def _call(self, method: str, params: dict[str, Any], *, lasts: float | None = 0.0) -> Any:
        return self._server._call(
            method, given(process=self.id, **params), lambda wire: wire, lasts=lasts
        )


_STREAM = "Start it with stream=True."
