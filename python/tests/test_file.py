"""Files, forks, snapshots and diffs."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from minisandbox import ArchiveError, NotFoundError, Sandbox, Server, UsageError


def test_files_are_written_and_read(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 40_000
    assert sandbox.write_file("/tmp/a/b/it", data, mode=0o640) == len(data)
    assert sandbox.run("sha256sum /tmp/a/b/it; stat -c %a /tmp/a/b/it").stdout.text.endswith(
        "640\n"
    )
    assert sandbox.read_file("/tmp/a/b/it") == data
    assert sandbox.read_file("/tmp/a/b/it", offset=255, length=2) == b"\xff\0"
    assert sandbox.read_file("/tmp/a/b/it", offset=10, length=9 << 20) == data[10 : 10 + (9 << 20)]
    sandbox.write_file("/tmp/text", "ä\n")
    assert sandbox.read_text("/tmp/text") == "ä\n"
    assert sandbox.read_text("/tmp/text", encoding="latin-1") == "Ã¤\n"
    assert sandbox.run(["cat", "/tmp/text"]).stdout.text == "ä\n"
    with pytest.raises(UnicodeDecodeError):
        sandbox.read_text("/tmp/text", encoding="ascii")
    with pytest.raises(NotFoundError):
        sandbox.read_file("/none")


def test_names_that_are_no_text_are_kept(sandbox: Sandbox) -> None:
    sandbox.write_file(b"/tmp/d/\xff", "1")
    sandbox.run("ln -s ../x /tmp/d/link; mkdir /tmp/d/sub")
    found = sandbox.list_files("/tmp/d")
    assert [(it.name, it.type, it.target) for it in found.files] == [
        ("link", "symlink", "../x"),
        ("sub", "directory", None),
        ("\udcff", "file", None),
    ]
    assert sandbox.read_file("/tmp/d/\udcff") == b"1"
    assert sandbox.list_files("/tmp/d", most=1).is_cut
    assert sandbox.stat("/tmp/d/\udcff").size == 1
    assert sandbox.stat("/tmp/d/link").type == "symlink"
    with pytest.raises(NotFoundError):
        sandbox.stat("/tmp/d/link", follow=True)


def test_files_and_directories_are_made_and_removed(sandbox: Sandbox) -> None:
    sandbox.make_dir("/tmp/x/y", mode=0o700)
    assert sandbox.stat("/tmp/x/y").mode == 0o700
    with pytest.raises(UsageError):
        sandbox.remove_file("/tmp/x")
    assert sandbox.remove_file("/tmp/x", recursive=True)
    assert sandbox.remove_file("/tmp/x", may_miss=True) is False
    with pytest.raises(NotFoundError):
        sandbox.remove_file("/tmp/x")


def test_trees_go_in_and_come_out(sandbox: Sandbox, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "it").write_bytes(b"\xffit")
    assert sandbox.upload(tree, "/tmp/tree").entries >= 2
    assert sandbox.read_file("/tmp/tree/sub/it") == b"\xffit"
    sandbox.upload(tree / "sub" / "it", "/tmp/one", mode=0o600)
    assert sandbox.stat("/tmp/one").mode == 0o600
    sandbox.run("echo more > /tmp/tree/more")
    assert sandbox.download("/tmp/tree", tmp_path / "back").notes == []
    assert (tmp_path / "back" / "more").read_text() == "more\n"
    assert sandbox.download("/tmp/one", tmp_path / "one").bytes == 3

    sandbox.download_archive("/tmp/tree", tmp_path / "tree.tar.gz")
    with tarfile.open(tmp_path / "tree.tar.gz") as archive:
        assert {name.strip("./") for name in archive.getnames()} >= {"sub/it", "more"}
    sandbox.upload_archive(tmp_path / "tree.tar.gz", "/tmp/again")
    assert sandbox.read_file("/tmp/again/more") == b"more\n"
    (tmp_path / "bad.tar.gz").write_bytes(b"nonsense")
    with pytest.raises(ArchiveError):
        sandbox.upload_archive(tmp_path / "bad.tar.gz", "/tmp/bad")


def test_a_diff_is_what_git_apply_takes(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.run("mkdir -p /srv/it; cd /srv/it; echo text > a; head -c 100 /dev/urandom > b")
    diff = sandbox.diff("/srv/it")
    assert [(it.path, it.status) for it in diff.changes if it.path in {"a", "b"}] == [
        ("a", "added"),
        ("b", "added"),
    ]
    assert not diff.is_cut
    subprocess.run(["git", "apply"], cwd=tmp_path, input=diff.patch.bytes, check=True)
    assert (tmp_path / "a").read_text() == "text\n"
    assert (tmp_path / "b").read_bytes() == sandbox.read_file("/srv/it/b")
    assert sandbox.diff("/srv/it", has_patch=False).patch.text == ""
    only = sandbox.diff("/srv/it", paths=["a"], has_changes=False)
    assert only.changes == []
    assert "+text" in only.patch.text
    with pytest.raises(UsageError):
        sandbox.diff(has_patch=False, has_changes=False)


def test_forks_begin_with_what_was_written_and_go_their_own_ways(server: Server) -> None:
    with server.create() as sandbox:
        sandbox.run("echo one > /srv/it")
        forks = sandbox.forks(3, labels={"fork": "1"})
        for number, fork in enumerate(forks):
            fork.run(f"echo {number} >> /srv/it")
        with sandbox.fork() as another:
            assert another.read_text("/srv/it") == "one\n"
        assert [it.read_text("/srv/it") for it in forks] == [f"one\n{n}\n" for n in range(3)]
        assert len(server.sandboxes({"fork": "1"})) == 3
        for fork in forks:
            fork.close()


def test_a_snapshot_is_the_start_of_others(server: Server) -> None:
    with server.create() as sandbox:
        sandbox.run("echo kept > /srv/it")
        info = sandbox.snapshot("python-client")
    assert info.name == "python-client"
    assert info in server.snapshots.list()
    with server.create(snapshots=["python-client"]) as sandbox:
        assert sandbox.read_text("/srv/it") == "kept\n"
    server.snapshots.remove("python-client")
    with pytest.raises(NotFoundError):
        server.create(snapshots=["python-client"])
