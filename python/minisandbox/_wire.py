"""Messages to bytes and back: JSON-RPC 2.0, one message a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .errors import UsageError

Json = dict[str, Any]


class GarbageError(Exception):
    """The peer sent what no server sends."""


def encode(message: Json) -> bytes:
    """Makes a line of a message.

    Raises:
        UsageError: If something in it has no JSON, or is no Unicode.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise UsageError(
            f"Cannot send a call: it holds text that is no Unicode at character {error.start}",
            remedy="Give bytes where bytes are taken.",
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"Cannot send a call: {error}") from error


def decode(line: bytes) -> Json:
    """Reads a line.

    Raises:
        GarbageError: If it is no message.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise GarbageError(f"it sent {_shown(line)}, which is no JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise GarbageError(f"it sent {_shown(line)}, which is no message")
    return message


class Lines:
    """Cuts what is read into lines, each seen once."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._length = 0

    def push(self, data: bytes) -> Iterator[bytes]:
        """Gives the lines that end in it.

        Raises:
            GarbageError: If a line is longer than any may be.
        """
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts, self._length = [], 0
            start = end + 1
            if line.strip():
                yield line
        if start < len(data):
            self._add(data[start:])

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._length += len(part)
        if self._length > self.max_bytes:
            start = _shown(b"".join(self._parts[:8])[:80])
            raise GarbageError(f"it sent a line of more than {self.max_bytes} bytes: {start}")


def _shown(line: bytes) -> str:
    return repr(line[:80]) + ("…" if len(line) > 80 else "")  # noqa: PLR2004
