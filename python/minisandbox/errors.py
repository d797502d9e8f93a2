"""Every error of this package; programs match on class or ``kind``, never on a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MinisandboxError(Exception):
    """An error of minisandbox: ``Cannot <verb> <object>: <state>``, then the remedy.

    Attributes:
        kind: What kind of error it is, a word of the protocol.
        code: The code of the JSON-RPC error; None if the client found it by itself.
        remedy: What to do about it, or None.
        data: All else that the server knows of it.
    """

    kind: str = "internal"
    code: int | None = None
    remedy: str | None = None
    data: Mapping[str, Any] = {}

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message if remedy is None else f"{message}. {remedy}")
        if remedy is not None:
            self.remedy = remedy


class UsageError(MinisandboxError):
    """What was asked for is wrong: an argument, or its place."""

    kind = "usage"


class MethodError(UsageError):
    """The server has no such method: it is older than this package."""

    kind = "method"


class HostError(MinisandboxError):
    """This host cannot do what was asked; the remedy says what would let it."""

    kind = "host"


class SetupError(MinisandboxError):
    """A step of building a sandbox failed."""

    kind = "setup"

    @property
    def step(self) -> str | None:
        """The step's name in the plan."""
        step: str | None = self.data.get("step")
        return step


class CommandError(MinisandboxError):
    """A program cannot be started: it is missing or cannot be executed."""

    kind = "command"

    @property
    def exit_code(self) -> int | None:
        """What a shell would have exited with: 127 for missing, 126 for not executable."""
        code: int | None = self.data.get("exitCode")
        return code


class ArchiveError(MinisandboxError):
    """An archive is corrupt or unsafe."""

    kind = "archive"

    @property
    def entry(self) -> str | None:
        """The entry's name, if one was reached."""
        entry: str | None = self.data.get("entry")
        return entry

    @property
    def offset(self) -> int | None:
        """Where in the unpacked stream, in bytes."""
        offset: int | None = self.data.get("offset")
        return offset


class NotFoundError(MinisandboxError):
    """What was named is not there."""

    kind = "notFound"


class GoneError(MinisandboxError):
    """The sandbox, process or session has ended."""

    kind = "gone"


class ServerGoneError(GoneError):
    """The server has ended, was closed, or cannot be understood.

    Attributes:
        exit_status: What it exited with, negative for a signal, as ``subprocess`` tells it; None
            if it is not a child of this process, or was not waited for.
        stderr: The last that it said on stderr.
    """

    exit_status: int | None = None
    stderr: str = ""


class BusyError(MinisandboxError):
    """There is no room for more now; the same may be asked again later."""

    kind = "busy"


class CancelledError(MinisandboxError):
    """The server has given up a call because it was cancelled."""

    kind = "cancelled"


class InternalError(MinisandboxError):
    """A fault of the server."""

    kind = "internal"


class TimedOutError(MinisandboxError, TimeoutError):
    """The client has waited as long as it was told to; nothing inside has been ended by that."""

    kind = "timedOut"


class OutcomeError(MinisandboxError):
    """A program did not end as `check` demands; ``data`` holds its outcome."""

    kind = "outcome"


_CLASSES: tuple[type[MinisandboxError], ...] = (
    UsageError,
    MethodError,
    HostError,
    SetupError,
    CommandError,
    ArchiveError,
    NotFoundError,
    GoneError,
    BusyError,
    CancelledError,
    InternalError,
)
_CLASS_OF_KIND = {it.kind: it for it in _CLASSES}


def error_of(body: Mapping[str, Any]) -> MinisandboxError:
    """Makes the error that a JSON-RPC error tells of."""
    data = body.get("data")
    data = data if isinstance(data, Mapping) else {}
    kind = str(data.get("kind", "internal"))
    error = _CLASS_OF_KIND.get(kind, MinisandboxError)(str(body.get("message")))
    error.kind = kind
    code = body.get("code")
    error.code = code if isinstance(code, int) else None
    remedy = data.get("remedy")
    error.remedy = remedy if isinstance(remedy, str) else None
    error.data = {key: value for key, value in data.items() if key not in ("kind", "remedy")}
    return error
