"""What there is: a server, its sandboxes and its store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._record import record, records
from .result import Outcome


@dataclass(frozen=True)
class Progress:
    """How far the unpacking of a layer is.

    Attributes:
        path: Where the layer goes.
        phase: What is done.
        done: How many bytes are done.
        total: Of how many.
        archive: Where it comes from, or None.
    """

    path: str
    phase: str
    done: int
    total: int
    archive: str | None = None


@dataclass(frozen=True)
class ProcessInfo:
    """A program that was started in a sandbox; `outcome` is None while it runs."""

    process: str
    argv: tuple[str, ...]
    started: str
    outcome: Outcome | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> ProcessInfo:
        """Reads it."""
        outcome = wire["outcome"]
        return cls(
            wire["process"],
            tuple(wire["argv"]),
            wire["started"],
            None if outcome is None else Outcome.of(outcome),
        )


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox of a server; `phases` are the milliseconds that its start took, by part."""

    sandbox: str
    key: str | None
    labels: dict[str, str]
    created: str
    detached: bool
    base: str
    workdir: str
    processes: int
    phases: dict[str, float]


@dataclass(frozen=True)
class SessionInfo:
    """A session of a sandbox, and whether its shell lives."""

    session: str
    open: bool


@dataclass(frozen=True)
class LayerInfo:
    """A layer of the store."""

    key: str
    path: str
    sha256: str
    archive: str
    entries: int
    bytes: float
    disk_bytes: float
    created: str
    last_used: str
    is_in_use: bool
    used_by: list[str]


@dataclass(frozen=True)
class LayerRef:
    """A layer by what it was made of; `key` is None where it is not known."""

    path: str
    sha256: str
    key: str | None = None


@dataclass(frozen=True)
class EnvironmentInfo:
    """An environment of the store."""

    name: str
    digest: str
    base: str
    workdir: str | None
    env: dict[str, str]
    layers: list[LayerRef]
    created: str

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> EnvironmentInfo:
        """Reads it."""
        return record(cls, {**wire, "layers": records(LayerRef, wire["layers"])})


@dataclass(frozen=True)
class SnapshotInfo:
    """A snapshot of the store; `base` is the base that it needs, or None."""

    name: str
    entries: int
    bytes: int
    created: str
    base: str | None


@dataclass(frozen=True)
class ServerInfo:
    """A server.

    Attributes:
        protocol: The version of the protocol that is spoken.
        version: The server's version.
        pid: Its process.
        identity: Whose ids sandboxes have: ``root``, ``subordinate``, ``single`` or ``none``.
        max_sandboxes: How many may live at once.
        ttl_ms: The longest life of a sandbox, or None.
        idle_ms: How long one may be idle, or None.
    """

    protocol: int
    version: str
    pid: int
    identity: str
    max_sandboxes: int
    ttl_ms: float | None
    idle_ms: float | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> ServerInfo:
        """Reads it."""
        return record(cls, {**wire["limits"], **wire, **wire["server"]})
