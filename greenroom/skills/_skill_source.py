"""Live reading of skills and commands from their folders: only changed files are read again.

A malformed file affects only itself. Folders below the working folder are read once a file in them was touched. The
disk is accessed through `Blocking` only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from greenroom.core.ports import Blocking
from greenroom.core.sources import (
    OWN,
    THEIRS,
    Diagnostic,
    FileCache,
    FoundFile,
    Kind,
    Places,
    Scope,
    SourceLevel,
    Unusable,
    read_text,
    shown_path,
    too_deep,
)
from greenroom.skills._skill import Skill, read_skill
from greenroom.skills._skill_catalog import Skills, resolve_skills

SKILL_FILE: Final = "SKILL.md"
_SCOPES: Final = (Scope.MANAGED, Scope.USER, Scope.PROJECT, Scope.PLUGIN)
_DEPTH: Final = 6
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_Parsed: TypeAlias = tuple[Skill | None, list[Diagnostic]]


@final
@attrs.frozen(kw_only=True)
class _Place:
    """The place of a file, which determines the name of its skill."""

    level: SourceLevel
    name: str
    is_command: bool
    below: str = ""
    """The folder below the working folder that it belongs to, with a trailing slash."""
    stamp: tuple[int, ...] = ()


@final
class SkillSource:
    """The skills and commands of a session, live.

    Args:
        places: The folders; None reads no files.
        blocking: Runs disk access.
    """

    def __init__(self, places: Places | None, *, blocking: Blocking) -> None:
        self._places = places
        self._blocking = blocking
        self._cache: FileCache[_Parsed] = FileCache()
        self._below: dict[Path, None] = {}
        self._begun = 0
        self._shown = 0
        self.current = Skills()
        """Effective skills at the latest refresh."""

    @property
    def parsed(self) -> int:
        """Number of files read so far; a refresh without changes adds none."""
        return self._cache.parsed

    def touch(self, path: Path) -> bool:
        """Record that a file is in use: skills of the folders between it and the working folder count from the next
        refresh.

        Args:
            path: Absolute path.

        Returns:
            True if this adds a folder that was not searched before.
        """
        places = self._places
        if places is None or Scope.PROJECT not in places.reads or not path.is_relative_to(places.cwd):
            return False
        before = len(self._below)
        for folder in path.parents:
            if folder == places.cwd:
                break
            self._below.setdefault(folder)
        return len(self._below) > before

    async def refresh(self) -> Skills:
        """Find new, changed and deleted files, and return the effective skills; it never fails for a file.

        If cancelled, it leaves `current` unchanged.
        """
        if self._places is None:
            return self.current
        self._begun += 1
        number = self._begun
        found = await self._blocking.run(_scan, self._places, tuple(self._below), self._cache)
        if number > self._shown:  # of two that overlap, the later start wins
            self._shown = number
            self.current = found
        return self.current


def load_skills(places: Places) -> Skills:
    """Return the skills and commands, read once in this thread: for commands."""
    return _scan(places, (), FileCache())


def _scan(places: Places, below: Iterable[Path], cache: FileCache[_Parsed]) -> Skills:
    found: dict[Path, tuple[FoundFile, _Place]] = {}
    seen: set[str] = set()
    deep: list[Path] = []
    levels = [(level, "") for level in places.levels(*_SCOPES)]
    for folder in below:
        inner = f"{folder.relative_to(places.cwd).as_posix()}/"
        levels += [(SourceLevel(scope=Scope.PROJECT, folder=folder / name), inner) for name in (OWN, THEIRS)]
    for level, inner in levels:
        for file, place in _files(level, inner, deep):
            real = os.path.realpath(file.path)
            if real not in seen:  # behind a link, it is still one skill
                seen.add(real)
                found[file.path] = (file, place)
    parsed = cache.parse(
        [file for file, _ in found.values()], partial(_read, {path: place for path, (_, place) in found.items()})
    )
    skills = [(skill, found[path][1]) for path, (skill, _) in parsed.items() if skill is not None]
    taken = {skill.name for skill, place in skills if not place.below}
    named = [
        attrs.evolve(skill, name=f"{place.below.rstrip('/')}:{skill.name}")
        if place.below and skill.name in taken
        else skill
        for skill, place in skills
    ]
    notes = [diagnostic for _, diagnostics in parsed.values() for diagnostic in diagnostics]
    return resolve_skills(named, [*map(too_deep, deep), *notes])


def _files(level: SourceLevel, below: str, deep: list[Path]) -> Iterable[tuple[FoundFile, _Place]]:
    for kind, is_command in (("skills", False), ("commands", True)):
        wanted = _is_markdown if is_command else SKILL_FILE.__eq__
        for folder, file in level.find(kind, wanted, depth=_DEPTH, too_deep=deep if is_command else None):
            inner = file.path.relative_to(folder)
            parts = inner.with_suffix("").parts if is_command else inner.parts[:-1]
            if not parts or (is_command and file.path.name == SKILL_FILE):
                continue
            name = ":".join([*([level.plugin.name] if level.plugin else []), *parts])
            yield file, _Place(level=level, name=name, is_command=is_command, below=below, stamp=file.stamp)


def _is_markdown(name: str) -> bool:
    return name.endswith(".md")


def _read(places: Mapping[Path, _Place], path: Path) -> _Parsed:
    place = places[path]
    try:
        content = read_text(path)
    except Unusable as error:
        return None, [Diagnostic(kind=Kind.BROKEN, source=shown_path(path), text=str(error))]
    skill, found = read_skill(
        content,
        name=place.name,
        path=path,
        scope=place.level.scope,
        is_command=place.is_command,
        stamp=place.stamp,
    )
    plugin = place.level.plugin
    if skill is None or plugin is None:
        return skill, found
    # A plugin that is itself a skill has no skills folder to name it: its own folder may be named by a version, or
    # anything.
    is_root = path == plugin.folder / SKILL_FILE and _NAME.fullmatch(skill.title) is not None
    name = f"{plugin.name}:{skill.title}" if is_root else skill.name
    return attrs.evolve(skill, name=name, plugin_root=plugin.folder), found
