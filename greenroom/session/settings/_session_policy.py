"""The permission policy of a session, made from its settings and the tools of the program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import SubagentSpec
from greenroom.permissions import (
    PROGRAM,
    ChildPermission,
    Effect,
    Mode,
    Policy,
    Rule,
    Scope,
    ToolKind,
    child_mode,
    may_do_more,
    merge_permissions,
    parse_mode,
    parse_rule,
    traits_of,
)
from greenroom.session.settings._session_settings import Settings
from greenroom.tools import Tool


def make_policy(
    settings: Settings, tools: Sequence[Tool], *, cwd: Path, home: Path, mode: str | None
) -> tuple[Policy, list[str]]:
    """Return what decides about the calls of a session, and what in its sources could not be used.

    A tool of the program's own, that no rule knows anything about, runs unless a rule says otherwise: who handed it in,
    allowed it.

    Raises:
        UsageError: The mode is unknown.
    """
    policy, problems = merge_permissions(
        settings.permissions,
        cwd=str(cwd),
        home=str(home),
        mode=None if mode is None else parse_mode(mode),
        managed_only=settings.allows_managed_rules_only,
        is_trusted=settings.is_trusted,
    )
    own = [
        tool.name for tool in tools if traits_of(tool.name).kind is ToolKind.OTHER and not tool.name.startswith("mcp__")
    ]
    rules = [parse_rule(name, Effect.ALLOW, PROGRAM)[0] for name in own]
    kept: list[Rule] = [rule for rule in rules if rule is not None]
    return attrs.evolve(policy, rules=(*policy.rules, *kept)), [str(problem) for problem in problems]


def rebased(policy: Policy, before: Policy, after: Policy, *, kept_in_files: Collection[Scope]) -> Policy:
    """Return a policy that was made of some settings, as it is with others: its mode and what it has besides stay.

    Args:
        policy: The session's or an agent's.
        before: What the settings came to by themselves.
        after: What they come to now.
        kept_in_files: Scopes whose lasting answers stand in files: those are among `after`, or were taken away there.
    """
    of_settings = frozenset(before.rules)
    more = [rule for rule in policy.rules if rule not in of_settings and rule.source.scope not in kept_in_files]
    folders = [directory for directory in policy.directories if directory not in before.directories]
    return attrs.evolve(
        policy,
        rules=(*after.rules, *more),
        directories=tuple(dict.fromkeys((*after.directories, *folders))),
        may_bypass=after.may_bypass,
        managed_only=after.managed_only,
        is_trusted=after.is_trusted,
    ).with_mode(policy.mode)


def _mode_of_mate(leading: Policy, wish: SubagentSpec) -> Mode:
    """Return the mode of a teammate: its lead's, whatever its definition says, or that which its plan was approved into."""
    if wish.is_planning:
        return Mode.PLAN
    mode = parse_mode(wish.approved_mode) if wish.approved_mode else leading.mode
    # A team that is opened again skips no permissions that its lead does not skip now.
    return leading.mode if mode is Mode.BYPASS else mode


def policy_of(
    policy: Policy,
    definition: AgentDefinition,
    *,
    setting: ChildPermission | None,
    has_mode: bool,
    wish: SubagentSpec | None,
) -> tuple[Policy, list[str]]:
    """Return what decides about the calls of an agent, and what in its definition could not be used.

    Args:
        policy: The session's.
        definition: The agent's.
        setting: The setting `child_permission`; None for the main agent.
        has_mode: Whether the program named the session's mode, which the main agent's definition then does not change.
        wish: What a child was started for.
    """
    said = None if definition.permission_mode is None else parse_mode(definition.permission_mode)
    deny = [disallowed_tool for disallowed_tool in definition.disallowed_tools if "(" in disallowed_tool]
    name = definition.name
    if wish is not None and wish.is_teammate and wish.parent is not None and wish.parent.profile.policy is not None:
        leading = wish.parent.profile.policy
        made, problems = leading.for_child(_mode_of_mate(leading, wish), deny=deny, agent=name)
    elif setting is not None:
        made, problems = policy.for_child(said, setting=setting, deny=deny, agent=name)
    else:
        made, problems = policy.for_child(policy.mode if has_mode or said is None else said, deny=deny, agent=name)
    directories = (*made.directories, *map(str, definition.more_roots))
    return attrs.evolve(made, directories=directories), [str(problem) for problem in problems]


def child_setting(mode: Mode, setting: ChildPermission | None) -> ChildPermission:
    """Return where children have their mode from: who reviews calls reviews theirs as well, unless a setting says otherwise."""
    return setting or ("clamped" if mode is Mode.AUTO else "definition")


def freer_mode(mode: Mode, setting: ChildPermission | None) -> Mode | None:
    """Return the mode of children whose definition says none, where it may do more than the session's; else None."""
    child = child_mode(mode, None, setting=child_setting(mode, setting), may_bypass=False)
    return child if may_do_more(child, mode) else None


def freer_note(mode: Mode, setting: ChildPermission | None) -> str:
    """Return what people are told where children may do more than the session; empty where not, or where a setting chose it."""
    child = freer_mode(mode, setting)
    if child is None or setting is not None:
        return ""
    return (
        f"the agents that were started act in the mode {child}, which may do more than the session's mode {mode}; "
        "child_permission: clamped (--child-permission clamped) keeps them to it"
    )
