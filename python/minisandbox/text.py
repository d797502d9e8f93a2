"""Bytes as the server tells them."""

from __future__ import annotations

import base64
import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import UsageError


@dataclass(frozen=True)
class Text:
    """Bytes, and the text that they are.

    Attributes:
        text: The bytes as UTF-8; each that is none is U+FFFD.
        lossy: Whether a byte was no UTF-8.
    """

    text: str
    lossy: bool
    _base64: str | None = field(repr=False)

    @property
    def bytes(self) -> builtins.bytes:
        """The bytes themselves, exact."""
        if not self.lossy:
            return self.text.encode()
        if self._base64 is None:
            raise UsageError(
                "Cannot tell the bytes: the server has sent text alone, and it is lossy"
            )
        return base64.b64decode(self._base64)

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Text:
        """Reads it."""
        return cls(wire["text"], wire["lossy"], wire.get("base64"))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Output(Text):
    """What a program printed on one stream.

    Attributes:
        total_bytes: How many bytes there were.
        omitted_bytes: How many lie between `text` and `tail`; then `text` is only the start.
        tail: The last bytes, where some were omitted.
    """

    total_bytes: int
    omitted_bytes: int
    tail: Text | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Output:
        """Reads it."""
        tail = wire.get("tail")
        return cls(
            wire["text"],
            wire["lossy"],
            wire.get("base64"),
            wire["totalBytes"],
            wire["omittedBytes"],
            None if tail is None else Text.of(tail),
        )

    def __str__(self) -> str:
        if self.tail is None:
            return self.text
        return f"{self.text}\n[{self.omitted_bytes} bytes omitted]\n{self.tail.text}"


@dataclass(frozen=True)
class Chunk(Text):
    """A piece of a program's output, as it came.

    Attributes:
        stream: ``stdout`` or ``stderr``.
        offset: How many bytes of the stream came before.
    """

    stream: str
    offset: int

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Chunk:
        """Reads it."""
        return cls(
            wire["text"],
            wire["lossy"],
            wire.get("base64"),
            wire.get("stream", "stdout"),
            wire["offset"],
        )
