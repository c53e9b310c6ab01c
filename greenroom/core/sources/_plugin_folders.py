"""Plugins: folders of other people's agents, skills, commands, hooks and MCP servers, with a manifest.

A plugin is loaded as a whole or not at all; an unusable one becomes one line with the problem, the place and the
remedy, and affects nothing else. Paths of a manifest lie within the plugin's folder. Unknown keys are ignored, because
one manifest serves several programs. Everything here blocks: call it through `Blocking`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core._errors import UsageError
from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._field_table import frozen
from greenroom.core.sources._text_files import Unusable, is_file, read_text, shown_path

MANIFEST: Final = ".claude-plugin/plugin.json"
SKILL_FILE: Final = "SKILL.md"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOOKS, _SERVERS = "hooks/hooks.json", ".mcp.json"
_PARTS: Final = ("agents", "skills", "commands", _HOOKS, _SERVERS, SKILL_FILE)
_SHOWN: Final = 60
"""Number of characters shown of an invalid value."""
_UNREAD: Final = (
    *("outputStyles", "lspServers", "workflows", "experimental", "themes", "monitors"),
    *("userConfig", "channels", "dependencies"),
)
"""Manifest keys that mean something to other programs."""


@final
@attrs.frozen(eq=False)
class PluginPart:
    """A plugin's hooks or servers from one file."""

    source: str
    """The file."""
    values: Mapping[str, Any] = attrs.field(converter=frozen)


@final
@attrs.frozen
class Plugin:
    """A folder of agents, skills and commands, and the name that prefixes theirs."""

    name: str = attrs.field()
    folder: Path
    version: str = attrs.field(default="", kw_only=True)
    description: str = attrs.field(default="", kw_only=True)
    named: Mapping[str, tuple[Path, ...]] = attrs.field(factory=dict, kw_only=True, eq=False)
    """Files or folders of its `agents`, `skills` and `commands`; by default the folder of that name."""
    hooks: tuple[PluginPart, ...] = attrs.field(default=(), kw_only=True, eq=False)
    servers: tuple[PluginPart, ...] = attrs.field(default=(), kw_only=True, eq=False)
    data: Path | None = attrs.field(default=None, kw_only=True, eq=False)
    """Folder for data that outlives the session; it need not exist."""
    is_managed: bool = attrs.field(default=False, kw_only=True, eq=False)
    """True if an administrator's settings name it."""

    @name.validator
    def _check_name(self, _: Any, value: str) -> None:
        if not _NAME.fullmatch(value):
            raise UsageError(f"a plugin name must consist of letters, digits, '.', '_' and '-', got {value!r}")

    def roots(self, kind: str) -> tuple[Path, ...]:
        """Return the folders or files of its `agents`, `skills` or `commands`."""
        return self.named.get(kind, (self.folder / kind,))

    @property
    def variables(self) -> dict[str, str]:
        """Values of `${NAME}` in its hooks, servers, agents and skills, and variables of its processes."""
        places = {"PLUGIN_ROOT": self.folder, "PLUGIN_DATA": self.data}
        known = {key: str(path) for key, path in places.items() if path is not None}
        return {f"{prefix}_{key}": value for key, value in known.items() for prefix in ("CLAUDE", "GREENROOM")}

    def filled(self, text: str) -> str:
        """Return a text with the plugin's variables replaced."""
        for name, value in self.variables.items():
            text = text.replace(f"${{{name}}}", value)
        return text


@final
@attrs.frozen(kw_only=True)
class BrokenPlugin:
    """A plugin that was not loaded."""

    name: str
    """Its name in the manifest, else the name of its folder."""
    type: str
    """Kind of problem, such as `path-not-found`."""
    source: str
    """The file or folder with the problem."""
    message: str
    """The problem and the remedy, on one line."""


@final
@attrs.frozen(kw_only=True)
class FoundPlugins:
    """The plugins of a session, each name once, in order of precedence."""

    loaded: tuple[Plugin, ...] = ()
    broken: tuple[BrokenPlugin, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    """Parts of loaded plugins that have no effect."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics about broken plugins and ignored parts."""
        problems = [(plugin.source, f"plugin {plugin.name!r} not loaded: {plugin.message}") for plugin in self.broken]
        return (*(Diagnostic(kind=Kind.BROKEN, source=source, text=text) for source, text in problems), *self.notes)


@final
class _BadPlugin(Exception):
    """The plugin cannot be used: the kind of problem, the place, and the remedy."""

    def __init__(self, type_: str, source: Path, message: str) -> None:
        super().__init__(message)
        self.type = type_
        self.source = source
        self.name = ""


_Values: TypeAlias = Mapping[str, Any]


def find_plugins(folders: Iterable[Path], *, managed: Iterable[Path] = ()) -> FoundPlugins:
    """Read the plugins in these folders; broken ones are reported in the result.

    Args:
        folders: Absolute paths in order of precedence: of two plugins of one name the first is loaded.
        managed: Folders named by an administrator, which precede all others.
    """
    loaded: dict[str, Plugin] = {}
    broken: list[BrokenPlugin] = []
    notes: list[Diagnostic] = []
    seen: set[str] = set()
    theirs = tuple(managed)
    for number, folder in enumerate((*theirs, *folders)):
        try:
            real = _real(folder)
            if real in seen:
                continue
            seen.add(real)
            plugin, unread = _read(folder)
            first = loaded.setdefault(plugin.name, attrs.evolve(plugin, is_managed=number < len(theirs)))
            if first.folder != folder:
                taken = _BadPlugin("name-taken", folder, f"{shown_path(first.folder)} has that name and comes first")
                taken.name = plugin.name
                raise taken
            notes += unread
        except _BadPlugin as problem:
            source = shown_path(problem.source)
            name = problem.name or folder.name
            broken.append(BrokenPlugin(name=name, type=problem.type, source=source, message=str(problem)))
    return FoundPlugins(loaded=tuple(loaded.values()), broken=tuple(broken), notes=tuple(notes))


def read_plugin(folder: Path) -> Plugin:
    """Read the plugin in a folder.

    Raises:
        UsageError: It cannot be used.
    """
    try:
        return _read(folder)[0]
    except _BadPlugin as problem:
        raise UsageError(f"{shown_path(problem.source)}: {problem}") from None


# --- a folder -----------------------------------------------------------------------------------------------------------


def _real(folder: Path) -> str:
    try:
        return os.path.realpath(folder)
    except ValueError as problem:
        raise _not_looked_at(folder, problem) from None


def _not_looked_at(folder: Path, problem: OSError | ValueError) -> _BadPlugin:
    return _BadPlugin("path-not-found", folder, f"it cannot be read: {_why(problem)}; name a readable folder")


def _why(problem: OSError | ValueError) -> str:
    if isinstance(problem, OSError):
        return (problem.strerror or str(problem)).lower()
    return "no file can have that name"


def _read(folder: Path) -> tuple[Plugin, list[Diagnostic]]:
    try:
        return _read_folder(folder)
    except OSError as problem:  # permission denied, or its name is too long
        raise _not_looked_at(folder, problem) from None


def _read_folder(folder: Path) -> tuple[Plugin, list[Diagnostic]]:
    if not folder.is_dir():
        raise _BadPlugin("path-not-found", folder, "the folder does not exist; name one that holds a plugin")
    path = folder / MANIFEST
    if is_file(path):
        manifest = _object(path, "manifest-parse-error")
        name = manifest.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            what = "it has no name" if name is None else f"its name is {_shown(name)}"
            raise _BadPlugin("manifest-validation-error", path, f"{what}; use letters, digits, '.', '_' and '-'")
    else:
        manifest, name = {}, folder.name
        if not any((folder / part).exists() for part in _PARTS) or not _NAME.fullmatch(name):
            hint = (
                f"write a {MANIFEST} with a name" if _NAME.fullmatch(name) else "its folder's name is not a valid name"
            )
            raise _BadPlugin("path-not-found", folder, f"it is not a plugin; {hint}")
    try:
        return _made(name, folder, manifest), _unread(path, manifest)
    except _BadPlugin as problem:
        problem.name = name
        raise


def _made(name: str, folder: Path, manifest: _Values) -> Plugin:
    path = folder / MANIFEST
    for key in ("version", "description"):
        if not isinstance(manifest.get(key, ""), str):
            raise _BadPlugin("manifest-validation-error", path, f"{key} must be text, got {_shown(manifest[key])}")
    named = {kind: _paths(folder, kind, manifest[kind]) for kind in ("agents", "commands") if kind in manifest}
    return Plugin(
        name,
        folder,
        version=manifest.get("version", ""),
        description=manifest.get("description", ""),
        named={**named, "skills": tuple(_skills(folder, manifest))},
        hooks=tuple(_parts(folder, manifest, "hooks", _HOOKS, "hook-load-failed")),
        servers=tuple(_parts(folder, manifest, "mcpServers", _SERVERS, "mcp-config-invalid")),
    )


def _skills(folder: Path, manifest: _Values) -> Iterator[Path]:
    """Yield the places of its skills: the usual folder and the named ones; for a single skill, its file."""
    usual = folder / "skills"
    more = _paths(folder, "skills", manifest["skills"]) if "skills" in manifest else ()
    if not more and not usual.is_dir() and is_file(folder / SKILL_FILE):
        more = (folder,)
    for place in (usual, *more):
        yield place / SKILL_FILE if is_file(place / SKILL_FILE) else place


def _parts(folder: Path, manifest: _Values, key: str, usual: str, type_: str) -> Iterator[PluginPart]:
    """Yield the parts from the usual file, from files that the manifest names, and from the manifest itself."""
    said = manifest.get(key)
    files = [folder / usual] if is_file(folder / usual) else []
    if isinstance(said, Mapping):
        inline = [PluginPart(shown_path(folder / MANIFEST), said)]
    else:
        inline = []
        files += [] if said is None else [path for path in _paths(folder, key, said) if path not in files]
    for file in files:
        yield PluginPart(shown_path(file), _object(file, type_))
    yield from inline


def _paths(folder: Path, key: str, said: object) -> tuple[Path, ...]:
    listed = [said] if isinstance(said, str) else said
    manifest = folder / MANIFEST
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        raise _BadPlugin(
            "manifest-validation-error", manifest, f"{key} must be a path or a list of paths, got {_shown(said)}"
        )
    found = []
    for written in listed:
        path = Path(os.path.normpath(folder / written))
        try:
            is_in, is_there = _lies_in(path, folder), path.exists()
        except (OSError, ValueError) as problem:
            what = f"{key}: {_shown(written)} cannot be read: {_why(problem)}"
            raise _BadPlugin("manifest-validation-error", manifest, what) from None
        if not (written == "." or written.startswith("./")) or not is_in:
            what = f"{key}: {_shown(written)} must begin with ./ and lie in the plugin's folder"
            raise _BadPlugin("manifest-validation-error", manifest, what)
        if not is_there:
            raise _BadPlugin(
                "path-not-found", manifest, f"{key}: {_shown(written)} does not exist in the plugin's folder"
            )
        found.append(path)
    return tuple(found)


def _lies_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _object(path: Path, type_: str) -> _Values:
    try:
        values = json.loads(read_text(path))
    except Unusable as problem:
        raise _BadPlugin(type_, path, str(problem)) from None
    except ValueError as problem:
        raise _BadPlugin(type_, path, f"it is not valid JSON: {problem}") from None
    except RecursionError:
        raise _BadPlugin(type_, path, "it is nested too deeply") from None
    if not isinstance(values, dict):
        raise _BadPlugin(type_, path, "it is not a JSON object")
    return values


def _unread(path: Path, manifest: _Values) -> list[Diagnostic]:
    keys = [key for key in _UNREAD if key in manifest]
    text = f"{', '.join(keys)}: this has no effect here"
    # A note, not a problem: the same manifest serves other programs.
    return [Diagnostic(kind=Kind.NOTE, source=shown_path(path), text=text)] if keys else []


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
