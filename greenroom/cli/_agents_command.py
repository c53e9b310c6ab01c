"""The commands `greenroom agents list | show | check`: the agents of a project, and the problems in their files.

It only reads, and runs nothing that a definition names. Exit codes are 0, 1 for an agent that is not there or a file that
should be changed, 2 for a mistake in the command. What `--json` prints keeps its keys.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
from cyclopts import Parameter

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import (
    Definitions,
    agent_listing,
    builtin_definitions,
    check_definition,
    facts_of,
    load_definitions,
    read_files,
)
from greenroom.core import SettingsError, UsageError
from greenroom.core.sources import MANIFEST, Diagnostic, Kind, Places, find_places
from greenroom.core.texts import LISTING_CHARACTERS
from greenroom.session import SettingSource, find_session_plugins, load_settings
from greenroom.terminal import Page, complain, counted, print_table, printable, typed

if TYPE_CHECKING:
    from rich.table import Table

FOUND: Final = 0
NOT_FOUND: Final = 1
GIVEN: Final = "--agents"
"""The source of definitions that the command line gives."""

AgentsJson = Annotated[str | None, Parameter(name=GIVEN)]
PluginDirs = Annotated[list[Path] | None, Parameter(name="--plugin-dir")]


def list_command(*, agents: AgentsJson = None, plugin_dir: PluginDirs = None, json: bool = False) -> int:
    """List the agents that can be used in the current folder.

    Parameters
    ----------
    agents
        More agents: a JSON object that maps names to definitions.
    plugin_dir
        A plugin folder, in addition to those that settings name.
    json
        Print one JSON object instead of a table.
    """
    found = _load(agents, plugin_dir)
    if json:
        Page(
            facts={"agents": [_row(agent) for agent in found.values()], "found": _facts(found.diagnostics)}, lines=()
        ).print(is_json=True)
        return FOUND
    print_table(_table(found))
    given = [problem for problem in found.problems if problem.source == GIVEN]
    files = {problem.source for problem in found.problems} - {GIVEN}
    if files or given:
        print()
    for value in given:
        print(printable(_line(value), 400))
    if files:
        print(f"{counted(len(files), 'file')} should be changed: greenroom agents check")
    size = len(agent_listing(found.values(), most=sys.maxsize))
    if size > LISTING_CHARACTERS:
        print(
            f"\nDescriptions come to {size:,} characters; a model reads {LISTING_CHARACTERS:,} of them (delegation.listing_chars)"
        )
    return FOUND


def show_command(name: str, /, *, agents: AgentsJson = None, plugin_dir: PluginDirs = None, json: bool = False) -> int:
    """Show one agent: its source, its permissions and its prompt.

    Parameters
    ----------
    name
        The name of the agent; case and separators do not matter.
    agents
        More agents: a JSON object that maps names to definitions.
    plugin_dir
        A plugin folder, in addition to those that settings name.
    json
        Print the definition as one JSON object.
    """
    found = _load(agents, plugin_dir)
    try:
        one = found.find(name)
    except UsageError as error:
        return complain(str(error), code=NOT_FOUND)
    about = tuple(
        each for each in found.diagnostics if each.source == one.origin.source or f"{one.name!r}" in each.text
    )
    origin = {"scope": one.origin.scope.value, "source": one.origin.source}
    lines = [f"{one.name}  ({origin['scope']}: {_short(one.origin.source)})", printable(one.description, 400), ""]
    lines += [f"{key:<20} {_worded(value)}" for key, value in _settings(one).items()]
    lines += ["", *one.system_prompt.splitlines()]
    lines += ["", *map(_line, about)] if about else []
    Page(facts={**facts_of(one), "origin": origin, "found": _facts(about)}, lines=lines).print(is_json=json)
    return FOUND


def check_command(path: Path | None = None, /, *, json: bool = False) -> int:
    """Check the files of agents; the exit code is 1 when one should be changed.

    Parameters
    ----------
    path
        A file, a folder of files, or a plugin folder; by default all files that apply in the current folder.
    json
        Print one JSON object instead of lines.
    """
    if path is None:
        found = _load(None)
    elif (path / MANIFEST).is_file():
        found = _of_plugins(attrs.evolve(find_places(Path.cwd(), managed=()), reads=frozenset()), [path], builtins=())
    elif path.exists():
        found = read_files(path.absolute())
    else:
        raise UsageError(f"{str(path)!r} is not there; name a file of an agent, or a folder of them")
    loaded = [agent for agent in found.values() if agent.origin.scope.value != "builtin"]
    checks = [each for agent in loaded for each in check_definition(agent, os.environ)]
    checks.sort(key=lambda check: check.kind is Kind.NOTE)
    diagnostics = [*found.diagnostics, *checks]
    problems = [*found.problems, *(check for check in checks if check.kind is not Kind.NOTE)]
    verdict = "nothing to change" if not problems else f"{counted(len(problems), 'problem')} to repair"
    facts = {
        "ok": not problems,
        "loaded": [{"name": agent.name, "source": agent.origin.source} for agent in loaded],
        "found": _facts(diagnostics),
    }
    lines = [f"{agent.name}: {_short(agent.origin.source)}" for agent in loaded]
    lines += [*map(_line, diagnostics), f"{counted(len(loaded), 'agent')}, {verdict}"]
    Page(facts=facts, lines=lines).print(is_json=json)
    return NOT_FOUND if problems else FOUND


# --- pieces -----------------------------------------------------------------------------------------------------------


def _load(agents: str | None, plugin_dir: Sequence[Path] | None = None) -> Definitions:
    places = find_places(Path.cwd())
    return _of_plugins(places, plugin_dir or (), more=_parsed(agents), builtins=builtin_definitions(os.environ))


def _of_plugins(places: Places, folders: Sequence[Path], **options: Any) -> Definitions:
    """Return the definitions that count, with those of plugins; what is wrong with settings is said, and stops nobody."""
    wrong: list[Diagnostic] = []
    try:
        sources = SettingSource if places.reads else ()
        settings = load_settings(places, sources, is_trusted=True)  # nothing is run
    except SettingsError as error:
        wrong.append(Diagnostic(kind=Kind.BROKEN, source=error.source, text="; ".join(error.problems)))
        settings = load_settings(places)
    plugins = find_session_plugins(settings, places, [folder.absolute() for folder in folders])
    found = load_definitions(places.with_plugins(plugins.loaded), **options)
    return attrs.evolve(found, diagnostics=(*wrong, *plugins.diagnostics, *found.diagnostics))


def _parsed(agents: str | None) -> dict[str, Any] | None:
    if agents is None:
        return None
    import orjson

    try:
        values = orjson.loads(agents)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"--agents is not valid JSON (column {error.colno}: {error.msg})") from None
    if not isinstance(values, dict):
        raise UsageError("--agents must be a JSON object of definitions by their names")
    return values


def _row(one: AgentDefinition) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "model": one.model,
        "tools": one.tools_in_words(),
        "scope": one.origin.scope.value,
        "source": one.origin.source,
    }


def _settings(one: AgentDefinition) -> dict[str, Any]:
    facts = facts_of(one)
    for key in ("name", "description", "prompt", "tools", "disallowedTools"):
        facts.pop(key, None)
    denied = [pattern for pattern in one.disallowed_tools if "(" in pattern]
    refused = {"refused calls": denied} if denied else {}
    return {"tools": one.tools_in_words(), **refused, "model": one.model, **facts}


def _worded(value: object) -> str:
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value), 400)


def _facts(found: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    return [
        {"kind": diagnostic.kind.value, "source": diagnostic.source, "line": diagnostic.line, "text": diagnostic.text}
        for diagnostic in found
    ]


def _line(one: Diagnostic) -> str:
    place = f"{_short(one.source)}:{one.line}" if one.line else _short(one.source)
    return f"{place}: {one.kind.value}: {one.text}"


def _short(source: str) -> str:
    return typed(Path(source)) if source.startswith("/") else source


def _table(found: Definitions) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("name", "from", "model", "tools", "description"):
        table.add_column(title, overflow="ellipsis", no_wrap=title in {"name", "from"})
    for agent in found.values():
        row = (agent.name, agent.origin.scope.value, agent.model, agent.tools_in_words(), agent.description)
        table.add_row(*(Text(printable(each, 100)) for each in row))
    return table
