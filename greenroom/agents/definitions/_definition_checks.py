"""Checks of a definition of an agent: of the parts that others read when it starts, and of names that mean nothing here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.agents._definition import AgentDefinition
from greenroom.core.sources import Diagnostic, Kind
from greenroom.hooks import HookSource, SourceKind, parse_hooks
from greenroom.mcp import ServerScope, parse_server
from greenroom.models.choice import INHERIT, family_of
from greenroom.permissions import Effect, Scope, Source, ToolTraits, parse_rule, traits_of
from greenroom.tools.builtin import STANDARD_TOOLS

_INSTEAD: Final = {
    "LS": "; use Glob",
    "NotebookRead": "; use Read",
    "MultiEdit": "; use Edit",
    "WebSearch": "; use WebFetch",
}
_ELSEWHERE: Final = frozenset((*_INSTEAD, "NotebookEdit", "PowerShell", "EnterPlanMode"))
"""Tools of other programs that permissions know by name."""


def check_definition(definition: AgentDefinition, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Return what is wrong with a definition beyond its own fields, and notes on names that mean nothing here.

    Args:
        definition: The definition.
        environ: Variables that the configurations of servers may name.
    """
    yield from _faults_of_parts(definition, environ)
    yield from _unknown_names(definition)


def _faults_of_parts(definition: AgentDefinition, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Return the faults of its hooks, rules and servers."""
    source = definition.origin.source

    def say(text: str) -> Diagnostic:
        return Diagnostic(kind=Kind.IGNORED, source=source, text=f"{definition.name!r}: {text}")

    for problem in parse_hooks({"hooks": definition.hooks}, HookSource(source, SourceKind.AGENT)).problems:
        yield say(f"{problem.path}: {problem.what}")
    for pattern in definition.disallowed_tools:
        if "(" in pattern:
            _, wrong = parse_rule(pattern, Effect.DENY, Source(scope=Scope.AGENT, name=definition.name))
            if wrong is not None:
                yield say(f"disallowedTools: {wrong.what}")
    for server in definition.mcp_servers:
        if server.config is not None:
            parsed = parse_server(server.name, server.config, scope=ServerScope.AGENT, source=source, environ=environ)
            yield from (say(each.text) for each in parsed.diagnostics)


def _unknown_names(definition: AgentDefinition) -> Iterator[Diagnostic]:
    """Return notes on names that mean nothing here; programs and servers may bring tools and models of their own."""

    def say(text: str) -> Diagnostic:
        return Diagnostic(kind=Kind.NOTE, source=definition.origin.source, text=f"{definition.name!r} {text}")

    known = {"*", *(each.name for each in STANDARD_TOOLS)}
    for pattern in definition.tools or ():
        name = pattern.partition("(")[0]
        if name in _ELSEWHERE:
            yield say(f"names the tool {name!r}, which no session here has{_INSTEAD.get(name, '')}")
        elif name not in known and not name.startswith("mcp__") and traits_of(name) == ToolTraits():
            yield say(f"names the tool {name!r}, which is not built in; check its name")
    if definition.model != INHERIT and family_of(definition.model) is None:
        yield say(f"names the model {definition.model!r}, which is none of Claude's; check its name")
