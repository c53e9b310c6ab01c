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
LINGER_S = 0.5
NAME = "GREENROOM_REAPER"


def marked(mark: str) -> list[int]:
    """Return the processes that carry the mark; empty if the system does not show environments."""
    wanted = f"{NAME}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


def end_all(groups: set[int], mark: str, *, linger_s: float) -> None:
    """Ask all to end, once each, and after a grace end them.

    Args:
        groups: Those that are known.
        mark: What the others carry.
        linger_s: How long to look on when none is left: a process that was being started shows its mark a moment later.
    """
    asked: set[tuple[str, int]] = set()
    began = time.monotonic()
    while True:
        passed_s = time.monotonic() - began
        left = [("group", number) for number in groups] + [("process", number) for number in marked(mark)]
        is_left = False
        for pid in left:
            number = signal.SIGKILL if passed_s > GRACE_S else 0 if pid in asked else signal.SIGTERM
            asked.add(pid)
            is_left = send(*pid, number) or is_left
        if passed_s > LIMIT_S or (not is_left and passed_s >= linger_s):
            return
        time.sleep(PAUSE_S)


def send(kind: str, target: int, number: int) -> bool:
    """Send a signal, and say whether it was there."""
    try:
        if kind == "group":
            os.killpg(target, number)
        else:
            os.kill(target, number)
    except OSError:
        return False
    return True


def main() -> None:
    """Listen for `+GROUP`, `-GROUP` and at last `.`, one a line, until the pipe ends; without the `.` the session died."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    linger_s = LINGER_S
    while line := sys.stdin.buffer.readline():
        if line == b".\n":
            linger_s = 0.0
            continue
        group = int(line[1:])
        if line.startswith(b"+"):
            groups.add(group)
        else:
            groups.discard(group)
    end_all(groups, sys.argv[1], linger_s=linger_s)


if __name__ == "__main__":
    main()
