"""Lookups on the disk that decisions depend on: the targets of links, the matches of shell patterns, and programs that
lie where an agent may write.

Rule 1: a pattern matches at least as widely as in bash, so a file that is not found here is not read by a command
either. Rule 2: a lookup is bounded; one that exceeds the bound is reported as such.

Must not know: rules, modes, requests.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MAX_ENTRIES: Final = 20_000
"""Maximum number of folder entries that one pattern inspects."""
MAX_MATCHES: Final = 1_000

_PATTERN: Final = re.compile(r"[*?\[]")


class _TooMuch(Exception):
    """A pattern would inspect more entries than allowed."""


def real_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the targets of paths that go through links. Reads the disk; blocks."""
    found = {}
    for path in paths:
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            continue
        if real != path:
            found[path] = real
    return found


def own_program(name: str, folders: Sequence[str], cwd: str, *, changes_dir: bool) -> str:
    """Return the file that a shell runs for a program if it lies in one of the folders; empty if it lies elsewhere.

    A program there is not the one whose effects are known: a repository may bring it, and an agent may write it. Reads
    the disk and the environment of the process; blocks.

    Args:
        name: The program, without a folder.
        folders: The working directories, absolute.
        cwd: The folder in which the shell starts.
        changes_dir: True if the script may run it in another folder.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if changes_dir and not all(entry.startswith("/") for entry in entries):
        return "a relative folder of PATH"
    search = os.pathsep.join(posixpath.join(cwd, entry) for entry in entries)
    found = shutil.which(name, path=search)
    return found if found is not None and _is_below(found, folders) else ""


def _is_below(path: str, folders: Sequence[str]) -> bool:
    names = {os.path.normpath(path), os.path.realpath(path)}
    roots = {root for folder in folders for root in (os.path.normpath(folder), os.path.realpath(folder))}
    return any(name == root or name.startswith(f"{root.rstrip('/')}/") for name in names for root in roots)


def matches_of(pattern: str, *, wants_all: bool = False) -> tuple[str, ...] | None:
    """Return the absolute paths that a shell pattern matches and that matter. Reads the disk; blocks.

    Args:
        pattern: An absolute pattern. `*` and `?` mean the same as in bash, also for a leading dot if the pattern has
            one; `[`
            and the rest up to the next slash match anything.
        wants_all: True if every match matters; otherwise those that are or go through a link, and those that a program
            takes for an option, because their name begins with a dash.

    Returns:
        The matches; None if there are too many, or too many entries to inspect.
    """
    first = _PATTERN.search(pattern)
    if first is None:
        return ()
    fixed = pattern[: first.start()].rpartition("/")[0]
    parts = [part for part in pattern[len(fixed) + 1 :].split("/") if part]
    budget = [MAX_ENTRIES]
    found: list[str] = []
    try:
        for path, matters in _walk(fixed or "/", parts, budget, is_first=True):
            if matters or wants_all:
                found.append(path)
                if len(found) > MAX_MATCHES:
                    return None
    except _TooMuch:
        return None
    return tuple(found)


def _walk(folder: str, parts: list[str], budget: list[int], *, is_first: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the matches below a folder, with True if one is a link, goes through one, or looks like an option."""
    part, rest = parts[0], parts[1:]
    if not _PATTERN.search(part):
        path = posixpath.join(folder, part)
        if os.path.lexists(path):
            is_link = part == ".." or os.path.islink(path)  # noqa: PTH114 - text, as everywhere in decisions
            for match, matters in _walk(path, rest, budget) if rest else [(path, False)]:
                yield match, matters or is_link
        return
    matcher = _matcher(part)
    for name, is_link in _entries(folder, budget):
        if name.startswith(".") and not part.startswith("."):
            continue  # a leading dot is matched only literally
        if matcher.fullmatch(name) is None or (name == ".." and not _means_parent(part)):
            continue
        path = posixpath.join(folder, name)
        odd = is_link or (is_first and name.startswith("-")) or name == ".."
        if not rest:
            yield path, odd
        elif os.path.isdir(path):  # noqa: PTH112
            for match, matters in _walk(path, rest, budget):
                yield match, matters or odd


def _entries(folder: str, budget: list[int]) -> Iterator[tuple[str, bool]]:
    yield "..", False  # shells before bash 5.2 match it with `.*`
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] < 0:
                    raise _TooMuch
                yield entry.name, entry.is_symlink()
    except (OSError, ValueError):
        return


def _means_parent(part: str) -> bool:
    return "[[" in part or fnmatch.fnmatchcase("..", part.replace("[^", "[!"))


def _matcher(part: str) -> re.Pattern[str]:
    """Return a regular expression that matches at least as widely as a part of a pattern."""
    known, bracket, _ = part.partition("[")
    text = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in known)
    return re.compile(text + (".*" if bracket else ""), re.DOTALL)
