"""What SWE-ReX's tests need: its own client, connected to a server of ours.

MINISANDBOX     the program under test
SWEREX_BINDS    paths that the sandbox shows as they are, a JSON list of binds
"""

import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from swerex.runtime.abstract import (
    BashAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
)
from swerex.runtime.remote import RemoteRuntime

TEST_API_KEY = "the-key-of-the-tests"


class _Action(BashAction):
    timeout: float | None = 5


class _Command(Command):
    timeout: float | None = 5


@dataclass
class RemoteServer:
    port: int

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": TEST_API_KEY}


@pytest.fixture(scope="session")
def remote_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteServer]:
    key_file = tmp_path_factory.mktemp("key") / "key"
    key_file.write_text(TEST_API_KEY)
    options = ["--swerex-key-file", str(key_file), "--swerex-root", "k/suite"]
    # One of its tests wants to read "kill" once a pager was ended.
    options += ["--swerex-compat", "kill-word"]
    argv = [os.environ["MINISANDBOX"], "serve", "--stdio", "--swerex", "0", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        binds = json.loads(os.environ["SWEREX_BINDS"])
        # Started by root, a sandbox has ids that own nothing of this.
        tmp_path_factory.getbasetemp().chmod(0o755)
        shared = str(tmp_path_factory.getbasetemp())
        binds.append({"source": shared, "target": shared, "writable": True})
        params = {
            "key": "suite",
            "binds": binds,
            "env": {"PATH": os.environ["PATH"]},
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "sandbox.create", "params": params}
        print(json.dumps(request), file=server.stdin, flush=True)
        answer = json.loads(server.stdout.readline())
        assert "result" in answer, answer
        url = next(line for line in server.stderr if " swerex " in line)
        yield RemoteServer(int(re.search(r":(\d+)\"", url)[1]))
        server.stdin.close()
        server.stderr.read()
        assert server.wait() == 0


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.fixture
async def remote_runtime(remote_server: RemoteServer) -> AsyncIterator[RemoteRuntime]:
    runtime = RemoteRuntime(port=remote_server.port, auth_token=TEST_API_KEY, timeout=5)
    yield runtime
    await runtime.close()


@pytest.fixture
async def runtime_with_default_session(
    remote_runtime: RemoteRuntime,
) -> AsyncIterator[RemoteRuntime]:
    await remote_runtime.create_session(CreateBashSessionRequest())
    yield remote_runtime
    await remote_runtime.close_session(CloseBashSessionRequest())
