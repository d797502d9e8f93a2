# Made of _async/file.py by make_sync.py: change that one.
"""The files of a sandbox. No link leads out of it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from .._record import record
from ..file_info import Diff, Download, FileInfo, FileList, Upload
from ..spec import InsidePath, Owner, Path, given, inside, on_host, owner_of, payload

T = TypeVar("T")

#: Files are read in parts of this size.
_READ_BYTES = 8 << 20


class Files:
    """What a sandbox does with files. A path that is not absolute begins at its directory.

    Attributes:
        id: The sandbox's id.
    """

    id: str

    def read_file(
        self, path: InsidePath, *, offset: int = 0, length: int | None = None
    ) -> bytes:
        """Reads a regular file, or a part of it; links are followed, within the sandbox.

        A file that is longer than 8 MiB is read in parts.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it is no regular file, or may not be read.
        """
        parts: list[bytes] = []
        left = length
        while left is None or left > 0:
            most = _READ_BYTES if left is None else min(left, _READ_BYTES)
            params = {"offset": offset, "length": most, "base64": True}
            wire = self._on_file("file.read", path, params, lambda wire: wire)
            parts.append(base64.b64decode(wire["base64"]))
            if wire["isEnd"]:
                break
            offset += len(parts[-1])
            left = None if left is None else left - len(parts[-1])
        return b"".join(parts)

    def read_text(
        self, path: InsidePath, *, encoding: str = "utf-8", errors: str = "strict"
    ) -> str:
        """Reads a regular file as text, by the encodings and error handlers of Python.

        Raises:
            NotFoundError: If it is not there.
            UnicodeDecodeError: If it is no text of the encoding.
            UsageError: If it is no regular file, or may not be read.
        """
        return (self.read_file(path)).decode(encoding, errors)

    def write_file(
        self,
        path: InsidePath,
        data: str | bytes,
        *,
        mode: int | None = None,
        owner: Owner | None = None,
        make_parents: bool = True,
        atomic: bool = True,
    ) -> int:
        """Writes a file, whole or not at all; links are followed, within the sandbox.

        Args:
            path: Which.
            data: Bytes, or text, which is written as UTF-8. For much of it there is `upload`.
            mode: Its permissions; by default what it has, or 0644.
            owner: Whom it belongs to.
            make_parents: Whether directories that are missing are made.
            atomic: Whether a new file takes its place; if not, the file that is there is written.

        Returns:
            How many bytes it has.

        Raises:
            NotFoundError: If a directory is missing and is not to be made.
            UsageError: If it cannot be written there, or there is too much.
        """
        params = {
            "data": payload(data),
            "makeParents": make_parents,
            "atomic": atomic,
            **given(mode=mode, owner=owner_of(owner)),
        }
        return self._on_file("file.write", path, params, lambda wire: int(wire["bytes"]))

    def stat(self, path: InsidePath, *, follow: bool = False) -> FileInfo:
        """Tells of a file; of a link itself, unless `follow`.

        Raises:
            NotFoundError: If it is not there.
        """
        return self._on_file("file.stat", path, {"follow": follow}, FileInfo.of)

    def list_files(self, path: InsidePath = "", *, most: int | None = None) -> FileList:
        """Lists what a directory holds, at most so many.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it is no directory.
        """
        return self._on_file(
            "file.list",
            path,
            given(most=most),
            lambda wire: FileList([FileInfo.of(it) for it in wire["files"]], wire["isCut"]),
        )

    def remove_file(
        self, path: InsidePath, *, recursive: bool = False, may_miss: bool = False
    ) -> bool:
        """Removes a file, a link or an empty directory; with `recursive` all that is in it.

        Returns:
            False if it was not there, which is an error unless `may_miss`.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it cannot be removed.
        """
        params = {"recursive": recursive, "mayMiss": may_miss}
        return self._on_file(
            "file.remove", path, params, lambda wire: bool(wire["removed"]), lasts=None
        )

    def make_dir(
        self,
        path: InsidePath,
        *,
        mode: int | None = None,
        owner: Owner | None = None,
        make_parents: bool = True,
    ) -> None:
        """Makes a directory and its parents; one that is there stays as it is.

        Raises:
            UsageError: If it cannot be made there.
        """
        params = {"makeParents": make_parents, **given(mode=mode, owner=owner_of(owner))}
        self._on_file("file.makeDir", path, params, lambda _: None)

    def upload(
        self,
        host_path: Path,
        path: InsidePath,
        *,
        mode: int | None = None,
        owner: Owner | None = None,
        owners: str | None = None,
    ) -> Upload:
        """Copies a file or a directory of the server's host into the sandbox, of any size.

        What lies in a directory is laid over what is there.

        Args:
            host_path: Which.
            path: Where it goes.
            mode: The permissions of a file.
            owner: Whom a file belongs to.
            owners: Whom what is in a directory belongs to: ``keep`` or ``root``.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it cannot be written there.
        """
        params = {
            "hostPath": on_host(host_path),
            **given(mode=mode, owner=owner_of(owner), owners=owners),
        }
        return self._on_file(
            "file.upload", path, params, lambda wire: record(Upload, wire), lasts=None
        )

    def upload_archive(
        self, archive: Path, path: InsidePath, *, owners: str | None = None
    ) -> Upload:
        """Unpacks a tar of the server's host, plain or in gzip or zstd, in the sandbox.

        Raises:
            ArchiveError: If it is corrupt or unsafe.
            NotFoundError: If it is not there.
        """
        params = {"archive": on_host(archive), **given(owners=owners)}
        return self._on_file(
            "file.upload", path, params, lambda wire: record(Upload, wire), lasts=None
        )

    def download(self, path: InsidePath, host_path: Path) -> Download:
        """Copies a file or a directory of the sandbox to the server's host, of any size.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it cannot be written there.
        """
        params = {"hostPath": on_host(host_path)}
        return self._on_file(
            "file.download", path, params, lambda wire: record(Download, wire), lasts=None
        )

    def download_archive(self, path: InsidePath, archive: Path) -> Download:
        """Packs a directory as a tar on the server's host, in gzip if its name ends in ``gz``.

        Raises:
            NotFoundError: If it is not there.
            UsageError: If it is no directory, or the tar cannot be written.
        """
        params = {"archive": on_host(archive)}
        return self._on_file(
            "file.download", path, params, lambda wire: record(Download, wire), lasts=None
        )

    def diff(
        self,
        root: InsidePath | None = None,
        *,
        paths: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        has_patch: bool = True,
        has_changes: bool = True,
        most_changes: int | None = None,
        most_patch_bytes: int | None = None,
    ) -> Diff:
        """Tells what has changed since the sandbox was made of its layers; it needs no git inside.

        Args:
            root: Of which directory; paths are told from there, and its ``.git`` is left out.
            paths: Only of these.
            exclude: Not of these.
            has_patch: Whether a patch is told.
            has_changes: Whether the paths are told.
            most_changes: How many of them.
            most_patch_bytes: How much of the patch.

        Raises:
            UsageError: If an argument is wrong, or neither is asked for.
        """
        forms = {(True, True): "both", (True, False): "unified", (False, True): "list"}
        params = given(
            sandbox=self.id,
            format=forms.get((has_patch, has_changes), "neither"),
            root=None if root is None else inside(root),
            paths=None if paths is None else list(paths),
            exclude=None if exclude is None else list(exclude),
            mostChanges=most_changes,
            mostPatchBytes=most_patch_bytes,
            base64=True,
        )
        return self._call("sandbox.diff", params, Diff.of, lasts=None)

    def _on_file(
        self,
        method: str,
        path: InsidePath,
        params: dict[str, Any],
        read: Callable[[Any], T],
        *,
        lasts: float | None = 0.0,
    ) -> T:
        where = {"sandbox": self.id, "path": inside(path)}
        return self._call(method, {**where, **params}, read, lasts=lasts)

    def _call(
        self,
        method: str,
        params: dict[str, Any],
        read: Callable[[Any], T],
        *,
        lasts: float | None = 0.0,
    ) -> T:
        raise NotImplementedError
