"""Short names of the actors of a run: the end of the path, as long as needed to tell actors apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, final

from greenroom.core import UsageError
from greenroom.replay._entry_words import ROOT, RUN

_ACTOR_ID: Final = re.compile(r"a[0-9a-f]{16}")


@final
class ActorNames:
    """Names of actors by id.

    Args:
        paths: The path of each actor.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        distinct = dict.fromkeys(paths.values())
        ends = Counter(path.rpartition("/")[2] for path in distinct)
        self._short = {path: self._shortest(path, ends) for path in distinct}

    @staticmethod
    def _shortest(path: str, ends: Mapping[str, int]) -> str:
        end = path.rpartition("/")[2]
        return end if ends[end] == 1 else path

    def __getitem__(self, actor: str) -> str:
        """Return the name of an actor, its id if its path is unknown, and `(run)` for an event of the whole run."""
        path = self._paths.get(actor)
        return self._short[path] if path is not None else actor or RUN

    def in_text(self, text: str) -> str:
        """Replace the ids of actors in a text by their names."""
        return _ACTOR_ID.sub(lambda found: self[found.group()], text)

    def matching(self, pattern: str) -> set[str]:
        """Return the ids of the actors whose path, name or id fits a pattern; several patterns are separated by commas.

        Raises:
            UsageError: None of them fits.
        """
        patterns = [part.strip() for part in pattern.split(",") if part.strip()]
        found = {
            actor
            for actor, path in self._paths.items()
            for each in patterns
            if any(fnmatchcase(text, each) for text in (path, path.rpartition("/")[2] or ROOT, actor))
        }
        if not found:
            raise UsageError(f"--actor {pattern!r} fits none of the {len(self._paths)} actors of this run")
        return found
