"""What a fork leaves in the child: nothing that could keep or harm the parent's server."""

from __future__ import annotations

import os
import threading
from typing import Protocol


class Forkable(Protocol):
    """Something with descriptors."""

    def abandon(self) -> None:
        """Closes its descriptors in a child; nobody else lives there who could hold a lock."""


#: Held while descriptors are made that are not in `_known` yet.
making = threading.Lock()

_known: set[Forkable] = set()


def remember(thing: Forkable) -> None:
    """Has it abandoned in every child from now on."""
    _known.add(thing)


def forget(thing: Forkable) -> None:
    """It has no descriptors any more."""
    _known.discard(thing)


def known() -> list[Forkable]:
    """Lists what was remembered."""
    return list(_known)


def _after_in_child() -> None:
    making.release()
    for thing in known():
        thing.abandon()
    _known.clear()


os.register_at_fork(
    before=making.acquire, after_in_parent=making.release, after_in_child=_after_in_child
)
