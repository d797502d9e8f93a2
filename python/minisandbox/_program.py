"""Finds the program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import NotFoundError

VARIABLE = "MINISANDBOX"

#: Where a wheel that brings the program has it.
BUNDLED = Path(__file__).parent / "bin" / "minisandbox"

_REMEDY = f"Give its path, set {VARIABLE}, or put minisandbox on PATH."


def find_program(path: str | os.PathLike[str] | None = None) -> str:
    """Finds it by argument, by the variable, in this wheel, or on PATH; the first named counts.

    Raises:
        NotFoundError: If it is not there, or not executable.
    """
    if path is not None:
        return _executable(os.fspath(path), "the program")
    named = os.environ.get(VARIABLE)
    if named:
        return _executable(named, f"the program that {VARIABLE} names")
    # What came with this package fits it; what lies on PATH may be of another day.
    if BUNDLED.is_file():
        return str(BUNDLED)
    found = shutil.which("minisandbox")
    if found is None:
        raise NotFoundError(
            "Cannot find the program minisandbox: it is not on PATH", remedy=_REMEDY
        )
    return found


def _executable(path: str, what: str) -> str:
    found = shutil.which(path)
    if found is None:
        raise NotFoundError(
            f'Cannot start {what}, "{path}": there is no such executable file', remedy=_REMEDY
        )
    return found
