"""The session's side of its reaper: a helper process that ends the session's processes if the session's process dies.

Rule 1: it runs before the first process does, is given a group in the same blocking call that starts it, and removes it
while the number still belongs to that group. Rule 2: if the helper was killed, the next message to it starts another
one, which is given all groups. Rule 3: closing has the same effect as dying: remaining processes are ended in both
cases.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final, final

from greenroom.tools import _reaper_main

CLOSE_S: Final = 10.0
_PROGRAM: Final = Path(__file__).with_name("_reaper_main.py")


@final
class Reaper:
    """One for each session. Its methods block shortly: call them through `Blocking`; they may be called from any thread.

    Args:
        mark: What tells this session from all others of this machine, such as its id.
    """

    def __init__(self, mark: str) -> None:
        # A session that is resumed has the same id as before, and is another one.
        self._mark = f"{mark}.{os.getpid()}"
        self._groups: set[int] = set()
        self._helper: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._is_closed = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Reaper {self._mark} groups={len(self._groups)}>"

    @property
    def environment(self) -> dict[str, str]:
        """The environment that identifies every process of the session."""
        return {_reaper_main.NAME: self._mark}

    @property
    def pid(self) -> int | None:
        """The helper's process id; None before the first group."""
        return self._helper.pid if self._helper is not None else None

    def be_ready(self) -> None:
        """Start the helper, if that has not happened; to be called before a process is started.

        Raises:
            OSError: It cannot be started, or this session has ended.
        """
        with self._lock:
            if self._is_closed:
                raise OSError("cannot start a process: the session has ended")
            if self._helper is None:
                self._start()

    def watch(self, group: int) -> None:
        """End this process group if the session dies.

        Raises:
            OSError: The helper cannot be started.
        """
        with self._lock:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """The group has ended. Call it before its number can be given to another one."""
        with self._lock:
            self._groups.discard(group)
            if self._helper is not None:
                self._tell(f"-{group}\n")

    def close(self) -> None:
        """End whatever is left, and the helper; returns when that is done."""
        with self._lock:
            if self._helper is not None:
                self._tell(".\n")
            self._is_closed = True
            self._leave()

    def _tell(self, line: str) -> None:
        if self._is_closed:
            raise OSError("the session has ended, and starts no process any more")
        if self._helper is not None:
            try:
                os.write(self._pipe, line.encode())
                return
            except BrokenPipeError:
                self._leave()
        if self._groups:
            self._start()
            os.write(self._pipe, "".join(f"+{group}\n" for group in sorted(self._groups)).encode())

    def _start(self) -> None:
        reading, self._pipe = os.pipe()
        try:
            self._helper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM), self._mark],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},  # without anybody's mark: the reaper of a session around this one must not end it
                start_new_session=True,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(reading)

    def _leave(self) -> None:
        helper, self._helper = self._helper, None
        if helper is None:
            return
        os.close(self._pipe)
        try:
            helper.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()
