"""Reading definitions from where they lie, again and again: only what has changed is read.

A broken file takes only itself out. A definition is a value: who holds one keeps it, whatever becomes of its
file. The disk is touched in `Blocking` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents._definition import AgentDefinition, DefinitionOrigin
from greenroom.agents.definitions._builtin_definitions import BUILTINS
from greenroom.agents.definitions._definition_catalog import Definitions, Given, resolve_definitions
from greenroom.agents.definitions._definition_fields import Reading, read_json, read_markdown, with_prefix
from greenroom.core import UsageError
from greenroom.core.ports import Blocking
from greenroom.core.sources import (
    SKILL_FILE,
    Diagnostic,
    FileCache,
    FoundFile,
    Kind,
    Places,
    Scope,
    SourceLevel,
    Unusable,
    find_files,
    read_text,
    shown_path,
    too_deep,
)

FOLDER: Final = "agents"
_ENDINGS: Final = (".md", ".json")
_SCOPES: Final = (Scope.MANAGED, Scope.PROJECT, Scope.USER, Scope.PLUGIN)
_Parsed: TypeAlias = list[Reading]
_Owner: TypeAlias = tuple[SourceLevel, Path]
"""The owner of a file, and the folder from which its place may go before its name."""


@final
class DefinitionSource:
    """The definitions of a session, live.

    Args:
        places: Where to look; None reads no files.
        blocking: Where the disk is looked at.
        more: Definitions as JSON objects by their names (`--agents`), each before those of files.
        programs: Definitions made by the program, with the precedence of those of `more`.
        builtins: Those that are always there.
    """

    def __init__(
        self,
        places: Places | None,
        *,
        blocking: Blocking,
        more: Mapping[str, Any] | None = None,
        programs: Iterable[AgentDefinition] = (),
        builtins: Iterable[AgentDefinition] = BUILTINS,
    ) -> None:
        self._places = places
        self._blocking = blocking
        self._fixed, self._fixed_found = _fixed(more, programs, builtins)
        self._cache: FileCache[_Parsed] = FileCache()
        self._begun = 0
        self._shown = 0
        self.current = resolve_definitions(self._fixed, self._fixed_found)
        """The definitions as of the latest refresh; before the first one, those that are in no file."""

    @property
    def parsed(self) -> int:
        """The number of files that were read; a refresh in which nothing has changed adds none."""
        return self._cache.parsed

    async def add(self, more: Mapping[str, Any], *, source: str) -> list[Diagnostic]:
        """Add definitions that take precedence over those given so far, and return the problems in them.

        Args:
            more: JSON objects by their names; those that the same source gave before under these names are forgotten.
            source: Who gives them, in words for people.

        Raises:
            UsageError: One of them cannot be used; none was added.
        """
        read = read_json(more, origin=DefinitionOrigin(scope=Scope.CLI, source=source))
        broken = [diagnostic for definition, found in read if definition is None for diagnostic in found]
        if broken:
            raise UsageError("; ".join(map(str, broken)))
        given = [Given(definition=one) for one, _ in read if one is not None]
        names = {(each.definition.name, source) for each in given}
        kept = [each for each in self._fixed if (each.definition.name, each.definition.origin.source) not in names]
        found = [note for _, notes in read for note in notes]
        self._fixed, self._fixed_found = [*given, *kept], list(dict.fromkeys([*self._fixed_found, *found]))
        if self._places is None:
            self.current = resolve_definitions(self._fixed, self._fixed_found)
        await self.refresh()
        return [each for each in found if each.is_problem]

    async def refresh(self) -> Definitions:
        """Check for new, changed and removed files, and return the current definitions; no file makes it fail.

        Agents that run keep the definition that they have. Cancelled, it leaves `current` as it was.
        """
        if self._places is None:
            return self.current
        self._begun += 1
        number = self._begun
        given, found = await self._blocking.run(self._scan, self._places)
        if number > self._shown:  # if two overlap, the one that started later wins
            self._shown = number
            self.current = resolve_definitions([*self._fixed, *given], [*self._fixed_found, *found])
        return self.current

    def _scan(self, places: Places) -> tuple[list[Given], list[Diagnostic]]:
        return _scan(places, self._cache)


def load_definitions(
    places: Places | None, *, more: Mapping[str, Any] | None = None, builtins: Iterable[AgentDefinition] = BUILTINS
) -> Definitions:
    """Read the definitions once, in this thread: for commands. The arguments are those of `DefinitionSource`."""
    given, found = _fixed(more, (), builtins)
    if places is not None:
        more_given, more_found = _scan(places, FileCache())
        given, found = [*given, *more_given], [*found, *more_found]
    return resolve_definitions(given, found)


def read_files(path: Path) -> Definitions:
    """Read the definitions of one file, or of all files below a folder, in this thread: to check them.

    Args:
        path: Absolute.
    """
    level = SourceLevel(scope=Scope.PROJECT, folder=path)
    if not path.is_dir():
        readings = _read({path: (level, path)}, path)
    else:
        readings = [
            reading
            for find_file in find_files(path, _is_definition)
            for reading in _read_among(level, path, find_file.path)
        ]
    given = [Given(definition=one, folder=path) for one, _ in readings if one is not None]
    return resolve_definitions(given, [diagnostic for _, found in readings for diagnostic in found])


def _read_among(level: SourceLevel, folder: Path, path: Path) -> _Parsed:
    """Return what a file holds that lies in a folder of anything: skills, commands and other texts are named as such."""
    inner = path.relative_to(folder).parts[:-1]
    source = shown_path(path)
    if path.name == SKILL_FILE or (FOLDER not in inner and not {"skills", "commands"}.isdisjoint(inner)):
        text = "it belongs to a skill or a command, so it is passed over"
        return [(None, [Diagnostic(kind=Kind.NOTE, source=source, text=text)])]
    readings = _read({path: (level, folder)}, path)
    is_agent = path.suffix != ".json" and any(one is not None for one, _ in readings)
    if FOLDER in inner or folder.name == FOLDER or is_agent:
        return readings
    try:
        content = read_text(path)
    except Unusable:
        return readings
    if re.search(r'"prompt"\s*:' if path.suffix == ".json" else r"^name[ \t]*:", content, re.MULTILINE | re.IGNORECASE):
        return readings
    return [(None, [Diagnostic(kind=Kind.NOTE, source=source, text="it holds no agent, so it is passed over")])]


def _is_markdown(name: str) -> bool:
    return name.endswith(".md")


def _is_definition(name: str) -> bool:
    return name.endswith(_ENDINGS)


def _fixed(
    more: Mapping[str, Any] | None, programs: Iterable[AgentDefinition], builtins: Iterable[AgentDefinition]
) -> tuple[list[Given], list[Diagnostic]]:
    read = read_json(more, origin=DefinitionOrigin(scope=Scope.CLI, source="--agents")) if more is not None else []
    given = [Given(definition=one) for one, _ in read if one is not None]
    given += [Given(definition=program) for program in (*programs, *builtins)]
    return given, [diagnostic for _, found in read for diagnostic in found]


def _scan(places: Places, cache: FileCache[_Parsed]) -> tuple[list[Given], list[Diagnostic]]:
    # A folder may be reachable twice, through links or as the user's and the project's: the first one counts.
    owners: dict[Path, _Owner] = {}
    found: list[FoundFile] = []
    deep: list[Path] = []
    for level in places.levels(*_SCOPES):
        wanted = _is_markdown if level.scope is Scope.PLUGIN else _is_definition
        for root, file in level.find(FOLDER, wanted, too_deep=deep):
            owners.setdefault(file.path, (level, root))
            found.append(file)
    parsed = cache.parse(found, partial(_read, owners))
    given: list[Given] = []
    diagnostics = [too_deep(each) for each in deep]
    for path, readings in parsed.items():
        folder = owners[path][0].folder
        for definition, notes in readings:
            diagnostics += notes
            if definition is not None:
                given.append(Given(definition=definition, folder=folder))
    return given, diagnostics


def _read(owners: Mapping[Path, _Owner], path: Path) -> _Parsed:
    level, root = owners[path]
    trusted = level.folder.parent if level.scope is Scope.PROJECT else None
    origin = DefinitionOrigin(scope=level.scope, source=shown_path(path), folder=trusted)
    try:
        content = read_text(path)
    except Unusable as error:
        return [(None, [Diagnostic(kind=Kind.BROKEN, source=origin.source, text=str(error))])]
    if path.suffix == ".json":
        return _read_json_file(content, origin)
    plugin, is_plugin = level.plugin, level.plugin is not None
    definition, notes = read_markdown(content, origin=origin, fallback_name=path.stem if is_plugin else "")
    if definition is not None and plugin is not None:
        definition = attrs.evolve(definition, system_prompt=plugin.filled(definition.system_prompt))
        definition = with_prefix(definition, ":".join([plugin.name, *path.parent.relative_to(root).parts]))
    return [(definition, notes)]


def _read_json_file(content: str, origin: DefinitionOrigin) -> _Parsed:
    import orjson

    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        text = f"invalid JSON: {error.msg}"
        return [(None, [Diagnostic(kind=Kind.BROKEN, source=origin.source, line=error.lineno, text=text)])]
    return read_json(values, origin=origin)
