"""What programs come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._record import record
from .errors import OutcomeError
from .text import Output, Text


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
class Peek:
    """What a program has printed so far, and whether it has ended."""

    ended: bool
    stdout: Output
    stderr: Output


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


def outcome_error(outcome: Outcome | SessionOutcome, said: str) -> OutcomeError:
    """Makes the error of a program that was to succeed, with its last words."""
    lines = "".join(f"\n  {line}" for line in said.strip().splitlines()[-5:])
    error = OutcomeError(f"Cannot go on: the program ended by {outcome}{lines}")
    error.data = {"outcome": outcome}
    return error
