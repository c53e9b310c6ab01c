"""A watch on what gets out of a re-run: connections, processes, and files written elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_STARTS: Final = frozenset(
    ("socket.connect", "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
)
_CHANGES: Final = frozenset(("os.mkdir", "os.remove", "os.rename", "os.rmdir"))
_SEEN: Final = _STARTS | _CHANGES | {"open"}
_watches: list[list[str]] = []
_hooks: list[str] = []


@contextmanager
def watched_outside() -> Iterator[list[str]]:
    """Give the list of what gets out while the block runs."""
    if not _hooks:  # one for all tests: it cannot be removed
        sys.addaudithook(_audit)
        _hooks.append("added")
    seen: list[str] = []
    _watches.append(seen)
    try:
        yield seen
    finally:
        _watches.remove(seen)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watches or event not in _SEEN:
        return
    path = str(arguments[0]) if arguments else ""
    is_own = "/reruns" in path or "__pycache__" in path or path == "/dev/null"
    if event in _STARTS:
        _note(event)
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & 3 and not is_own:
        _note(f"open {path}")
    elif event in _CHANGES and not is_own:
        _note(f"{event} {path}")


def _note(text: str) -> None:
    for seen in _watches:
        seen.append(text)
