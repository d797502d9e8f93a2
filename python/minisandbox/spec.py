"""What a caller asks for, and how the protocol says it."""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Union

from ._wire import Json
from .errors import UsageError

#: Words, or text for a shell.
Command = Union[str, Iterable[Union[str, "os.PathLike[str]"]]]

#: A path on the host or in a sandbox.
Path = Union[str, "os.PathLike[str]"]


#: A path in a sandbox.
InsidePath = Union[str, bytes, "os.PathLike[str]"]

#: Whom a file is given to: a user of the sandbox by name or number, or two numbers.
Owner = Union[str, int, tuple[int, int]]


@dataclass(frozen=True)
class Layer:
    """An archive, unpacked once a node, at a path of the sandbox.

    Attributes:
        path: Where it goes.
        archive: A `tar`, `tar.gz` or `tar.zst` on the server's host; it may be left out if a layer
            of this `sha256` is there.
        sha256: The digest of the archive in hexadecimal.
    """

    path: str
    archive: Path | None = None
    sha256: str | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        archive = None if self.archive is None else on_host(self.archive)
        return given(path=self.path, archive=archive, sha256=self.sha256)


@dataclass(frozen=True)
class Bind:
    """A directory or file of the host, shown in the sandbox."""

    source: Path
    target: str
    writable: bool = False

    def to_wire(self) -> Json:
        """Says it to the server."""
        source = on_host(self.source)
        return {"source": source, "target": self.target, "writable": self.writable}


@dataclass(frozen=True)
class Limits:
    """The most that a sandbox may use: None is the default, ``math.inf`` no limit."""

    memory_bytes: float | None = None
    swap_bytes: float | None = None
    cpus: float | None = None
    cpu_weight: float | None = None
    pids: float | None = None
    open_files: float | None = None
    file_bytes: float | None = None
    cpu_time_ms: float | None = None
    tmp_bytes: float | None = None
    shm_bytes: float | None = None
    disk_bytes: float | None = None
    inodes: float | None = None
    output_bytes: float | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        named = {_camel(it.name): getattr(self, it.name) for it in fields(self)}
        return {name: limit(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Hardening:
    """What programs may do; None is the default."""

    capabilities: Iterable[str] | None = None
    allows_setuid: bool | None = None
    allows_nesting: bool | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        capabilities = None if self.capabilities is None else list(self.capabilities)
        return given(
            capabilities=capabilities,
            allowsSetuid=self.allows_setuid,
            allowsNesting=self.allows_nesting,
        )


@dataclass(frozen=True)
class DiskUpper:
    """What the sandbox writes lies on disk: in the store, or in a directory."""

    dir: Path | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        return {"kind": "disk", "dir": None if self.dir is None else on_host(self.dir)}


@dataclass(frozen=True)
class TmpfsUpper:
    """What the sandbox writes lies in memory, so much at most."""

    size_bytes: int | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        return {"kind": "tmpfs", "sizeBytes": self.size_bytes}


@dataclass(frozen=True)
class Terminal:
    """The size of a terminal."""

    rows: int = 24
    columns: int = 80

    def to_wire(self) -> Json:
        """Says it to the server."""
        return {"rows": self.rows, "columns": self.columns}


@dataclass(frozen=True)
class Keep:
    """How much of each stream is kept: its start and its end, in bytes; 1 MiB each by default."""

    head_bytes: int | None = None
    tail_bytes: int | None = None

    def to_wire(self) -> Json:
        """Says it to the server."""
        return given(headBytes=self.head_bytes, tailBytes=self.tail_bytes)


def patterns(expect: Iterable[str | re.Pattern[str]]) -> list[str | Json]:
    """Says what is waited for: text, or expressions, which the server reads as JavaScript's.

    Raises:
        UsageError: If an expression has a flag that those have not.
    """
    return [it if isinstance(it, str) else _expression(it) for it in expect]


def _expression(pattern: re.Pattern[str]) -> Json:
    flags = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
    rest = pattern.flags & ~re.UNICODE
    said = ""
    for flag, letter in flags.items():
        if rest & flag:
            said += letter
            rest &= ~flag
    if rest:
        raise UsageError(f"Cannot expect {pattern.pattern!r}: it has flags beside I, M and S")
    return {"regex": pattern.pattern, "flags": f"{said}u"}


def given(**values: Any) -> Json:
    """Gives those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def limit(value: float) -> float | None:
    """Says a limit: infinity is null."""
    return None if value == math.inf else value


def milliseconds(seconds: float | None, what: str) -> Json:
    """Says a time under a name: none if there is none, null if it is infinite.

    Raises:
        UsageError: If it is no time.
    """
    if seconds is None:
        return {}
    if isinstance(seconds, bool) or not seconds > 0:
        raise UsageError(f"Cannot wait {seconds!r} seconds ({what}): give a number above 0")
    return {what: limit(seconds * 1000)}


def payload(data: str | bytes | bytearray | memoryview) -> str | Json:
    """Says bytes: as text where they are text, which is shorter.

    Raises:
        UsageError: If it is a string that is no Unicode.
    """
    if isinstance(data, str):
        return data
    raw = bytes(data)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def inside(path: str | bytes | os.PathLike[str]) -> str | Json:
    """Says a path of a sandbox; one that is not absolute begins at the sandbox's directory."""
    return payload(os.fsencode(path))


def owner_of(owner: Owner | None) -> str | int | Json | None:
    """Says whom a file is given to."""
    return {"uid": owner[0], "gid": owner[1]} if isinstance(owner, tuple) else owner


def on_host(path: Path) -> str:
    """Makes a path that the server understands, wherever it runs; links stay what they are."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow them


def program(
    command: Command,
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    clear_env: bool | None,
    user: str | int | None,
    shell: Iterable[str] | None,
) -> Json:
    """Says what is executed.

    Raises:
        UsageError: If it is no program.
    """
    words = command if isinstance(command, str) else [os.fspath(word) for word in command]
    return given(
        command=words,
        cwd=None if cwd is None else os.fspath(cwd),
        env=None if env is None else dict(env),
        clearEnv=clear_env,
        user=user,
        shell=None if shell is None else list(shell),
    )


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
