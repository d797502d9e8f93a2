"""Servers: how they are found, started, connected to, asked and ended."""

from __future__ import annotations

import os
import subprocess
import tarfile
import warnings
from pathlib import Path

import pytest
from conftest import HUNG, wait_gone

from minisandbox import (
    ArchiveError,
    BusyError,
    GoneError,
    Layer,
    NotFoundError,
    Progress,
    Server,
    ServerGoneError,
    UsageError,
    _program,
)


def make_archive(path: Path, **files: str) -> Path:
    """Makes a tar.gz of small files."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            source = path.parent / name
            source.write_text(text)
            archive.add(source, name)
    return path


def test_the_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _program.find_program()
    assert _program.find_program(real) == real
    monkeypatch.delenv("MINISANDBOX", raising=False)
    monkeypatch.setattr(_program, "BUNDLED", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFoundError, match="not on PATH"):
        Server()
    (tmp_path / "minisandbox").symlink_to(real)
    assert _program.find_program() == str(tmp_path / "minisandbox")
    monkeypatch.setattr(_program, "BUNDLED", Path(real))
    assert _program.find_program() == real
    monkeypatch.setenv("MINISANDBOX", str(tmp_path / "missing"))
    with pytest.raises(NotFoundError, match="MINISANDBOX"):
        Server()
    with pytest.raises(NotFoundError, match="no such executable"):
        Server("/etc/passwd")


def test_a_server_tells_of_itself(server: Server) -> None:
    info = server.info()
    assert (info.protocol, info.max_sandboxes) == (1, 1024)
    assert Path(f"/proc/{info.pid}").exists()
    assert info.identity in {"root", "subordinate", "single"}
    assert "serving" in server.stderr
    metrics = server.metrics()
    assert metrics["sandboxes"]["max"] == 1024
    assert metrics["process"]["residentBytes"] > 0


def test_sandboxes_are_listed_by_their_labels_and_found_by_their_key(server: Server) -> None:
    with server.create(key="k", labels={"a": "1", "b": "2"}) as one, server.create() as two:
        assert [it.sandbox for it in server.sandboxes({"a": "1"})] == [one.id]
        assert {it.sandbox for it in server.sandboxes()} >= {one.id, two.id}
        again = server.create(key="k")
        assert (again.id, again.is_new, one.is_new) == (one.id, False, True)
        info = one.info()
        assert (info.key, info.labels, info.detached) == ("k", {"a": "1", "b": "2"}, False)
        assert set(one.phases) >= {"prepare", "create"}


def test_close_ends_the_server_and_all_calls_after_it_say_so() -> None:
    server = Server()
    pid = server.info().pid
    sandbox = server.create()
    assert "ended" not in repr(server)
    assert server.close() == 0
    assert server.close() == 0
    wait_gone(pid)
    assert "which has ended" in repr(server)
    for call in (server.create, server.metrics, lambda: sandbox.run("true")):
        with pytest.raises(ServerGoneError, match="it was closed"):
            call()
    assert sandbox.close() is False


def test_shutdown_ends_the_server() -> None:
    server = Server()
    server.shutdown()
    with pytest.raises(GoneError):
        server.sandboxes()


def test_a_server_that_is_forgotten_is_ended_with_a_warning() -> None:
    server = Server()
    pid = server.info().pid
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del server
    assert [it.category for it in caught] == [ResourceWarning]
    wait_gone(pid)


def test_options_reach_the_server() -> None:
    with Server(options=["--max-sandboxes", "1"], env={"MINISANDBOX_X": "1"}) as server:
        assert server.info().max_sandboxes == 1
        with server.create(), pytest.raises(BusyError) as caught:
            server.create()
        assert caught.value.kind == "busy"


def test_a_server_that_cannot_serve_says_why() -> None:
    with pytest.raises(ServerGoneError) as caught:
        Server(options=["--no-such-option"])
    assert caught.value.exit_status == 125
    assert "no-such-option" in caught.value.stderr
    assert "no-such-option" in str(caught.value)


def test_clients_share_a_server_by_its_socket(tmp_path: Path) -> None:
    socket = str(tmp_path / "socket")
    with pytest.raises(NotFoundError):
        Server.connect(socket)
    program = _program.find_program()
    host = subprocess.Popen(
        [program, "serve", "--socket", socket, "--log", "text"], stderr=subprocess.PIPE
    )
    try:
        assert host.stderr
        assert b"serving" in host.stderr.readline()
        with Server.connect(socket) as one, Server.connect(socket) as two:
            own = one.create()
            kept = one.create(detached=True)
            assert two.attach(own.id).run("echo hi").stdout.text == "hi\n"
            assert one.close() is None
            while len(two.sandboxes()) > 1:
                pass  # the server learns of it
            assert [it.sandbox for it in two.sandboxes()] == [kept.id]
            two.attach(kept.id).close()
            big = "x" * 20_000_000
            with two.create() as sandbox:
                assert sandbox.run("cat", stdin=big).stdout.total_bytes == len(big)
        with Server.connect(socket) as three:
            three.create()
            host.kill()
            with pytest.raises(ServerGoneError, match="it has ended"):
                three.create().run("sleep 1000")
    finally:
        host.kill()
        host.communicate(timeout=HUNG)


def test_layers_and_environments_are_imported_listed_and_removed(
    server: Server, tmp_path: Path
) -> None:
    archive = make_archive(tmp_path / "x.tar.gz", it="content")
    seen: list[Progress] = []
    with server.create(layers=[Layer("/opt/x", archive)], on_progress=seen.append) as sandbox:
        assert sandbox.run("cat /opt/x/it").stdout.text == "content"
    assert {it.path for it in seen} == {"/opt/x"}
    (ref,) = server.layers.import_([Layer("/opt/x", archive)])
    (layer,) = [it for it in server.layers.list() if it.key == ref.key]
    assert (layer.path, layer.sha256, layer.archive) == ("/opt/x", ref.sha256, "x.tar.gz")

    made = server.environments.import_(
        "it", layers=[Layer("/opt/x", sha256=ref.sha256)], env={"A": "b"}, workdir="/opt/x"
    )
    assert server.environments.show("it") == made
    assert server.environments.list() == [made]
    assert (made.env, made.layers[0].sha256) == ({"A": "b"}, ref.sha256)
    with server.create(environment="it") as sandbox:
        assert sandbox.run("cat it; echo $A").stdout.text == "contentb\n"
    server.environments.remove("it")
    with pytest.raises(NotFoundError):
        server.environments.show("it")
    with pytest.raises(NotFoundError):
        server.layers.remove("none")


def test_errors_carry_what_the_server_knows(server: Server, tmp_path: Path) -> None:
    whole = make_archive(tmp_path / "x.tar.gz", it="content" * 1000).read_bytes()
    (tmp_path / "bad.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArchiveError) as caught:
        server.create(layers=[Layer("/opt/x", tmp_path / "bad.tar.gz")])
    assert (caught.value.kind, caught.value.code) == ("archive", -32004)
    with pytest.raises(NotFoundError):
        server.create(layers=[Layer("/opt/x", tmp_path / "none.tar.gz")])
    with pytest.raises(NotFoundError):
        server.create(environment="none")
    with pytest.raises(UsageError):
        server.create(workdir="relative")


def test_environment_variables_of_the_caller_stay_outside(server: Server) -> None:
    os.environ["MINISANDBOX_SECRET"] = "x"
    with server.create() as sandbox:
        assert "SECRET" not in sandbox.run(["env"]).stdout.text
    del os.environ["MINISANDBOX_SECRET"]
