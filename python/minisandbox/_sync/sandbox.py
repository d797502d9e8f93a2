# Made of _async/sandbox.py by make_sync.py: change that one.
"""A sandbox of a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._output import OutputStream
from .._params import (
    CREDIT_BYTES,
    Listen,
    close_stranded_forks,
    close_stranded_session,
    end_stranded,
    start_params,
)
from .._record import record, records
from ..errors import GoneError
from ..info import ProcessInfo, SandboxInfo, SessionInfo, SnapshotInfo
from ..result import Result, SessionResult
from ..spec import Command, Keep, Path, Terminal, given, milliseconds
from .file import Files
from .process import Process
from .session import Session

if TYPE_CHECKING:
    from .server import Server

T = TypeVar("T")


class Sandbox(Files):
    """A sandbox that lives; as a context manager it is closed at its end.

    Attributes:
        id: Its id.
        server: Its server.
        is_new: Whether it was made by this call, and not found by its key.
        phases: The milliseconds that its start took, by part.
    """

    def __init__(
        self,
        server: Server,
        sandbox: str,
        *,
        is_new: bool = False,
        phases: Mapping[str, float] | None = None,
    ) -> None:
        self.server = server
        self.id = sandbox
        self.is_new = is_new
        self.phases = dict(phases or {})

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        stdin: str | bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        clear_env: bool | None = None,
        user: str | int | None = None,
        shell: Iterable[str] | None = None,
        no_output_timeout: float | None = None,
        merge: bool = False,
        terminal: Terminal | None = None,
        keep: Keep | None = None,
        max_output_bytes: float | None = None,
    ) -> Result:
        """Runs a program to its end, and tells what it came to.

        At a deadline, it and all that it started are ended, and what it had printed is told. If the
        caller is interrupted or cancelled, it is ended, too.

        Args:
            command: Its words, or text for the shell.
            timeout: The most seconds; ``math.inf`` for no limit, None for the sandbox's own.
            stdin: What it reads; nothing by default.
            cwd: Where it runs; by default the sandbox's directory.
            env: Variables beside the sandbox's.
            clear_env: Whether `env` is all of its environment.
            user: Who it runs as, by name or number.
            shell: What gets a text as its last word; ``["bash", "-c"]`` by default.
            no_output_timeout: The most seconds without output.
            merge: Whether stdout and stderr are one stream, stdout.
            terminal: The size of its terminal; by default it has pipes.
            keep: How much of its output is told.
            max_output_bytes: How much it may print; ``math.inf`` for no limit.

        Raises:
            CommandError: If it is missing or cannot be executed.
            GoneError: If the sandbox has ended.
            UsageError: If an argument is wrong.
        """
        params = start_params(
            self.id,
            command,
            cwd=cwd,
            env=env,
            clear_env=clear_env,
            user=user,
            shell=shell,
            stdin=stdin,
            timeout=timeout,
            no_output_timeout=no_output_timeout,
            merge=merge,
            terminal=terminal,
            keep=keep,
            max_output_bytes=max_output_bytes,
        )
        return self._call(
            "process.run", params, lambda wire: Result.of(wire, wire), lasts=timeout
        )

    def start(
        self,
        command: Command,
        *,
        stream: bool = False,
        stdin_open: bool = False,
        attached: bool = False,
        timeout: float | None = None,
        stdin: str | bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        clear_env: bool | None = None,
        user: str | int | None = None,
        shell: Iterable[str] | None = None,
        no_output_timeout: float | None = None,
        merge: bool = False,
        terminal: Terminal | None = None,
        keep: Keep | None = None,
        max_output_bytes: float | None = None,
    ) -> Process:
        """Starts a program that is read, written to, waited for and ended by what this gives.

        Args:
            command: As for `run`, like all that is not said here.
            stream: Whether its output can be read as it comes.
            stdin_open: Whether its stdin stays open after `stdin`.
            attached: Whether it ends with this connection, where the sandbox does not.
            timeout: As for `run`.
            stdin: As for `run`.
            cwd: As for `run`.
            env: As for `run`.
            clear_env: As for `run`.
            user: As for `run`.
            shell: As for `run`.
            no_output_timeout: As for `run`.
            merge: As for `run`.
            terminal: As for `run`.
            keep: How much of its output is kept for `wait`.
            max_output_bytes: As for `run`.

        Raises:
            CommandError: If it is missing or cannot be executed.
            GoneError: If the sandbox has ended.
            UsageError: If an argument is wrong.
        """
        params = start_params(
            self.id,
            command,
            cwd=cwd,
            env=env,
            clear_env=clear_env,
            user=user,
            shell=shell,
            stdin=stdin,
            timeout=timeout,
            no_output_timeout=no_output_timeout,
            merge=merge,
            terminal=terminal,
            keep=keep,
            max_output_bytes=max_output_bytes,
        )
        params.update(stdinOpen=stdin_open, attached=attached)
        connection = self.server._connection
        output = None
        if stream:
            output = OutputStream(connection)
            params.update(stream=True, creditBytes=CREDIT_BYTES)
        return self._call(
            "process.start",
            params,
            lambda wire: Process(self.server, wire["process"], output),
            stranded=end_stranded(connection),
            prepare=None if output is None else output.begin,
        )

    def processes(self) -> list[ProcessInfo]:
        """Lists the programs that were started in it."""
        return self._call(
            "process.list",
            {"sandbox": self.id},
            lambda wire: [ProcessInfo.of(it) for it in wire["processes"]],
        )

    def session(
        self,
        name: str = "default",
        *,
        startup_sources: Iterable[str] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        terminal: Terminal | None = None,
        startup_timeout: float | None = None,
        timeout: float | None = None,
    ) -> Session:
        """Opens a session: a bash that keeps directory, variables and jobs from call to call.

        Args:
            name: Its name, of which the sandbox has one session.
            startup_sources: Files that it reads first.
            cwd: Where it begins.
            env: Variables beside the sandbox's.
            user: Who it runs as, by name or number.
            terminal: The size of its terminal.
            startup_timeout: The most seconds until it is ready.
            timeout: The most seconds of each command that has none of its own.

        Raises:
            UsageError: If there is one of this name.
            GoneError: If the sandbox has ended.
        """
        params = {
            "sandbox": self.id,
            "session": name,
            **given(
                startupSources=None if startup_sources is None else list(startup_sources),
                cwd=None if cwd is None else os.fspath(cwd),
                env=None if env is None else dict(env),
                user=user,
                terminal=None if terminal is None else terminal.to_wire(),
            ),
            **milliseconds(startup_timeout, "startupTimeoutMs"),
            **milliseconds(timeout, "timeoutMs"),
        }
        return self._call(
            "session.create",
            params,
            lambda wire: Session(
                self, wire["session"], SessionResult.perhaps(wire["startup"])
            ),
            lasts=startup_timeout,
            stranded=close_stranded_session(self.server._connection, self.id),
        )

    def sessions(self) -> list[SessionInfo]:
        """Lists its sessions."""
        return self._call(
            "session.list",
            {"sandbox": self.id},
            lambda wire: records(SessionInfo, wire["sessions"]),
        )

    def fork(
        self,
        *,
        freeze: bool = True,
        labels: Mapping[str, str] | None = None,
        detached: bool = False,
        ttl: float | None = None,
        idle: float | None = None,
        start_timeout: float | None = None,
    ) -> Sandbox:
        """Makes a sandbox of the same spec that begins with what this one has written by now.

        Args:
            freeze: Whether programs are stopped for that moment; if not, it is refused while any
                runs.
            labels: As for `Server.create`, like the rest.
            detached: As for `Server.create`.
            ttl: As for `Server.create`.
            idle: As for `Server.create`.
            start_timeout: As for `Server.create`.

        Raises:
            GoneError: If the sandbox has ended.
            BusyError: If there are as many as may be, or a program runs and none may be stopped.
        """
        (sandbox,) = self.forks(
            1,
            freeze=freeze,
            labels=labels,
            detached=detached,
            ttl=ttl,
            idle=idle,
            start_timeout=start_timeout,
        )
        return sandbox

    def forks(
        self,
        count: int,
        *,
        freeze: bool = True,
        labels: Mapping[str, str] | None = None,
        detached: bool = False,
        ttl: float | None = None,
        idle: float | None = None,
        start_timeout: float | None = None,
    ) -> list[Sandbox]:
        """Makes some sandboxes of one moment, all or none; the rest is as for `fork`.

        Args:
            count: How many.
            freeze: As for `fork`.
            labels: As for `fork`.
            detached: As for `fork`.
            ttl: As for `fork`.
            idle: As for `fork`.
            start_timeout: As for `fork`.

        Raises:
            GoneError: If the sandbox has ended.
            BusyError: If there are as many as may be, or a program runs and none may be stopped.
        """
        params = {
            "sandbox": self.id,
            "count": count,
            "freeze": freeze,
            "detached": detached,
            **given(labels=None if labels is None else dict(labels)),
            **milliseconds(ttl, "ttlMs"),
            **milliseconds(idle, "idleMs"),
            **milliseconds(start_timeout, "startTimeoutMs"),
        }
        return self._call(
            "sandbox.fork",
            params,
            lambda wire: [
                Sandbox(self.server, it["sandbox"], is_new=True, phases=it["phases"])
                for it in wire["sandboxes"]
            ],
            lasts=start_timeout,
            stranded=close_stranded_forks(self.server._connection),
        )

    def snapshot(self, name: str | None = None, *, freeze: bool = True) -> SnapshotInfo:
        """Keeps what it has written, as it is now; `Server.create` takes the name in `snapshots`.

        Args:
            name: Its name; the server finds one if there is none.
            freeze: Whether programs are stopped for that moment; if not, it is refused while any
                runs.

        Raises:
            GoneError: If the sandbox has ended.
            BusyError: If a program runs and none may be stopped.
            UsageError: If the name is taken.
        """
        params = {"sandbox": self.id, "freeze": freeze, **given(name=name)}
        return self._call(
            "sandbox.snapshot", params, lambda wire: record(SnapshotInfo, wire), lasts=None
        )

    def info(self) -> SandboxInfo:
        """Tells of it.

        Raises:
            GoneError: If it has ended.
        """
        return self._call(
            "sandbox.info", {"sandbox": self.id}, lambda wire: record(SandboxInfo, wire)
        )

    def close(self) -> bool:
        """Ends it and everything in it; False if it had ended."""
        try:
            return self._call(
                "sandbox.close", {"sandbox": self.id}, lambda wire: bool(wire["closed"])
            )
        except GoneError:
            return False  # with its server

    def _call(
        self,
        method: str,
        params: dict[str, Any],
        read: Callable[[Any], T],
        *,
        lasts: float | None = 0.0,
        stranded: Callable[[Any], None] | None = None,
        prepare: Callable[[Any], None] | None = None,
        listen: Listen | None = None,
    ) -> T:
        return self.server._call(
            method, params, read, lasts=lasts, stranded=stranded, prepare=prepare, listen=listen
        )
