"""What decides about the calls of a session, from its settings and the tools that the program hands in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from greenroom.permissions import (
    Effect,
    Policy,
    Rule,
    Scope,
    Source,
    ToolKind,
    merge_permissions,
    parse_mode,
    parse_rule,
    traits_of,
)
from greenroom.session._settings import Settings
from greenroom.tools import Tool


def make_policy(
    settings: Settings, tools: Sequence[Tool], *, cwd: Path, home: Path, mode: str | None
) -> tuple[Policy, list[str]]:
    """Return what decides about the calls of a session, and what in its sources could not be used.

    A tool of the program's own, that no rule knows anything about, runs unless a rule says otherwise: who handed it in,
    allowed it.

    Raises:
        UsageError: There is no such mode.
    """
    policy, problems = merge_permissions(
        settings.permissions, cwd=str(cwd), home=str(home), mode=None if mode is None else parse_mode(mode)
    )
    own = [one.name for one in tools if traits_of(one.name).kind is ToolKind.OTHER and not one.name.startswith("mcp__")]
    source = Source(scope=Scope.SESSION, name="the program")
    rules = [parse_rule(name, Effect.ALLOW, source)[0] for name in own]
    kept: list[Rule] = [rule for rule in rules if rule is not None]
    return attrs.evolve(policy, rules=(*policy.rules, *kept)), [str(one) for one in problems]
