"""Files that hooks of `FileChanged` watch while a session runs.

Rule 1: what is watched are the names that a matcher lists, in the folder of the session, and what hooks have last answered as
`watchPaths`. Rule 2: a change is told when two looks saw the same of it: its writer may not have finished. Rule 3: what a file
at its first watch is not a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from greenroom.agents import AgentState
from greenroom.core import Recorder
from greenroom.core.ports import Blocking
from greenroom.core.sources import stamp_of
from greenroom.hooks import HookEvent, HookSet
from greenroom.session.equipment._session_hooks import tell_of_file

LOOK_S: Final = 1.0
"""Seconds between two looks at the files."""
MAX_FILES: Final = 1_000
"""Maximum number of files that are watched, the names of matchers first."""
Stamp: TypeAlias = tuple[int, int, int, int] | None
"""Tells the states of a file apart; None for a missing file."""


def listed_names(hooks: HookSet) -> tuple[str, ...]:
    """Return the file names that matchers of `FileChanged` list: parts between `|`, each taken as it is written."""
    texts = [hook.matcher.text for hook in hooks if hook.event is HookEvent.FILE_CHANGED]
    names = [name.strip() for text in texts if text not in {"", "*"} for name in text.split("|")]
    return tuple(dict.fromkeys(name for name in names if name and "/" not in name and "\0" not in name))


@final
class Looks:
    """The states of files as the latest looks saw them."""

    def __init__(self) -> None:
        self._known: dict[Path, Stamp] = {}
        self._last: dict[Path, Stamp] = {}

    def look(self, stamps: Mapping[Path, Stamp]) -> list[tuple[Path, str]]:
        """Take a look at the files that are watched now; returns what has changed and is left alone, and how."""
        changes: list[tuple[Path, str]] = []
        for path, stamp in stamps.items():
            known = self._known.setdefault(path, stamp)
            if stamp == self._last.get(path, stamp) != known:
                changes.append((path, "add" if known is None else "unlink" if stamp is None else "change"))
                self._known[path] = stamp
        self._known = {path: self._known[path] for path in stamps}
        self._last = dict(stamps)
        return changes


@final
class FileWatch:
    """The files that hooks of one session watch.

    Args:
        cwd: The folder of the session.
    """

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._asked: tuple[Path, ...] = ()
        self._looks = Looks()

    def ask_for(self, paths: Iterable[str]) -> None:
        """Watch these files from now on, in place of those that hooks have asked for before."""
        self._asked = tuple(dict.fromkeys(self._cwd / path for path in paths if path and "\0" not in path))

    def watched(self, hooks: HookSet) -> tuple[Path, ...]:
        """Return the files that are watched."""
        names = (self._cwd / name for name in listed_names(hooks))
        return tuple(dict.fromkeys((*names, *self._asked)))[:MAX_FILES]

    async def run(self, home: AgentState, *, blocking: Blocking, recorder: Recorder) -> None:
        """Look again and again, until it is cancelled, and tell the hooks of the main agent."""
        while True:
            await trio.sleep(LOOK_S)
            for path, change in await self.look(home, blocking):
                await tell_of_file(home, recorder, path=path, change=change)

    async def look(self, home: AgentState, blocking: Blocking) -> list[tuple[Path, str]]:
        """Look once; returns what has changed, and how. A session begins with a look, so that nothing of it is missed."""
        paths = () if home.profile.hooks is None else self.watched(home.profile.hooks.hooks)
        return self._looks.look(await blocking.run(_stamps, paths))


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    return {path: stamp_of(path) for path in paths}
