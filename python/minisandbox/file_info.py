"""Files of a sandbox, and what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._record import path_of, record
from .text import Text


@dataclass(frozen=True)
class FileInfo:
    """A file of a sandbox.

    Attributes:
        name: Its name in its directory, or "" where it was asked for by path; bytes that are no
            UTF-8 are escaped, as ``os.fsdecode`` does.
        type: ``file``, ``directory``, ``symlink``, ``fifo``, ``socket``, ``charDevice`` or
            ``blockDevice``.
        size: Its size in bytes.
        mode: Its permissions.
        uid: Its owner, as the sandbox sees it.
        gid: Its group, as the sandbox sees it.
        links: How many names it has.
        mtime_ms: When it was changed, in milliseconds since 1970.
        target: What a link says, or None.
    """

    name: str
    type: str
    size: int
    mode: int
    uid: int
    gid: int
    links: int
    mtime_ms: float
    target: str | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> FileInfo:
        """Reads it."""
        target = wire.get("target")
        names = {
            "name": path_of(wire.get("name", {"text": ""})),
            "target": None if target is None else path_of(target),
        }
        return record(cls, {**wire, **names})


@dataclass(frozen=True)
class FileList:
    """What a directory holds, sorted; `is_cut` says that there is more."""

    files: list[FileInfo]
    is_cut: bool


@dataclass(frozen=True)
class Upload:
    """How much came in."""

    entries: int
    bytes: int


@dataclass(frozen=True)
class Download:
    """How much came out, and what was left out."""

    bytes: int
    notes: list[str]


@dataclass(frozen=True)
class Side:
    """A file before or after a change: a ``file``, ``directory``, ``symlink`` or ``other``."""

    type: str
    mode: int
    uid: int
    gid: int
    size: int


_SIDES = ("before", "after")


@dataclass(frozen=True)
class Change:
    """A path that has changed.

    Attributes:
        path: Which, from the root that was asked for.
        status: ``added``, ``deleted``, ``modified``, ``typeChanged`` or ``attributesChanged``.
        before: What it was, or None.
        after: What it is, or None.
    """

    path: str
    status: str
    before: Side | None
    after: Side | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Change:
        """Reads it."""
        sides = [None if (it := wire[side]) is None else record(Side, it) for side in _SIDES]
        return cls(path_of(wire["path"]), wire["status"], *sides)


@dataclass(frozen=True)
class Diff:
    """What has changed.

    Attributes:
        patch: What ``git apply`` takes, binary files too; empty if it was not asked for.
        changes: The paths; empty if they were not asked for.
        is_cut: Whether there is more than was told.
    """

    patch: Text
    changes: list[Change]
    is_cut: bool

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Diff:
        """Reads it."""
        patch = wire.get("patch", {"text": "", "lossy": False})
        changes = [Change.of(it) for it in wire.get("changes", [])]
        return cls(Text.of(patch), changes, wire["isCut"])
