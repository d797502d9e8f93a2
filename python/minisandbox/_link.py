"""The descriptors to a server: the pipes of a child, or a socket."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Callable

from .errors import BusyError, HostError, NotFoundError

#: So long a server may take to take a connection.
_CONNECT_SECONDS = 10


class Link:
    """Descriptors to a server, and the process if it is ours. Used by one thread alone."""

    def __init__(
        self,
        name: str,
        *,
        reads: int,
        writes: int,
        errors: int | None = None,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.name = name
        self.reads: int | None = reads
        self.writes: int | None = writes
        self.errors: int | None = errors
        self.process = process
        os.set_blocking(writes, False)

    def close(self) -> None:
        """Closes all but stderr, on which its last words may come."""
        descriptors = {self.reads, self.writes}
        self.reads = self.writes = None
        _close(descriptors)

    def close_errors(self) -> None:
        """Closes stderr."""
        descriptor, self.errors = self.errors, None
        _close({descriptor})

    def kill(self) -> None:
        """Ends the process; the kernel ends all that runs in its sandboxes."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)

    def watch(self, on_end: Callable[[], None]) -> None:
        """Calls a function, in a thread, when the process has ended; it is not reaped by that."""
        process = self.process
        if process is None:
            return

        def wait() -> None:
            # Who reaps all children of this process has done it before: then it has ended, too.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            on_end()

        threading.Thread(target=wait, name="minisandbox-wait", daemon=True).start()


def _close(descriptors: set[int | None]) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def start(argv: Sequence[str], env: Mapping[str, str] | None) -> Link:
    """Starts a server on pipes, in a session of its own: Ctrl-C is for the caller to handle.

    Raises:
        HostError: If it cannot be executed.
    """
    own: list[int] = []
    theirs: list[int] = []
    try:
        for is_read_by_us in (False, True, True):
            ends = os.pipe()
            own.append(ends[0 if is_read_by_us else 1])
            theirs.append(ends[1 if is_read_by_us else 0])
        process = subprocess.Popen(
            list(argv),
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            env=None if env is None else {**os.environ, **env},
            start_new_session=True,
        )
    except OSError as error:
        _close({*own, *theirs})
        raise HostError(f'Cannot start the server "{argv[0]}": {error}') from error
    except BaseException:
        _close({*own, *theirs})
        raise
    _close({*theirs})
    writes, reads, errors = own
    return Link(f'"{argv[0]}"', reads=reads, writes=writes, errors=errors, process=process)


def connect(path: str | os.PathLike[str]) -> Link:
    """Connects to the socket of a server.

    Raises:
        NotFoundError: If no server listens there.
        BusyError: If it takes no connection.
        HostError: If the socket cannot be used.
    """
    path = os.fspath(path)
    what = f'Cannot connect to the server at "{path}"'
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as client:
        client.settimeout(_CONNECT_SECONDS)
        try:
            client.connect(path)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NotFoundError(
                f"{what}: no server listens there", remedy="Start minisandbox serve --socket."
            ) from error
        except TimeoutError as error:
            raise BusyError(f"{what}: it has taken no connection for 10 s") from error
        except OSError as error:
            if error.errno == errno.EAGAIN:
                raise BusyError(f"{what}: too many connect at once") from error
            raise HostError(f"{what}: {error}") from error
        descriptor = client.detach()
    return Link(f'at "{path}"', reads=descriptor, writes=descriptor)
