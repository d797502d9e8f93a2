"""Wakes a thread that polls."""

from __future__ import annotations

import contextlib
import os


class Alarm:
    """A pipe that is rung by any thread. It is closed when nobody can ring any more."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe()
        os.set_blocking(self.reads, False)
        os.set_blocking(self._writes, False)

    def ring(self) -> None:
        """Wakes whoever polls `reads`."""
        with contextlib.suppress(OSError):  # full, it wakes anyway
            os.write(self._writes, b"\0")

    def hush(self) -> None:
        """Lets him sleep again."""
        with contextlib.suppress(OSError):
            os.read(self.reads, 1 << 16)

    def close(self) -> None:
        """Closes it."""
        descriptors = (self.reads, self._writes)
        self.reads = self._writes = -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)

    __del__ = close
