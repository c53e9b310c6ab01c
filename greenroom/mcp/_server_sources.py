"""Sources of servers: all configuration files, merged to one entry for each name.

The closest scope wins, and its entry is used as a whole: managed, command line, local, project, user, plugin; within
one scope ours before `.mcp.json` and `.claude.json`, and a nearer folder before those further up. Each problem is one
line, and affects nothing else. Everything here blocks: call it through `Blocking`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core.sources import (
    OWN,
    THEIRS,
    Diagnostic,
    Kind,
    Places,
    Plugin,
    Scope,
    Unusable,
    is_file,
    read_text,
    shown_path,
)
from greenroom.mcp._configs import ServerConfig, ServerScope
from greenroom.mcp._entry_parser import BrokenServer, parse_server
from greenroom.mcp._project_approvals import Approvals, read_approvals
from greenroom.mcp._server_rules import ServerRules
from greenroom.mcp._tool_names import plugin_server

_SERVERS: Final = "mcpServers"
_PROJECT_FILE: Final = ".mcp.json"
_THEIR_STATE: Final = ".claude.json"
_MANAGED_FILE: Final = "managed-mcp.json"
_STATE_BYTES: Final = 64_000_000
"""`.claude.json` holds histories of projects as well."""
_ALL_SCOPES: Final = tuple(scope for scope in ServerScope if scope is not ServerScope.AGENT)


@final
@attrs.frozen(kw_only=True)
class DisabledServer:
    """A server that is available but not to be connected."""

    config: ServerConfig
    why: str


@final
@attrs.frozen(kw_only=True)
class FoundServers:
    """The servers of a session, each name once, in order of scope."""

    configs: tuple[ServerConfig, ...] = ()
    disabled: tuple[DisabledServer, ...] = ()
    rules: ServerRules = attrs.field(factory=ServerRules)
    """Rules for servers that are added later."""
    broken: tuple[BrokenServer, ...] = ()
    """The `mcp_server_errors` of a headless session."""
    diagnostics: tuple[Diagnostic, ...] = ()


def find_servers(
    places: Places,
    *,
    environ: Mapping[str, str],
    given: Sequence[str | Mapping[str, Any]] = (),
    only_given: bool = False,
    can_ask: bool = False,
    is_trusted: bool = True,
    rules: ServerRules | None = None,
) -> FoundServers:
    """Read all sources, and return the servers of the session.

    Args:
        places: The folders of the session.
        environ: Values for `${NAME}` in entries.
        given: Sources from the command line or the program (`--mcp-config`): files, JSON as text, or mappings.
        only_given: True if nothing else is read (`--strict-mcp-config`).
        can_ask: True if a person attends the session, so that a project's servers wait for approval.
        is_trusted: True if the project is trusted; otherwise the servers of its files are not started, and take no
            name.
        rules: Rules for which servers may be connected; by default all.
    """
    rules = rules or ServerRules()
    finder = _ServerFinder(places, environ, is_trusted=is_trusted)
    if finder.read_managed():
        rules = attrs.evolve(rules, is_exclusive=True)
    else:
        finder.read_given(given)
        if not only_given:
            finder.read_files()
    return finder.chosen(rules, can_ask=can_ask)


@final
@attrs.frozen
class _WrittenEntry:
    name: str
    entry: object
    scope: ServerScope
    source: str
    environ: Mapping[str, str]


@final
class _ServerFinder:
    def __init__(self, places: Places, environ: Mapping[str, str], *, is_trusted: bool) -> None:
        self._places = places
        self._is_trusted = is_trusted
        self._environ = {"CLAUDE_PROJECT_DIR": str(places.root), "GREENROOM_PROJECT_DIR": str(places.root), **environ}
        self.entries: dict[ServerScope, list[_WrittenEntry]] = {scope: [] for scope in _ALL_SCOPES}
        self._found: list[Diagnostic] = []
        self._approvals = Approvals()

    # --- reading ----------------------------------------------------------------------------------------------------

    def read_managed(self) -> bool:
        """Read an administrator's files; return True if they determine the servers."""
        files = [path for folder in self._places.managed if is_file(path := folder / _MANAGED_FILE)]
        for path in files:
            self.read_file(path, ServerScope.MANAGED)
        for path in self._places.policies:
            values = self._file(path)
            self._take(values, ServerScope.MANAGED, path, is_settings=True)
            self._approve(values, path, may_enable=True)
        return bool(files or self.entries[ServerScope.MANAGED])

    def read_given(self, given: Iterable[str | Mapping[str, Any]]) -> None:
        for source in given:
            if isinstance(source, Mapping):
                self._take(source, ServerScope.CLI, "--mcp-config")
            elif source.lstrip().startswith("{"):
                values = self._parsed(source, "--mcp-config")
                if values is not None:
                    self._take(values, ServerScope.CLI, "--mcp-config")
            else:
                path = self._places.cwd / source
                if is_file(path):
                    self.read_file(path, ServerScope.CLI)
                else:
                    self._broken("--mcp-config", f"{source[:200]!r} does not exist; expected a file or JSON")

    def read_files(self) -> None:
        if Scope.PROJECT in self._places.reads:
            self._read_project()
        if Scope.USER in self._places.reads:
            self._read_users()
        self._read_plugins()

    def _read_project(self) -> None:
        places = self._places
        for folder in places.project:
            local = self._file(folder / OWN / "settings.local.json")
            self._take_project(local, ServerScope.LOCAL, folder / OWN / "settings.local.json", is_settings=True)
            self._approve(local, folder / OWN / "settings.local.json", may_enable=True)
            theirs = folder / THEIRS / "settings.local.json"
            self._approve(self._file(theirs), theirs, may_enable=True)
        for folder in places.project:
            if folder / OWN == places.home:
                continue  # the user's own settings, which are read below
            shared = self._file(folder / OWN / "settings.json")
            self._take_project(shared, ServerScope.PROJECT, folder / OWN / "settings.json", is_settings=True)
            path = folder / _PROJECT_FILE
            self._take_project(self._file(path), ServerScope.PROJECT, path)
            self._approve(shared, folder / OWN / "settings.json", may_enable=False)
            theirs = folder / THEIRS / "settings.json"
            self._approve(self._file(theirs), theirs, may_enable=False)

    def _read_plugins(self) -> None:
        for plugin in self._places.plugins:
            for part in plugin.servers:
                servers = part.values.get(_SERVERS, part.values)
                named = {
                    plugin_server(plugin.name, str(name)): _given_to(entry, plugin) for name, entry in _items(servers)
                }
                environ = {**self._environ, **plugin.variables}
                self._take({_SERVERS: named}, ServerScope.PLUGIN, part.source, environ=environ)

    def _read_users(self) -> None:
        places = self._places
        for folder in (places.home, places.their_home):
            values = self._file(folder / "settings.json")
            if folder == places.home:
                self._take(values, ServerScope.USER, folder / "settings.json", is_settings=True)
            self._approve(values, folder / "settings.json", may_enable=True)
        is_moved = places.their_home != places.user / THEIRS
        path = (places.their_home if is_moved else places.user) / _THEIR_STATE
        state = self._file(path, most=_STATE_BYTES) or {}
        projects = state.get("projects")
        for folder in dict.fromkeys((places.cwd, places.root, places.main_root)):
            project = projects.get(str(folder)) if isinstance(projects, Mapping) else None
            if isinstance(project, Mapping):
                self._take(project, ServerScope.LOCAL, path, is_settings=True)
                self._approve(project, path, may_enable=True)
        self._take(state, ServerScope.USER, path, is_settings=True)

    def read_file(self, path: Path, scope: ServerScope) -> None:
        self._take(self._file(path), scope, path)

    def _file(self, path: Path, **options: int) -> Mapping[str, Any] | None:
        if not is_file(path):
            return None
        try:
            return self._parsed(read_text(path, **options), shown_path(path))
        except Unusable as problem:
            self._broken(shown_path(path), str(problem))
            return None

    def _parsed(self, text: str, source: str) -> Mapping[str, Any] | None:
        try:
            values = json.loads(text or "{}")
        except ValueError as problem:
            line = problem.lineno if isinstance(problem, json.JSONDecodeError) else 0
            self._broken(source, f"invalid JSON: {problem}; the file is ignored", line)
            return None
        except RecursionError:
            self._broken(source, "it is nested too deeply; the file is ignored")
            return None
        if not isinstance(values, dict):
            self._broken(source, 'it must hold an object, such as {"mcpServers": {...}}')
            return None
        return values

    def _take_project(
        self, values: Mapping[str, Any] | None, scope: ServerScope, path: Path, *, is_settings: bool = False
    ) -> None:
        """Use the servers of a project's own file if the project is trusted; otherwise report them."""
        if self._is_trusted:
            self._take(values, scope, path, is_settings=is_settings)
            return
        for name, _ in _items((values or {}).get(_SERVERS)):
            text = f"server {str(name)!r} is not started: trust {shown_path(self._places.root)} first"
            self._found.append(Diagnostic(kind=Kind.IGNORED, source=shown_path(path), text=text))

    def _take(
        self,
        values: Mapping[str, Any] | None,
        scope: ServerScope,
        source: Path | str,
        *,
        is_settings: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if values is None or (is_settings and _SERVERS not in values):
            return
        shown = shown_path(source) if isinstance(source, Path) else source
        if not isinstance(values.get(_SERVERS), Mapping):
            self._broken(shown, f'it must have an object {_SERVERS}, such as {{"{_SERVERS}": {{"name": {{...}}}}}}')
            return
        for name, entry in _items(values[_SERVERS]):
            written = _WrittenEntry(str(name), entry, scope, shown, self._environ if environ is None else environ)
            self.entries[scope].append(written)

    def _approve(self, values: Mapping[str, Any] | None, path: Path, *, may_enable: bool) -> None:
        if values is not None:
            approvals, found = read_approvals(values, shown_path(path), may_enable=may_enable)
            self._approvals = self._approvals.joined(approvals)
            self._found += found

    def _broken(self, source: str, text: str, line: int = 0) -> None:
        diagnostic = Diagnostic(kind=Kind.BROKEN, source=source, line=line, text=text)
        if diagnostic not in self._found:
            self._found.append(diagnostic)

    # --- choosing ---------------------------------------------------------------------------------------------------

    def chosen(self, rules: ServerRules, *, can_ask: bool) -> FoundServers:
        configs: list[ServerConfig] = []
        disabled: list[DisabledServer] = []
        broken: list[BrokenServer] = []
        first: dict[str, _WrittenEntry] = {}
        for scope in _ALL_SCOPES:
            for written in self.entries[scope]:
                winner = first.setdefault(written.name, written)
                if winner is not written:
                    self._shadow(written, winner)
                    continue
                parsed = parse_server(
                    written.name, written.entry, scope=scope, source=written.source, environ=written.environ
                )
                self._found += parsed.diagnostics
                if parsed.broken is not None:
                    broken.append(parsed.broken)
                elif parsed.config is not None and (why := rules.why_not(parsed.config)):
                    text = f"server {written.name!r} is not connected: {why}"
                    self._found.append(Diagnostic(kind=Kind.IGNORED, source=written.source, text=text))
                elif parsed.config is not None:
                    is_asked = scope is ServerScope.PROJECT
                    why = self._approvals.why_not(written.name, can_ask=can_ask) if is_asked else ""
                    if why:
                        disabled.append(DisabledServer(config=parsed.config, why=why))
                    else:
                        configs.append(parsed.config)
        return FoundServers(
            configs=tuple(configs),
            disabled=tuple(disabled),
            rules=rules,
            broken=tuple(broken),
            diagnostics=tuple(self._found),
        )

    def _shadow(self, written: _WrittenEntry, winner: _WrittenEntry) -> None:
        text = f"server {written.name!r} is not used: {winner.source} has one with that name, and takes precedence"
        self._found.append(Diagnostic(kind=Kind.SHADOWED, source=written.source, text=text))


def _given_to(entry: object, plugin: Plugin) -> object:
    """Return the entry of a plugin's server; a program gets the variables for the plugin's folders."""
    env = entry.get("env", {}) if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or "command" not in entry or not isinstance(env, Mapping):
        return entry
    return {**entry, "env": {**plugin.variables, **env}}


def _items(values: object) -> Iterator[tuple[Any, Any]]:
    return iter(values.items()) if isinstance(values, Mapping) else iter(())
