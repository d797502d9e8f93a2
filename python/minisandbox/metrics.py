"""What a server has done and what it holds."""

from __future__ import annotations

from typing import TypedDict


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
