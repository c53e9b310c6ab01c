"""The helper process of a session: it ends what the session started if the session's process dies, however that happens.

It is run as a program and imported by nothing. Rule 1: it holds the reading end of a pipe whose writing end only the
session has, so the end of the pipe is the end of the session. Rule 2: it ends the process groups that it was told of and
not told to forget, and every process that carries the session's mark in its environment: what left its group, and what was
started but not yet told of. Rule 3: nothing but the end of the pipe ends it, save a kill.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

GRACE_S = 1.0
LIMIT_S = 4.0
PAUSE_S = 0.02
NAME = "GREENROOM_REAPER"


def marked(mark: str) -> list[int]:
    """Return the processes that carry the mark; where the system does not show environments, none."""
    wanted = f"{NAME}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def strike(groups: set[int], mark: str, number: int) -> bool:
    """Send a signal to all that is left, and say whether anything was."""
    is_left = False
    for group in list(groups):
        try:
            os.killpg(group, number)
            is_left = True
        except OSError:
            groups.discard(group)
    for process in marked(mark):
        try:
            os.kill(process, number)
            is_left = True
        except OSError:
            continue
    return is_left


def end_all(groups: set[int], mark: str) -> None:
    """Ask all to end, and after a grace end them."""
    is_left = strike(groups, mark, signal.SIGTERM)
    began = time.monotonic()
    while is_left and time.monotonic() < began + LIMIT_S:
        time.sleep(PAUSE_S)
        is_late = time.monotonic() > began + GRACE_S
        is_left = strike(groups, mark, signal.SIGKILL if is_late else 0)


def main() -> None:
    """Listen for `+GROUP` and `-GROUP`, one a line, until the pipe ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    while line := sys.stdin.buffer.readline():
        group = int(line[1:])
        if line.startswith(b"+"):
            groups.add(group)
        else:
            groups.discard(group)
    end_all(groups, sys.argv[1])


if __name__ == "__main__":
    main()
