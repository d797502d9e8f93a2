"""Dataclasses made of what the protocol tells."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def record(cls: type[T], wire: Mapping[str, Any]) -> T:
    """Makes a dataclass of the members that it knows; a later server may tell more."""
    known = {it.name for it in fields(cls)}  # type: ignore[arg-type]
    named = {_snake(name): value for name, value in wire.items()}
    return cls(**{name: value for name, value in named.items() if name in known})


def records(cls: type[T], wires: Iterable[Mapping[str, Any]]) -> list[T]:
    """Makes one of each."""
    return [record(cls, wire) for wire in wires]


def path_of(wire: Mapping[str, Any]) -> str:
    """Reads a name; bytes that are no UTF-8 are escaped as the names of this host's files."""
    raw = wire.get("base64")
    return str(wire["text"]) if raw is None else os.fsdecode(base64.b64decode(raw))


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda match: "_" + match[0].lower(), name)
