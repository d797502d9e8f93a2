"""Puts the program into the wheel, where `MINISANDBOX_BUNDLE` says where it is."""

from __future__ import annotations

import os
import platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "MINISANDBOX_BUNDLE"


class Bundle(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
    """With a program the wheel is for this kind of machine alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds it."""
        program = os.environ.get(VARIABLE)
        if version != "standard" or not program:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{platform.machine()}"
        build_data["force_include"][program] = "minisandbox/bin/minisandbox"
