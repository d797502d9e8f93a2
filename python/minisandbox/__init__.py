r"""Client of minisandbox: isolated, limited, disposable Linux sandboxes.

>>> with minisandbox.Server() as server, server.create() as sandbox:  # doctest: +SKIP
...     result = sandbox.run("echo hi; exit 3", timeout=60)
...     result.outcome.kind, result.exit_code, result.stdout.text
('exited', 3, 'hi\n')

`Server`, `Sandbox`, `Process` are for threads, `AsyncServer` and its like for tasks of asyncio: the
same methods, awaited. Errors are subclasses of `MinisandboxError`; how a program ended is a value,
`Result.outcome`. Times that are given are seconds.
"""

from __future__ import annotations

from ._async.process import AsyncProcess
from ._async.sandbox import AsyncSandbox
from ._async.server import AsyncServer
from ._async.session import AsyncSession
from ._async.store import AsyncEnvironments, AsyncLayers, AsyncSnapshots
from ._sync.process import Process
from ._sync.sandbox import Sandbox
from ._sync.server import Server
from ._sync.session import Session
from ._sync.store import Environments, Layers, Snapshots
from ._version import PROTOCOL, __version__
from .errors import (
    ArchiveError,
    BusyError,
    CancelledError,
    CommandError,
    GoneError,
    HostError,
    InternalError,
    MethodError,
    MinisandboxError,
    NotFoundError,
    OutcomeError,
    ServerGoneError,
    SetupError,
    TimedOutError,
    UsageError,
)
from .file_info import Change, Diff, Download, FileInfo, FileList, Side, Upload
from .info import (
    EnvironmentInfo,
    LayerInfo,
    LayerRef,
    ProcessInfo,
    Progress,
    SandboxInfo,
    ServerInfo,
    SessionInfo,
    SnapshotInfo,
)
from .metrics import Metrics
from .result import Exchange, Match, Outcome, Peek, Result, SessionOutcome, SessionResult
from .spec import Bind, DiskUpper, Hardening, Keep, Layer, Limits, Terminal, TmpfsUpper
from .text import Chunk, Output, Text

__all__ = [
    "PROTOCOL",
    "ArchiveError",
    "AsyncEnvironments",
    "AsyncLayers",
    "AsyncProcess",
    "AsyncSandbox",
    "AsyncServer",
    "AsyncSession",
    "AsyncSnapshots",
    "Bind",
    "BusyError",
    "CancelledError",
    "Change",
    "Chunk",
    "CommandError",
    "Diff",
    "DiskUpper",
    "Download",
    "EnvironmentInfo",
    "Environments",
    "Exchange",
    "FileInfo",
    "FileList",
    "GoneError",
    "Hardening",
    "HostError",
    "InternalError",
    "Keep",
    "Layer",
    "LayerInfo",
    "LayerRef",
    "Layers",
    "Limits",
    "Match",
    "MethodError",
    "Metrics",
    "MinisandboxError",
    "NotFoundError",
    "Outcome",
    "OutcomeError",
    "Output",
    "Peek",
    "Process",
    "ProcessInfo",
    "Progress",
    "Result",
    "Sandbox",
    "SandboxInfo",
    "Server",
    "ServerGoneError",
    "ServerInfo",
    "Session",
    "SessionInfo",
    "SessionOutcome",
    "SessionResult",
    "SetupError",
    "Side",
    "SnapshotInfo",
    "Snapshots",
    "Terminal",
    "Text",
    "TimedOutError",
    "TmpfsUpper",
    "Upload",
    "UsageError",
    "__version__",
]
