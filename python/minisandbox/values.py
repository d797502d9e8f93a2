"""What the server tells, as values."""

from __future__ import annotations

import base64
import builtins
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict, TypeVar

from .errors import OutcomeError, UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """How a program ended.

    Attributes:
        kind: ``exited``, ``signaled``, ``timedOut``, ``noOutput``, ``cancelled``, ``outOfMemory``,
            ``outputLimit``, ``cpuTimeLimit`` or ``fileSizeLimit``; a later server may have others.
        code: What it exited with, or None.
        signal: The signal that ended it, such as ``SIGKILL``, or None.
        reached: The limits that it reached on its way, such as ``pidsLimit``.
    """

    kind: str
    code: int | None
    signal: str | None
    reached: tuple[str, ...]

    @property
    def is_success(self) -> bool:
        """Whether it exited with 0."""
        return self.kind == "exited" and self.code == 0

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Outcome:
        """Reads it."""
        reached = tuple(wire.get("reached", ()))
        return cls(wire["kind"], wire.get("code"), wire.get("signal"), reached)

    def __str__(self) -> str:
        how = {"exited": f" {self.code}", "signaled": f" {self.signal}"}.get(self.kind, "")
        limits = f" ({', '.join(self.reached)})" if self.reached else ""
        return f"{self.kind}{how}{limits}"


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
class Result:
    """What a program came to.

    Attributes:
        outcome: How it ended.
        stdout: What it printed; with ``merge`` or on a terminal, all of it.
        stderr: What it printed on stderr.
        duration_ms: How long it took.
        cpu_ms: How long processors worked for it.
        peak_memory_bytes: The most memory that one process of it had, or None if that is not known.
    """

    outcome: Outcome
    stdout: Output
    stderr: Output
    duration_ms: float
    cpu_ms: float
    peak_memory_bytes: float | None

    @property
    def is_success(self) -> bool:
        """Whether it exited with 0."""
        return self.outcome.is_success

    @property
    def exit_code(self) -> int | None:
        """What it exited with, or None if it ended otherwise."""
        return self.outcome.code

    def check(self) -> Result:
        """Gives itself if the program exited with 0.

        Raises:
            OutcomeError: If it did not.
        """
        if self.is_success:
            return self
        raise outcome_error(self.outcome, str(self.stderr).strip() or str(self.stdout))

    @classmethod
    def of(cls, wire: Mapping[str, Any], ended: Mapping[str, Any]) -> Result:
        """Reads it."""
        return cls(
            Outcome.of(ended["outcome"]),
            Output.of(wire["stdout"]),
            Output.of(wire["stderr"]),
            ended["durationMs"],
            ended["cpuMs"],
            ended.get("peakMemoryBytes"),
        )


@dataclass(frozen=True)
class SessionOutcome:
    """How a command of a session ended.

    Attributes:
        kind: ``exited``, ``signaled``, ``timedOut``, ``noOutput``, ``outputLimit``,
            ``interrupted`` or ``syntaxError``.
        code: What it exited with, or None.
        signal: The signal that ended it, or None.
        message: Of a syntax error, in bash's words; or None.
    """

    kind: str
    code: int | None
    signal: str | None
    message: str | None

    @property
    def is_success(self) -> bool:
        """Whether it exited with 0."""
        return self.kind == "exited" and self.code == 0

    def __str__(self) -> str:
        how = {
            "exited": f" {self.code}",
            "signaled": f" {self.signal}",
            "syntaxError": f": {self.message}",
        }
        return f"{self.kind}{how.get(self.kind, '')}"


@dataclass(frozen=True)
class SessionResult:
    """What a command of a session came to.

    Attributes:
        outcome: How it ended.
        output: What it printed.
        background: What was printed since the command before, by what runs in the background.
        restarted: Whether the shell is a new one, with the directory and exports of the old alone.
        ended: Whether the shell has ended with it: the session is gone.
    """

    outcome: SessionOutcome
    output: Output
    background: Output
    restarted: bool
    ended: bool

    @property
    def is_success(self) -> bool:
        """Whether it exited with 0."""
        return self.outcome.is_success

    @property
    def exit_code(self) -> int | None:
        """What it exited with, or None if it ended otherwise."""
        return self.outcome.code

    def check(self) -> SessionResult:
        """Gives itself if the command exited with 0.

        Raises:
            OutcomeError: If it did not.
        """
        if not self.is_success:
            raise outcome_error(self.outcome, str(self.output))
        return self

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> SessionResult:
        """Reads it."""
        return cls(
            record(SessionOutcome, wire["outcome"]),
            Output.of(wire["output"]),
            Output.of(wire["background"]),
            wire["restarted"],
            wire["ended"],
        )

    @classmethod
    def perhaps(cls, wire: Mapping[str, Any] | None) -> SessionResult | None:
        """Reads it if it is there."""
        return None if wire is None else cls.of(wire)


@dataclass(frozen=True)
class Match:
    """What was expected and has come: which of the patterns, and the text."""

    index: int
    text: str


@dataclass(frozen=True)
class Exchange:
    """What an interactive program has said.

    Attributes:
        output: What it printed up to the match, or all of it.
        match: What was expected, or None if it has not come.
        timed_out: Whether it was waited for too long.
        result: What the program came to if it has ended, or None.
    """

    output: Text
    match: Match | None
    timed_out: bool
    result: SessionResult | None

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Exchange:
        """Reads it."""
        match = wire["match"]
        return cls(
            Text.of(wire["output"]),
            None if match is None else record(Match, match),
            wire["timedOut"],
            SessionResult.perhaps(wire["result"]),
        )


@dataclass(frozen=True)
class SessionInfo:
    """A session of a sandbox, and whether its shell lives."""

    session: str
    open: bool


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


_SIDES = ("before", "after")


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


@dataclass(frozen=True)
class SnapshotInfo:
    """A snapshot of the store; `base` is the base that it needs, or None."""

    name: str
    entries: int
    bytes: int
    created: str
    base: str | None


@dataclass(frozen=True)
class Peek:
    """What a program has printed so far, and whether it has ended."""

    ended: bool
    stdout: Output
    stderr: Output


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


class Histogram(TypedDict):
    """How long something took: `atMost[i]` times at most `boundsMs[i]`, the last the rest."""

    count: int
    sumMs: float
    maxMs: float
    atMost: list[int]
    boundsMs: list[float]


class SandboxMetrics(TypedDict):
    """How many sandboxes there are and were."""

    live: int
    starting: int
    queued: int
    max: int
    started: int
    failed: dict[str, int]
    ended: dict[str, int]


class BudgetMetrics(TypedDict):
    """How much of the budget for unpacking is used."""

    mode: str
    budgetBytes: float | None
    reservedBytes: float
    waiting: int
    running: int
    throughput: float
    pressure: float | None


class ProcessMetrics(TypedDict):
    """What the server itself uses."""

    residentBytes: float
    openFiles: int
    threads: int


class Metrics(TypedDict):
    """What a server has done and what it holds, as the protocol's `metrics` tells it."""

    uptimeMs: float
    sandboxes: SandboxMetrics
    commands: dict[str, int]
    startMs: dict[str, Histogram]
    budget: BudgetMetrics
    process: ProcessMetrics
    pressure: dict[str, float | None]


def outcome_error(outcome: Outcome | SessionOutcome, said: str) -> OutcomeError:
    """Makes the error of a program that was to succeed, with its last words."""
    lines = "".join(f"\n  {line}" for line in said.strip().splitlines()[-5:])
    error = OutcomeError(f"Cannot go on: the program ended by {outcome}{lines}")
    error.data = {"outcome": outcome}
    return error


def path_of(wire: Mapping[str, Any]) -> str:
    """Reads a name; bytes that are no UTF-8 are escaped as the names of this host's files."""
    raw = wire.get("base64")
    return str(wire["text"]) if raw is None else os.fsdecode(base64.b64decode(raw))


def record(cls: type[T], wire: Mapping[str, Any]) -> T:
    """Makes a dataclass of the members that it knows; a later server may tell more."""
    known = {it.name for it in fields(cls)}  # type: ignore[arg-type]
    named = {_snake(name): value for name, value in wire.items()}
    return cls(**{name: value for name, value in named.items() if name in known})


def records(cls: type[T], wires: Iterable[Mapping[str, Any]]) -> list[T]:
    """Makes one of each."""
    return [record(cls, wire) for wire in wires]


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda match: "_" + match[0].lower(), name)
