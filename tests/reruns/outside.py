"""A watch on what gets out of a re-run: connections, processes, and files written elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_STARTS: Final = frozenset(
    ("socket.connect", "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
)
_WATCHES: list[list[str]] = []


@contextmanager
def watched_outside() -> Iterator[list[str]]:
    """Give the list of what gets out while the block runs."""
    if not _is_hooked:
        sys.addaudithook(_audit)
        _is_hooked.append(True)
    seen: list[str] = []
    _WATCHES.append(seen)
    try:
        yield seen
    finally:
        _WATCHES.remove(seen)


_is_hooked: list[bool] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _WATCHES:
        return
    if event in _STARTS:
        _note(event)
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & 3:
        path = str(arguments[0])
        if not (path.endswith(".pyc") or "/reruns/" in path or "__pycache__" in path or path == "/dev/null"):
            _note(f"open {path}")
    elif event in {"os.mkdir", "os.remove", "os.rename", "os.rmdir"} and "/reruns" not in str(arguments[0]):
        if "__pycache__" not in str(arguments[0]):
            _note(f"{event} {arguments[0]}")


def _note(text: str) -> None:
    for seen in _WATCHES:
        seen.append(text)
