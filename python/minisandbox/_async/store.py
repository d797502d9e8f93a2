"""What the store of a server holds."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from os import fspath
from typing import TYPE_CHECKING

from .._record import records
from ..info import EnvironmentInfo, LayerInfo, LayerRef, SnapshotInfo
from ..spec import Layer, Path, given

if TYPE_CHECKING:
    from .server import AsyncServer


class AsyncLayers:
    """The layers of a store."""

    def __init__(self, server: AsyncServer) -> None:
        self._server = server

    async def import_(self, layers: Iterable[Layer]) -> builtins.list[LayerRef]:
        """Unpacks archives that are not unpacked yet, so that no sandbox waits for them.

        Raises:
            ArchiveError: If one is corrupt or unsafe.
            NotFoundError: If one is not there.
        """
        params = {"layers": [layer.to_wire() for layer in layers]}
        return await self._server._call(
            "layer.import", params, lambda wire: records(LayerRef, wire["layers"]), lasts=None
        )

    async def list(self) -> builtins.list[LayerInfo]:
        """Lists them."""
        return await self._server._call(
            "layer.list", {}, lambda wire: records(LayerInfo, wire["layers"])
        )

    async def remove(self, key: str) -> None:
        """Removes one that nothing uses or needs.

        Raises:
            NotFoundError: If there is none of this key.
            BusyError: If something uses it.
            UsageError: If something needs it.
        """
        await self._server._call("layer.remove", {"key": key}, lambda _: None)


class AsyncSnapshots:
    """The snapshots of a store: what sandboxes have written, kept under names."""

    def __init__(self, server: AsyncServer) -> None:
        self._server = server

    async def list(self) -> builtins.list[SnapshotInfo]:
        """Lists them."""
        return await self._server._call(
            "snapshot.list", {}, lambda wire: records(SnapshotInfo, wire["snapshots"])
        )

    async def remove(self, name: str) -> None:
        """Takes its name away; its layers go when nothing needs them.

        Raises:
            NotFoundError: If there is none of this name.
        """
        await self._server._call("snapshot.remove", {"name": name}, lambda _: None)


class AsyncEnvironments:
    """The environments of a store: a base, layers, variables and a directory under one name."""

    def __init__(self, server: AsyncServer) -> None:
        self._server = server

    async def import_(
        self,
        name: str,
        *,
        layers: Iterable[Layer] = (),
        base: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: Path | None = None,
    ) -> EnvironmentInfo:
        """Gives them a name, and unpacks the layers that are not unpacked yet.

        Raises:
            ArchiveError: If a layer is corrupt or unsafe.
            NotFoundError: If one is not there.
        """
        manifest = given(
            layers=[layer.to_wire() for layer in layers],
            base=base,
            env=None if env is None else dict(env),
            workdir=None if workdir is None else fspath(workdir),
        )
        return await self._server._call(
            "environment.import",
            {"name": name, "manifest": manifest},
            EnvironmentInfo.of,
            lasts=None,
        )

    async def list(self) -> builtins.list[EnvironmentInfo]:
        """Lists them."""
        return await self._server._call(
            "environment.list",
            {},
            lambda wire: [EnvironmentInfo.of(it) for it in wire["environments"]],
        )

    async def show(self, name: str) -> EnvironmentInfo:
        """Tells of one.

        Raises:
            NotFoundError: If there is none of this name.
        """
        return await self._server._call("environment.show", {"name": name}, EnvironmentInfo.of)

    async def remove(self, name: str) -> None:
        """Takes its name away; its layers go when nothing needs them.

        Raises:
            NotFoundError: If there is none of this name.
        """
        await self._server._call("environment.remove", {"name": name}, lambda _: None)
