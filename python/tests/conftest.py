"""A server that tests share, in a store of this run."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from minisandbox import Sandbox, Server

#: So long something may take before it counts as hung.
HUNG = 120


@pytest.fixture(scope="session", autouse=True)
def store() -> Iterator[Path]:
    """The store, which every server of these tests has: in it nothing is left at the end."""
    named = os.environ.get("MINISANDBOX_STORE")
    folder = None if named else tempfile.mkdtemp(prefix="minisandbox-test-")
    if folder:
        Path(folder).chmod(0o755)
        os.environ["MINISANDBOX_STORE"] = f"{folder}/store"
    place = Path(os.environ["MINISANDBOX_STORE"])
    yield place
    with Server():
        pass  # it removes what those that were killed have left
    left = {name: os.listdir(place / name) for name in ("runs", "tmp", "locks")}
    assert left == {"runs": [], "tmp": [], "locks": []}
    if folder:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server(store: Path) -> Iterator[Server]:
    """A server."""
    assert store
    with Server() as server:
        yield server


@pytest.fixture
def sandbox(server: Server) -> Iterator[Sandbox]:
    """A sandbox."""
    with server.create() as sandbox:
        yield sandbox


def wait_gone(pid: int) -> None:
    """Waits until a process has ended, which must happen soon."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(HUNG * 1000), f"process {pid} lives"
    finally:
        os.close(descriptor)


def python(script: str, *args: str) -> subprocess.Popen[str]:
    """Runs a script in an interpreter of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Waits for its end; gives exit status, stdout and stderr."""
    try:
        out, err = child.communicate(timeout=HUNG)
    except subprocess.TimeoutExpired:
        child.kill()
        pytest.fail(f"it hangs, and has said {child.communicate()}")
    return child.returncode, out, err
