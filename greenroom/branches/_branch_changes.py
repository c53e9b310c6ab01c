"""The changes with which a run is continued from an event: their names, and what each of them needs in the record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.branches._agent_edges import AgentEdges
from greenroom.core import UsageError
from greenroom.session import BranchStart

KINDS: Final = ("system:AGENT", "definition:NAME", "message:LINE", "result:CALL", "settings")
"""The changes that there are."""


@final
@attrs.frozen(kw_only=True)
class BranchChanges:
    """The changes of a branch, by what they replace."""

    systems: Mapping[str, str] = attrs.field(factory=dict)
    """System prompts by agent: the name of its definition, or its own."""
    definitions: Mapping[str, str] = attrs.field(factory=dict)
    """Texts of definition files by the name of the definition."""
    messages: Mapping[tuple[str, int], str] = attrs.field(factory=dict)
    """Texts by agent and line of its transcript, from 1."""
    results: Mapping[str, str] = attrs.field(factory=dict)
    """Results by the id of the call."""
    settings: Mapping[str, Any] = attrs.field(factory=dict)


def read_changes(given: Mapping[str, str]) -> BranchChanges:
    """Return changes, given as texts by `WHAT`.

    Raises:
        UsageError: A name is not that of a change, or a text is not what it needs.
    """
    systems: dict[str, str] = {}
    definitions: dict[str, str] = {}
    messages: dict[tuple[str, int], str] = {}
    results: dict[str, str] = {}
    settings: Mapping[str, Any] = {}
    for what, text in given.items():
        kind, _, name = what.partition(":")
        if kind == "system" and name:
            systems[name] = text
        elif kind == "definition" and name:
            definitions[name] = text
        elif kind == "message" and name:
            agent, _, line = name.rpartition(":")
            if not line.isdecimal() or not int(line):
                raise UsageError(f"{what}: the line of a transcript must be a number from 1, got {line!r}")
            messages[agent or "main", int(line)] = text
        elif kind == "result" and name:
            results[name] = text
        elif what == "settings":
            settings = _read_settings(text)
        else:
            raise UsageError(f"unknown change {what!r}; expected one of: {', '.join(KINDS)}")
    return BranchChanges(
        systems=systems, definitions=definitions, messages=messages, results=results, settings=settings
    )


def _read_settings(text: str) -> Mapping[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise UsageError(f"settings is not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise UsageError(f"settings must be a JSON object, got {type(values).__name__}")
    return values


def with_earlier(changes: BranchChanges, run: Path, earlier: BranchStart | None) -> BranchChanges:
    """Return changes together with those that a run holds already because it is a branch itself; new ones come first.

    Raises:
        UsageError: A file of the run that says so cannot be read.
    """
    if earlier is None:
        return changes
    texts = {
        name: (run / file).read_text(encoding="utf-8")
        for name, file in earlier.definitions.items()
        if f"definition:{name}" not in earlier.ignored
    }
    # A system prompt comes before that of a definition, so an old one must not hide a new definition.
    systems = {name: text for name, text in earlier.systems.items() if name not in changes.definitions}
    return attrs.evolve(
        changes,
        systems={**systems, **changes.systems},
        definitions={**texts, **changes.definitions},
        settings={**earlier.settings, **changes.settings},
    )


def names_of(agent: AgentEdges, *, is_main: bool) -> frozenset[str]:
    """Return the names by which a change may name an agent."""
    own = {agent.definition, agent.path.rpartition("/")[2], agent.agent}
    return frozenset(own | ({"main"} if is_main else set()) - {""})


def check_agents(changes: BranchChanges, agents: Iterable[AgentEdges]) -> None:
    """Refuse changes for agents that the run does not have.

    Raises:
        UsageError: The run has no such agent, or no agent of such a definition; the text says which there are.
    """
    found = list(agents)
    names = {name for place, agent in enumerate(found) for name in names_of(agent, is_main=not place)}
    shown = sorted(names - {agent.agent for agent in found})
    for name in (*changes.systems, *(agent for agent, _ in changes.messages)):
        if name not in names:
            raise UsageError(f"the run has no agent {name!r}; expected one of: {', '.join(shown)}")
    definitions = sorted({agent.definition for agent in found})
    for name in changes.definitions:
        if name not in definitions:
            raise UsageError(
                f"the run has no agent of the definition {name!r}; expected one of: {', '.join(definitions)}"
            )
