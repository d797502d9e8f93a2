"""Makes the client for threads, `minisandbox/_sync`, of the one for tasks, `minisandbox/_async`.

With `--check` it only tells whether that was done.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "minisandbox"

#: `waiting.py` is what differs, and written by hand.
NAMES = ("file.py", "process.py", "sandbox.py", "server.py", "session.py", "store.py")

RULES = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bAsync(Server|Sandbox|Process|Session|Layers|Snapshots|Files|Environments)\b", r"\1"),
    (r"^( *)# sync: ", r"\1"),
)


def to_sync(name: str, text: str) -> str:
    """Gives the text for threads."""
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return f"# Made of _async/{name} by make_sync.py: change that one.\n{text}"


def main(arguments: list[str]) -> int:
    """Writes, or checks; gives the exit code."""
    stale = []
    for name in NAMES:
        made = to_sync(name, (PACKAGE / "_async" / name).read_text())
        path = PACKAGE / "_sync" / name
        if path.is_file() and path.read_text() == made:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(made)
    if stale and "--check" in arguments:
        sys.stderr.write(
            f"make_sync: {', '.join(stale)} is not made of _async. Run make_sync.py.\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
