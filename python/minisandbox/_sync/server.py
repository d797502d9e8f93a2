# Made of _async/server.py by make_sync.py: change that one.
"""A server of sandboxes."""

from __future__ import annotations

import itertools
import os
import warnings
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Callable, TypeVar

from .. import _link
from .._connection import Connection
from .._feed import Feed
from .._params import Listen, close_stranded, create_params, progress, total, understand
from .._program import find_program
from .._record import records
from .._version import PROTOCOL, __version__
from .._wire import Json
from ..info import Progress, SandboxInfo, ServerInfo
from ..metrics import Metrics
from ..spec import Bind, DiskUpper, Hardening, Layer, Limits, Path, TmpfsUpper
from .sandbox import Sandbox
from .store import Environments, Layers, Snapshots
from .waiting import wait

T = TypeVar("T")

_tokens = itertools.count(1)


class Server:
    """A server of sandboxes, as a child of this process: it ends with it, however that ends.

    It is used as a context manager, or closed by `close`. Any number of threads and tasks may use
    it. A fork of this process may not, and does not keep it alive.

    Args:
        program: The program; by default the one that ``MINISANDBOX`` names, or of this package's
            wheel, or on PATH.
        store: The store; by default as ``minisandbox serve`` says.
        options: Further options of ``minisandbox serve``, such as ``["--max-sandboxes", "64"]``.
        env: Variables of the server beside those of this process.
        reply_timeout: The most seconds that an answer may take, beside the time that a call was
            given to do its work; no limit by default.

    Raises:
        NotFoundError: If there is no program.
        HostError: If it cannot be started.
        ServerGoneError: If it does not serve.

    Attributes:
        reply_timeout: As given.
    """

    def __init__(
        self,
        program: Path | None = None,
        *,
        store: Path | None = None,
        options: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        reply_timeout: float | None = None,
    ) -> None:
        argv = [find_program(program), "serve", *options]
        if store is not None:
            argv += ["--store", os.fspath(store)]
        self._open(Connection(lambda: _link.start(argv, env)), reply_timeout)
        self._greet()

    @classmethod
    def connect(cls, path: Path, *, reply_timeout: float | None = None) -> Server:
        """Connects to the socket of a server, which lives on when the connection ends.

        Raises:
            NotFoundError: If no server listens there.
            BusyError: If it takes no connection.
            ServerGoneError: If it is no server.
        """
        server = cls.__new__(cls)
        server._open(Connection(lambda: _link.connect(path)), reply_timeout)
        server._greet()
        return server

    def _open(self, connection: Connection, reply_timeout: float | None) -> None:
        self.reply_timeout = reply_timeout
        self._connection = connection
        self._info: ServerInfo | None = None
        weakref.finalize(self, _forgotten, connection).atexit = False

    def __enter__(self) -> Server:
        self._greet()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._connection.is_open else ", which has ended"
        return f"<{type(self).__name__} {self._connection.name}{state}>"

    @property
    def layers(self) -> Layers:
        """The layers of its store."""
        return Layers(self)

    @property
    def snapshots(self) -> Snapshots:
        """The snapshots of its store."""
        return Snapshots(self)

    @property
    def environments(self) -> Environments:
        """The environments of its store."""
        return Environments(self)

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._connection.is_open

    @property
    def stderr(self) -> str:
        """The last that a server of ours has said on stderr."""
        return self._connection.stderr

    def info(self) -> ServerInfo:
        """Tells of the server."""
        return self._greet()

    def create(
        self,
        *,
        environment: str | None = None,
        base: Path | None = None,
        layers: Iterable[Layer] = (),
        snapshots: Iterable[Path] = (),
        binds: Iterable[Bind] = (),
        env: Mapping[str, str] | None = None,
        workdir: Path | None = None,
        network: str | None = None,
        user: str | int | None = None,
        hostname: str | None = None,
        timeout: float | None = None,
        upper: DiskUpper | TmpfsUpper | None = None,
        limits: Limits | None = None,
        hardening: Hardening | None = None,
        key: str | None = None,
        labels: Mapping[str, str] | None = None,
        detached: bool = False,
        ttl: float | None = None,
        idle: float | None = None,
        start_timeout: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> Sandbox:
        """Makes a sandbox, or gives the one of the same key.

        Args:
            environment: The name of an imported environment.
            base: What lies at the bottom: ``host``, a name from the store, or a directory.
            layers: Archives above it.
            snapshots: Snapshots above those, by name or file (``--from``).
            binds: Directories of the host that are shown.
            env: Variables of every program.
            workdir: Where programs run.
            network: ``none``, ``blackhole`` or ``host``.
            user: Who programs run as, by name or number.
            hostname: What it is called.
            timeout: The most seconds that a program may take, unless it is told otherwise.
            upper: Where what it writes lies.
            limits: The most that it may use.
            hardening: What programs may do.
            key: By it a repeated call finds the same sandbox.
            labels: By them `sandboxes` finds it.
            detached: Whether it outlives this connection.
            ttl: The most seconds that it lives.
            idle: The most seconds in which nothing is asked of it.
            start_timeout: The most seconds until it is ready.
            on_progress: Hears how far the unpacking of layers is.
            spec: Fields as of the file of ``minisandbox run --spec``, which the above replace.

        Raises:
            ArchiveError: If a layer is corrupt or unsafe.
            BusyError: If there are as many as may be, or it was not ready in time.
            HostError: If this host cannot do what is asked.
            NotFoundError: If something that is named is not there.
            SetupError: If a step of making it failed.
            UsageError: If an argument is wrong.
        """
        params = create_params(
            spec=spec,
            environment=environment,
            base=base,
            layers=layers,
            snapshots=snapshots,
            binds=binds,
            env=env,
            workdir=workdir,
            network=network,
            user=user,
            hostname=hostname,
            timeout=timeout,
            upper=upper,
            limits=limits,
            hardening=hardening,
            key=key,
            labels=labels,
            detached=detached,
            ttl=ttl,
            idle=idle,
            start_timeout=start_timeout,
        )
        return self._call(
            "sandbox.create",
            params,
            lambda wire: Sandbox(
                self, wire["sandbox"], is_new=wire["isNew"], phases=wire["phases"]
            ),
            lasts=start_timeout,
            stranded=close_stranded(self._connection),
            listen=None if on_progress is None else progress(on_progress),
        )

    def attach(self, sandbox: str) -> Sandbox:
        """Gives a sandbox that is there by its id; asks nobody whether it is."""
        return Sandbox(self, sandbox)

    def sandboxes(self, labels: Mapping[str, str] | None = None) -> list[SandboxInfo]:
        """Lists the sandboxes that live, the oldest first, or those with all of these labels."""
        return self._call(
            "sandbox.list",
            {"labels": dict(labels or {})},
            lambda wire: records(SandboxInfo, wire["sandboxes"]),
        )

    def metrics(self) -> Metrics:
        """Tells what the server has done and what it holds."""
        return self._call("metrics", {}, _same_metrics)

    def shutdown(self) -> None:
        """Ends every sandbox of the server, whoever made it, and the server."""
        self._call("shutdown", {}, lambda _: None)
        self.close()

    def close(self) -> int | None:
        """Ends the connection, a server of ours, and the sandboxes of this connection.

        It may be called again, and when the server has ended. An interrupt ends the server at once.

        Returns:
            What the server exited with, or None if it is not ours.
        """
        try:
            return wait(self._connection.close())
        except BaseException:
            self._connection.kill()
            raise

    def _greet(self) -> ServerInfo:
        if self._info is not None:
            return self._info
        client = {"name": "minisandbox-python", "version": __version__}
        try:
            answer = self._connection.call("initialize", {"protocol": PROTOCOL, "client": client})
            wire = wait(answer, self.reply_timeout)
            self._info = understand("initialize", wire, ServerInfo.of)
        except BaseException:
            self.close()
            raise
        most = wire["limits"].get("maxMessageBytes")
        if isinstance(most, int):
            self._connection.max_request_bytes = most
        return self._info

    def _check(self) -> None:
        """Raises ServerGoneError if the server has gone."""
        self._connection.check()

    def _call(
        self,
        method: str,
        params: Json,
        read: Callable[[Any], T],
        *,
        lasts: float | None = 0.0,
        stranded: Callable[[Any], None] | None = None,
        prepare: Callable[[Any], None] | None = None,
        listen: Listen | None = None,
    ) -> T:
        """Makes a call and waits for its answer, `lasts` seconds of which are its own."""
        self._greet()
        connection = self._connection
        while (full := connection.full()) is not None:
            wait(full)
        feed: Feed[Json] = Feed()
        token = next(_tokens)
        if listen is not None:
            connection.subscribe(listen.method, token, feed)
            params = {**params, listen.token: token}
        answer = connection.call(method, params, stranded=stranded, prepare=prepare)
        if listen is not None:
            answer.when_done(feed.close)
            try:
                while not (feed.is_closed and feed.is_empty):
                    event = feed.take()
                    if event is None:
                        wait(feed.changed())
                    else:
                        listen.hear(event)
            except BaseException:
                answer.give_up()
                raise
            finally:
                connection.unsubscribe(listen.method, token)
        wire = wait(answer, total(self.reply_timeout, lasts))
        return understand(method, wire, read)


def _same_metrics(wire: Any) -> Metrics:
    metrics: Metrics = wire
    return metrics


def _forgotten(connection: Connection) -> None:
    if connection.is_open:
        warnings.warn(f"the server {connection.name} was not closed", ResourceWarning, stacklevel=2)
    connection.close_soon()
