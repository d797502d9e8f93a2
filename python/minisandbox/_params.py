"""The params of calls with many fields, and what is done with answers."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple, TypeVar

from ._connection import Connection
from ._record import record
from ._wire import Json
from .errors import InternalError, MinisandboxError
from .info import Progress
from .spec import (
    Bind,
    Command,
    DiskUpper,
    Hardening,
    Keep,
    Layer,
    Limits,
    Path,
    Terminal,
    TmpfsUpper,
    given,
    limit,
    milliseconds,
    payload,
    program,
)
from .text import Chunk

T = TypeVar("T")

#: So much output of a program may be under way.
CREDIT_BYTES = 1 << 20


def create_params(
    *,
    spec: Mapping[str, Any] | None,
    environment: str | None,
    base: Path | None,
    layers: Iterable[Layer],
    snapshots: Iterable[Path],
    binds: Iterable[Bind],
    env: Mapping[str, str] | None,
    workdir: Path | None,
    network: str | None,
    user: str | int | None,
    hostname: str | None,
    timeout: float | None,
    upper: DiskUpper | TmpfsUpper | None,
    limits: Limits | None,
    hardening: Hardening | None,
    key: str | None,
    labels: Mapping[str, str] | None,
    detached: bool,
    ttl: float | None,
    idle: float | None,
    start_timeout: float | None,
) -> Json:
    """Makes the params of sandbox.create; what is given by keyword replaces what the spec says."""
    return {
        **(spec or {}),
        **given(
            environment=environment,
            base=None if base is None else os.fspath(base),
            layers=[layer.to_wire() for layer in layers] or None,
            binds=[bind.to_wire() for bind in binds] or None,
            env=None if env is None else dict(env),
            workdir=None if workdir is None else os.fspath(workdir),
            network=network,
            user=user,
            hostname=hostname,
            upper=None if upper is None else upper.to_wire(),
            limits=None if limits is None else limits.to_wire(),
            hardening=None if hardening is None else hardening.to_wire(),
            key=key,
            labels=None if labels is None else dict(labels),
            detached=detached or None,
        ),
        **({"from": places} if (places := [os.fspath(place) for place in snapshots]) else {}),
        **milliseconds(timeout, "timeoutMs"),
        **milliseconds(ttl, "ttlMs"),
        **milliseconds(idle, "idleMs"),
        **milliseconds(start_timeout, "startTimeoutMs"),
    }


def start_params(
    sandbox: str,
    command: Command,
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    clear_env: bool | None,
    user: str | int | None,
    shell: Iterable[str] | None,
    stdin: str | bytes | None,
    timeout: float | None,
    no_output_timeout: float | None,
    merge: bool,
    terminal: Terminal | None,
    keep: Keep | None,
    max_output_bytes: float | None,
) -> Json:
    """Makes the params that process.run and process.start share."""
    most = {} if max_output_bytes is None else {"maxOutputBytes": limit(max_output_bytes)}
    return {
        "sandbox": sandbox,
        **program(command, cwd=cwd, env=env, clear_env=clear_env, user=user, shell=shell),
        **given(
            stdin=None if stdin is None else payload(stdin),
            merge=merge or None,
            terminal=None if terminal is None else terminal.to_wire(),
            keep=None if keep is None else keep.to_wire(),
        ),
        **milliseconds(timeout, "timeoutMs"),
        **milliseconds(no_output_timeout, "noOutputMs"),
        **most,
        "base64": "ifLossy",
    }


def understand(method: str, wire: Any, read: Callable[[Any], T]) -> T:
    """Reads an answer.

    Raises:
        InternalError: If it is not what the protocol says.
    """
    try:
        return read(wire)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InternalError(f"Cannot understand the answer to {method}: {error!r}") from error


def total(reply: float | None, lasts: float | None) -> float | None:
    """Says how long to wait for an answer, or None if there is no limit."""
    if reply is None or lasts is None or lasts == math.inf:
        return None
    return reply + lasts


class Listen(NamedTuple):
    """Who hears notifications of a call, in its caller's own thread or task.

    Attributes:
        method: Which.
        token: The param that asks for them.
        hear: Gets the params of each.
    """

    method: str
    token: str
    hear: Callable[[Any], None]


def progress(hear: Callable[[Progress], None]) -> Listen:
    """Hears how far a call is."""

    def take(wire: Any) -> None:
        hear(understand("$/progress", wire, lambda it: record(Progress, it["value"])))

    return Listen("$/progress", "progressToken", take)


def printed(hear: Callable[[Chunk], None]) -> Listen:
    """Hears what a command of a session prints."""

    def take(wire: Any) -> None:
        hear(understand("session.output", wire, Chunk.of))

    return Listen("session.output", "streamToken", take)


def close_stranded(connection: Connection) -> Callable[[Any], None]:
    """Ends a sandbox that was made for a caller who has gone; one with a key is found again."""

    def close(wire: Any) -> None:
        if wire.get("isNew"):
            with contextlib.suppress(MinisandboxError):
                connection.call("sandbox.close", {"sandbox": wire["sandbox"]})

    return close


def close_stranded_forks(connection: Connection) -> Callable[[Any], None]:
    """Ends sandboxes that were made for a caller who has gone."""
    close = close_stranded(connection)

    def close_all(wire: Any) -> None:
        for it in wire["sandboxes"]:
            close({**it, "isNew": True})

    return close_all


def close_stranded_session(connection: Connection, sandbox: str) -> Callable[[Any], None]:
    """Ends a session that was opened for a caller who has gone."""

    def close(wire: Any) -> None:
        with contextlib.suppress(MinisandboxError):
            params = {"sandbox": sandbox, "session": wire["session"]}
            connection.call("session.close", params)

    return close


def end_stranded(connection: Connection) -> Callable[[Any], None]:
    """Ends a program that was started for a caller who has gone."""

    def end(wire: Any) -> None:
        with contextlib.suppress(MinisandboxError):
            connection.call("process.signal", {"process": wire["process"], "tree": True})

    return end
