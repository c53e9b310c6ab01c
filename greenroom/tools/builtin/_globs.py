"""Matching paths against globs, in time that no pattern can blow up.

Rule 1: `*`, `?` and `[...]` stay within one name, `**` stands for any number of folders, `{a,b}` for either. Rule 2: a
pattern without a slash is about the name alone, at any depth, as in ignore files. Rule 3: upper and lower case differ.
Must not know: the disk.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Final

import attrs

MAX_CHARACTERS: Final = 1_000
MAX_ALTERNATIVES: Final = 200

_MAGIC: Final = re.compile(r"[*?\[{]")
# The innermost braces with a comma in them.
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")


class BadGlob(ValueError):
    """A pattern that cannot be used; the text says why."""


@attrs.frozen
class Glob:
    """A compiled pattern."""

    alternatives: tuple[tuple[re.Pattern[str] | None, ...], ...]
    """One pattern per name on the way; None stands for `**`."""

    def matches(self, path: str) -> bool:
        """True if a relative path with slashes matches."""
        names = path.split("/")
        return any(_match(parts, names) for parts in self.alternatives)


def compile_glob(pattern: str, *, is_anchored: bool = False) -> Glob:
    """Compile a relative pattern.

    Args:
        pattern: With or without wildcards.
        is_anchored: Whether a pattern without a slash, too, is about the whole path.

    Raises:
        BadGlob: It is empty, climbs with `..`, or is too long.
    """
    return Glob(tuple(_parts(branch, is_anchored=is_anchored) for branch in _expanded(pattern)))


def split_fixed(pattern: str) -> tuple[str, str]:
    """Split a pattern into the folder that it names without any wildcard, and the rest: `/a/b/*.py` -> `/a/b`, `*.py`."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    return "/".join(parts[:at]) or ("/" if pattern.startswith("/") else ""), "/".join(parts[at:])


def _expanded(pattern: str) -> list[str]:
    if len(pattern) > MAX_CHARACTERS:
        raise BadGlob(f"the pattern is longer than {MAX_CHARACTERS} characters")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            waiting += [
                one[: braces.start()] + choice + one[braces.end() :] for choice in reversed(braces[1].split(","))
            ]
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            raise BadGlob(f"its braces stand for more than {MAX_ALTERNATIVES} patterns")
    return done


def _parts(pattern: str, *, is_anchored: bool) -> tuple[re.Pattern[str] | None, ...]:
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    if not names:
        raise BadGlob("the pattern is empty; '**' matches every file")
    if ".." in names:
        raise BadGlob("the pattern climbs with '..'; give the folder as path instead")
    if "/" not in pattern and not is_anchored:
        names.insert(0, "**")
    if pattern.endswith("/"):
        names.append("**")
    if names[-1] == "**":
        names.append("*")
    parts: list[re.Pattern[str] | None] = []
    for name in names:
        if name != "**":
            parts.append(_compiled(name))
        elif not parts or parts[-1] is not None:
            parts.append(None)
    return tuple(parts)


def _compiled(name: str) -> re.Pattern[str]:
    # fnmatch writes each `*` but the last as an atomic group: it never backtracks over more than one of them.
    return re.compile(fnmatch.translate(name))


def _match(parts: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    # `reachable[i]`: the parts so far match the first i names. One row per part, so no pattern costs more than
    # parts times names.
    reachable = [True] + [False] * len(names)
    for part in parts:
        if part is None:
            seen = False
            for at, here in enumerate(reachable):
                seen = reachable[at] = seen or here
        else:
            reachable = [False] + [
                here and part.match(name) is not None for here, name in zip(reachable, names, strict=False)
            ]
    return reachable[-1]
