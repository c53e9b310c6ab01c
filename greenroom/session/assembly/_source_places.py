"""The folders and files that a session reads before it begins, and what is around it on the machine.

Rule 1: without sources nothing is looked for. Rule 2: where only an administrator's folder is a source, what lies in the project
and with the user is not looked at, and the agents are told nothing of the place. Everything here blocks: call it through `Blocking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import builtin_definitions
from greenroom.containment import GitCalls
from greenroom.core.sources import Diagnostic, Places, Scope, find_places
from greenroom.mcp import FoundServers, McpSettings, ServerScope, find_servers, with_environment
from greenroom.session.assembly._session_spec import SessionSpec
from greenroom.session.equipment._environment_text import git_status
from greenroom.session.settings._session_settings import Settings, load_settings
from greenroom.session.settings._settings_files import SettingSource, Stamps, settings_stamps

_DISCOVERED = frozenset((Scope.PROJECT, Scope.USER))


def places_of(
    cwd: Path, sources: frozenset[SettingSource], added: Iterable[Path] = (), *, has_plugins: bool = False
) -> Places | None:
    """Return where the files of a session lie, as yet without its plugins; None where none are read.

    Args:
        cwd: Where its agents work.
        sources: Whose files are read.
        added: Further folders that the agents may work in.
        has_plugins: Whether the program names plugins, which are read without any source.

    Raises:
        UsageError: `GREENROOM_MANAGED` names no folder.
    """
    if not sources and not has_plugins:
        return None
    places = find_places(cwd, added=added) if sources else find_places(cwd, managed=())
    if sources - {SettingSource.MANAGED}:
        return places
    is_read = has_plugins or bool(places.managed or places.added)
    return attrs.evolve(places, reads=places.reads - _DISCOVERED) if is_read else None


def describes_place(places: Places | None) -> bool:
    """Whether agents are told of the folder that they work in, and how its repository stands."""
    return places is not None and bool(places.reads & _DISCOVERED)


def find_session_servers(
    cwd: Path,
    places: Places | None,
    sources: frozenset[SettingSource],
    settings: Settings,
    environ: Mapping[str, str],
) -> tuple[FoundServers, McpSettings, list[Diagnostic]]:
    """Return the MCP servers that files and settings name, and how they are to be treated."""
    mcp, ignored = with_environment(settings.scalars.mcp, environ)
    mcp = settings.as_managed("mcp", mcp)
    # Only what the program says itself: files are read where they lie, with the approvals that they need.
    given = [
        {"mcpServers": file.values["mcpServers"]}
        for file in settings.files
        if file.source is None and file.values.get("mcpServers")
    ]
    is_alone = places is None or mcp.only_given
    rules, unread = settings.server_rules()
    if places is None and not given:
        return FoundServers(rules=rules), mcp, [*ignored, *unread]
    found = find_servers(
        places if places is not None else find_places(cwd, managed=()),
        environ=environ,
        given=given,
        only_given=is_alone,
        is_trusted=settings.is_trusted,
        rules=rules,
    )
    unwanted = settings.scalars.disabledMcpjsonServers
    kept = tuple(config for config in found.configs if config.name not in unwanted and _is_read(config.scope, sources))
    return attrs.evolve(found, configs=kept), mcp, [*ignored, *unread, *found.diagnostics]


def _is_read(scope: ServerScope, sources: frozenset[SettingSource]) -> bool:
    match scope:
        case ServerScope.PROJECT:
            return SettingSource.PROJECT in sources
        case ServerScope.LOCAL:  # the user's own, for this project
            return bool({SettingSource.LOCAL, SettingSource.USER} & sources)
        case ServerScope.USER:
            return SettingSource.USER in sources
        case _:
            return True


def read_given_settings(spec: SessionSpec, sources: frozenset[SettingSource]) -> tuple[Places | None, Stamps, Settings]:
    """Return where the files of a session lie, the states of its settings files, and what they say. It blocks."""
    places = places_of(spec.cwd, sources, spec.added, has_plugins=spec.has_plugins)
    stamps = settings_stamps(places, sources)
    return places, stamps, load_settings(places, sources, given=spec.given, is_trusted=spec.is_trusted)


@final
@attrs.frozen
class Surroundings:
    """The machine and the project around a session."""

    builtins: tuple[AgentDefinition, ...]
    """The built-in definitions, with what lies where."""
    home: Path
    servers: tuple[FoundServers, McpSettings, list[Diagnostic]]
    git: str
    """The state of the repository, in words; empty if agents are not told."""


def look_around(
    cwd: Path,
    places: Places | None,
    sources: frozenset[SettingSource],
    settings: Settings,
    environ: Mapping[str, str],
    git: str | None,
) -> Surroundings:
    """Return what is around a session; with `git`, no process is started to look at the repository. It blocks."""
    calls = GitCalls(environ=environ, is_trusted=settings.is_trusted)
    return Surroundings(
        builtins=builtin_definitions(environ, is_headless=not settings.scalars.delegation.interactive),
        home=Path.home() if places is None else places.user,
        servers=find_session_servers(cwd, places, sources, settings, environ),
        git=git if git is not None else git_status(cwd, calls) if describes_place(places) else "",
    )
