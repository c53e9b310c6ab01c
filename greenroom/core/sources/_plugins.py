"""Plugins: folders of somebody else's agents, skills, commands, hooks and MCP servers, and what their manifests say.

Rule 1: a plugin is loaded as a whole or not at all: one that cannot be used is one line that says what, where and what to do,
and takes nothing else away. Rule 2: what a manifest names lies in the plugin's folder. Rule 3: keys that nobody here knows are
passed over; people use one manifest for several programs. Everything here blocks: call it through `Blocking`.
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
from greenroom.core.sources._fields import frozen
from greenroom.core.sources._files import Unusable, is_file, read_text, shown_path

MANIFEST: Final = ".claude-plugin/plugin.json"
SKILL_FILE: Final = "SKILL.md"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOOKS, _SERVERS = "hooks/hooks.json", ".mcp.json"
_PARTS: Final = ("agents", "skills", "commands", _HOOKS, _SERVERS, SKILL_FILE)
_SHOWN: Final = 60
"""So many characters of a value that cannot be used are shown."""
_UNREAD: Final = (
    *("outputStyles", "lspServers", "workflows", "experimental", "themes", "monitors"),
    *("userConfig", "channels", "dependencies"),
)
"""Keys of manifests that mean something elsewhere."""


@final
@attrs.frozen(eq=False)
class PluginPart:
    """What a plugin says of its hooks or its servers in one place."""

    source: str
    """The file."""
    values: Mapping[str, Any] = attrs.field(converter=frozen)


@final
@attrs.frozen
class Plugin:
    """A folder of somebody else's agents, skills and commands, and the name that goes before theirs."""

    name: str = attrs.field()
    folder: Path
    version: str = attrs.field(default="", kw_only=True)
    description: str = attrs.field(default="", kw_only=True)
    named: Mapping[str, tuple[Path, ...]] = attrs.field(factory=dict, kw_only=True, eq=False)
    """Where its `agents`, `skills` and `commands` lie, files or folders; in the folder of that name, unless said."""
    hooks: tuple[PluginPart, ...] = attrs.field(default=(), kw_only=True, eq=False)
    servers: tuple[PluginPart, ...] = attrs.field(default=(), kw_only=True, eq=False)
    data: Path | None = attrs.field(default=None, kw_only=True, eq=False)
    """Where it may keep what outlives it; the folder need not be there."""
    is_managed: bool = attrs.field(default=False, kw_only=True, eq=False)
    """Whether an administrator's settings name it."""

    @name.validator
    def _check_name(self, _: Any, value: str) -> None:
        if not _NAME.fullmatch(value):
            raise UsageError(f"the name of a plugin is made of letters, digits, '.', '_' and '-', not {value!r}")

    def roots(self, kind: str) -> tuple[Path, ...]:
        """Return where its `agents`, `skills` or `commands` lie: folders, or single files."""
        return self.named.get(kind, (self.folder / kind,))

    @property
    def variables(self) -> dict[str, str]:
        """What `${NAME}` stands for in its hooks, servers, agents and skills, and what its processes are given."""
        places = {"PLUGIN_ROOT": self.folder, "PLUGIN_DATA": self.data}
        known = {key: str(path) for key, path in places.items() if path is not None}
        return {f"{prefix}_{key}": value for key, value in known.items() for prefix in ("CLAUDE", "GREENROOM")}

    def filled(self, text: str) -> str:
        """Return a text with the folders of the plugin in the place of their names."""
        for name, value in self.variables.items():
            text = text.replace(f"${{{name}}}", value)
        return text


@final
@attrs.frozen(kw_only=True)
class BrokenPlugin:
    """A plugin that was not loaded."""

    name: str
    """What it calls itself, else the name of its folder."""
    type: str
    """What kind of mistake it is, such as `path-not-found`."""
    source: str
    """The file or the folder that the mistake is in."""
    message: str
    """What is wrong and what to do, on one line."""


@final
@attrs.frozen(kw_only=True)
class FoundPlugins:
    """The plugins of a session, those of one name once, in the order in which they count."""

    loaded: tuple[Plugin, ...] = ()
    broken: tuple[BrokenPlugin, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    """What has no effect in those that were loaded."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What people should know."""
        told = [(one.source, f"the plugin {one.name!r} is not loaded: {one.message}") for one in self.broken]
        return (*(Diagnostic(kind=Kind.BROKEN, source=source, text=text) for source, text in told), *self.notes)


@final
class _Broken(Exception):
    """The plugin cannot be used: what kind of mistake it is, where it is, and what to do."""

    def __init__(self, type_: str, source: Path, message: str) -> None:
        super().__init__(message)
        self.type = type_
        self.source = source
        self.name = ""


_Values: TypeAlias = Mapping[str, Any]


def find_plugins(folders: Iterable[Path], *, managed: Iterable[Path] = ()) -> FoundPlugins:
    """Read the plugins in these folders; it never fails for one.

    Args:
        folders: Absolute, in the order in which they count: of two plugins of one name the first is loaded.
        managed: Those that an administrator names, which come before all others.
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
                taken = _Broken("name-taken", folder, f"{shown_path(first.folder)} has that name and comes first")
                taken.name = plugin.name
                raise taken
            notes += unread
        except _Broken as problem:
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
    except _Broken as problem:
        raise UsageError(f"{shown_path(problem.source)}: {problem}") from None


# --- a folder -----------------------------------------------------------------------------------------------------------


def _real(folder: Path) -> str:
    try:
        return os.path.realpath(folder)
    except ValueError as problem:
        raise _not_looked_at(folder, problem) from None


def _not_looked_at(folder: Path, problem: OSError | ValueError) -> _Broken:
    return _Broken("path-not-found", folder, f"it cannot be looked at: {_why(problem)}; name one that can be read")


def _why(problem: OSError | ValueError) -> str:
    if isinstance(problem, OSError):
        return (problem.strerror or str(problem)).lower()
    return "no file can have that name"


def _read(folder: Path) -> tuple[Plugin, list[Diagnostic]]:
    try:
        return _read_folder(folder)
    except OSError as problem:  # it is closed to us, or its name is too long
        raise _not_looked_at(folder, problem) from None


def _read_folder(folder: Path) -> tuple[Plugin, list[Diagnostic]]:
    if not folder.is_dir():
        raise _Broken("path-not-found", folder, "there is no such folder; name one that holds a plugin")
    path = folder / MANIFEST
    if is_file(path):
        manifest = _object(path, "manifest-parse-error")
        name = manifest.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            what = "it has no name" if name is None else f"its name is {_shown(name)}"
            raise _Broken("manifest-validation-error", path, f"{what}; write letters, digits, '.', '_' and '-'")
    else:
        manifest, name = {}, folder.name
        if not any((folder / one).exists() for one in _PARTS) or not _NAME.fullmatch(name):
            hint = f"write a {MANIFEST} with a name" if _NAME.fullmatch(name) else "its folder's name cannot be one"
            raise _Broken("path-not-found", folder, f"it is no plugin; {hint}")
    try:
        return _made(name, folder, manifest), _unread(path, manifest)
    except _Broken as problem:
        problem.name = name
        raise


def _made(name: str, folder: Path, manifest: _Values) -> Plugin:
    path = folder / MANIFEST
    for key in ("version", "description"):
        if not isinstance(manifest.get(key, ""), str):
            raise _Broken("manifest-validation-error", path, f"{key} has to be text, not {_shown(manifest[key])}")
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
    """Return where its skills lie: the usual folder and those that are named; of one that is itself a skill, its file."""
    usual = folder / "skills"
    more = _paths(folder, "skills", manifest["skills"]) if "skills" in manifest else ()
    if not more and not usual.is_dir() and is_file(folder / SKILL_FILE):
        more = (folder,)
    for one in (usual, *more):
        yield one / SKILL_FILE if is_file(one / SKILL_FILE) else one


def _parts(folder: Path, manifest: _Values, key: str, usual: str, type_: str) -> Iterator[PluginPart]:
    """Return what is said in the usual file, in files that the manifest names, and in the manifest itself."""
    said = manifest.get(key)
    files = [folder / usual] if is_file(folder / usual) else []
    if isinstance(said, Mapping):
        inline = [PluginPart(shown_path(folder / MANIFEST), said)]
    else:
        inline = []
        files += [] if said is None else [one for one in _paths(folder, key, said) if one not in files]
    for file in files:
        yield PluginPart(shown_path(file), _object(file, type_))
    yield from inline


def _paths(folder: Path, key: str, said: object) -> tuple[Path, ...]:
    listed = [said] if isinstance(said, str) else said
    manifest = folder / MANIFEST
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise _Broken(
            "manifest-validation-error", manifest, f"{key} has to be a path or a list of paths, not {_shown(said)}"
        )
    found = []
    for one in listed:
        path = Path(os.path.normpath(folder / one))
        try:
            is_in, is_there = _lies_in(path, folder), path.exists()
        except (OSError, ValueError) as problem:
            what = f"{key}: {_shown(one)} cannot be looked at: {_why(problem)}"
            raise _Broken("manifest-validation-error", manifest, what) from None
        if not (one == "." or one.startswith("./")) or not is_in:
            what = f"{key}: {_shown(one)} has to begin with ./ and to lie in the plugin's folder"
            raise _Broken("manifest-validation-error", manifest, what)
        if not is_there:
            raise _Broken("path-not-found", manifest, f"{key}: there is no {_shown(one)} in the plugin's folder")
        found.append(path)
    return tuple(found)


def _lies_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _object(path: Path, type_: str) -> _Values:
    try:
        values = json.loads(read_text(path))
    except Unusable as problem:
        raise _Broken(type_, path, str(problem)) from None
    except ValueError as problem:
        raise _Broken(type_, path, f"it is no JSON: {problem}") from None
    except RecursionError:
        raise _Broken(type_, path, "it is nested too deep") from None
    if not isinstance(values, dict):
        raise _Broken(type_, path, "it holds no JSON object")
    return values


def _unread(path: Path, manifest: _Values) -> list[Diagnostic]:
    keys = [key for key in _UNREAD if key in manifest]
    text = f"{', '.join(keys)}: this has no effect here"
    # Nobody should change it: the same manifest serves other programs.
    return [Diagnostic(kind=Kind.NOTE, source=shown_path(path), text=text)] if keys else []


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
