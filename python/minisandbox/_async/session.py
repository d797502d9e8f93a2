"""A shell that lives in a sandbox from call to call."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._params import Listen, printed
from ..errors import GoneError
from ..result import Exchange, SessionResult
from ..spec import Keep, Terminal, given, limit, milliseconds, patterns, payload
from ..text import Chunk

if TYPE_CHECKING:
    from .sandbox import AsyncSandbox

T = TypeVar("T")

#: Bytes are told where text is not the same.
_BYTES = {"base64": "ifLossy"}


class AsyncSession:
    """A bash that keeps its state; as a context manager it is closed at its end.

    Attributes:
        sandbox: Its sandbox.
        name: Its name.
        startup: What its startup sources came to, or None if there were none.
    """

    def __init__(
        self, sandbox: AsyncSandbox, name: str, startup: SessionResult | None = None
    ) -> None:
        self.sandbox = sandbox
        self.name = name
        self.startup = startup

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(GoneError):  # with its sandbox
            await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.sandbox.id}>"

    async def run(
        self,
        command: str | bytes,
        *,
        timeout: float | None = None,
        no_output_timeout: float | None = None,
        keep: Keep | None = None,
        max_output_bytes: float | None = None,
        check_syntax: bool = True,
        on_output: Callable[[Chunk], None] | None = None,
    ) -> SessionResult:
        """Runs shell text, after what was asked of the session before. It reads nothing.

        At a deadline it and all that it started are ended, and the session goes on. It is also
        ended if the caller is interrupted or cancelled.

        Args:
            command: The text.
            timeout: The most seconds; ``math.inf`` for no limit, None for the session's own.
            no_output_timeout: The most seconds without output.
            keep: How much of its output is told.
            max_output_bytes: How much it may print; ``math.inf`` for no limit.
            check_syntax: Whether all of it is parsed before any of it is run.
            on_output: Hears what it prints as it comes; one who is slow misses some, by `offset`.

        Raises:
            GoneError: If the session or its sandbox has ended.
            NotFoundError: If it was closed.
        """
        most = {} if max_output_bytes is None else {"maxOutputBytes": limit(max_output_bytes)}
        params = {
            "command": payload(command),
            "checkSyntax": check_syntax,
            **given(keep=None if keep is None else keep.to_wire()),
            **milliseconds(timeout, "timeoutMs"),
            **milliseconds(no_output_timeout, "noOutputMs"),
            **most,
            **_BYTES,
        }
        return await self._call(
            "session.run",
            params,
            SessionResult.of,
            lasts=timeout,
            listen=None if on_output is None else printed(on_output),
        )

    async def start(
        self,
        command: str | bytes,
        *,
        expect: Iterable[str | re.Pattern[str]] = (),
        timeout: float | None = None,
    ) -> Exchange:
        """Starts an interactive program, which then reads what `send` gives it.

        Args:
            command: Shell text.
            expect: What to wait for: text, or expressions, which are read as JavaScript's. Without
                any it is waited until the program ends.
            timeout: How many seconds to wait.

        Raises:
            GoneError: If the session or its sandbox has ended.
        """
        params = {
            "command": payload(command),
            "expect": patterns(expect),
            **milliseconds(timeout, "timeoutMs"),
            **_BYTES,
        }
        return await self._call("session.start", params, Exchange.of, lasts=timeout)

    async def send(
        self,
        data: str | bytes,
        *,
        expect: Iterable[str | re.Pattern[str]] = (),
        timeout: float | None = None,
        last: bool = False,
    ) -> Exchange:
        """Types into the terminal of an interactive program, and waits as `start` does.

        Args:
            data: What to type; a line ends by a newline.
            expect: As for `start`.
            timeout: As for `start`.
            last: Whether the program shall end by it, which is waited for.

        Raises:
            GoneError: If the session or its sandbox has ended.
        """
        params = {
            "input": payload(data),
            "quit": last,
            "expect": patterns(expect),
            **milliseconds(timeout, "timeoutMs"),
            **_BYTES,
        }
        return await self._call("session.send", params, Exchange.of, lasts=timeout)

    async def interrupt(
        self,
        *,
        expect: Iterable[str | re.Pattern[str]] = (),
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Exchange | None:
        """Interrupts what runs, as Ctrl-C does; what takes no notice is killed.

        Args:
            expect: What to wait for of an interactive program.
            timeout: How many seconds each attempt is given.
            retries: How often it is tried.

        Returns:
            What an interactive program said, or None if there was none.

        Raises:
            GoneError: If the session or its sandbox has ended.
        """
        params = {
            "expect": patterns(expect),
            **milliseconds(timeout, "timeoutMs"),
            **given(retries=retries),
            **_BYTES,
        }
        return await self._call(
            "session.interrupt",
            params,
            lambda wire: None if wire["exchange"] is None else Exchange.of(wire["exchange"]),
            lasts=None,
        )

    async def resize(self, terminal: Terminal) -> None:
        """Tells its programs of a new size of its terminal."""
        await self._call("session.resize", {"terminal": terminal.to_wire()}, lambda _: None)

    async def close(self) -> bool:
        """Ends it and what it has started, in any state; False if it was closed."""
        return await self._call("session.close", {}, lambda wire: bool(wire["closed"]))

    async def _call(
        self,
        method: str,
        params: dict[str, Any],
        read: Callable[[Any], T],
        *,
        lasts: float | None = 0.0,
        listen: Listen | None = None,
    ) -> T:
        where = {"sandbox": self.sandbox.id, "session": self.name}
        return await self.sandbox._call(
            method, {**where, **params}, read, lasts=lasts, listen=listen
        )
