"""Routing of a call of the tool Agent, and the reasons for which it is refused.

The order, the first that speaks decides:
  1. teammate   2. the type that is meant   3. a fork does not fork   4. denied types, types that this agent may start
  5. limits: budget, depth, running, in all   6. remote   7. foreground or background.
Pure, and before anything exists: a refused call leaves no worktree, task or name behind. No refusal becomes
another agent: only a missing type stands for `general-purpose`, a coordinator's for `worker`. Settings choose between
the older and the newer ways; the defaults are the older ones.
"""

from __future__ import annotations

import difflib
import re
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.agents._definition import AgentDefinition
from greenroom.agents.definitions import GENERAL_PURPOSE, WORKER, plain_type
from greenroom.agents.delegation._input import REMOTE, AgentCall
from greenroom.agents.delegation._situation import Situation
from greenroom.core import UsageError, frozen
from greenroom.tools import ToolError

FORK: Final = "fork"
"""The type that stands for a fork, in calls and in rules."""
FORK_IN_FORK: Final = "Fork is not available inside a forked worker."

RefusalKind: TypeAlias = Literal[
    "ambiguous_type",
    "budget",
    "denied_type",
    "depth",
    "fork_in_fork",
    "fork_remote",
    "name_taken",
    "no_remote_host",
    "no_type",
    "running",
    "teammate_background",
    "teammate_spawn",
    "total",
    "type_not_allowed",
    "unknown_team",
    "unknown_type",
]


@final
class SpawnRefused(ToolError):
    """The call starts nothing; the text says why and what to do.

    Attributes:
        kind: Which of the refusals it is.
    """

    def __init__(self, kind: RefusalKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@final
@frozen(kw_only=True)
class TeammateRoute:
    """A teammate joins; the call's folder, worktree and model are chosen where it is started."""

    name: str
    team: str
    definition: AgentDefinition | None = None
    """None for a teammate of no type."""
    is_plan_required: bool = False


@final
@frozen(kw_only=True)
class ForkRoute:
    """The caller is forked."""

    is_background: bool = True
    """False only where nothing may run in the background."""


@final
@frozen(kw_only=True)
class NamedRoute:
    """An agent of a type starts with the task and nothing else."""

    definition: AgentDefinition
    is_background: bool
    is_coordinated: bool = False
    """True if it is a coordinator's worker: the call's `model` is dropped."""


@final
@frozen(kw_only=True)
class RemoteRoute:
    """An agent of a type starts on a remote host, and is not waited for."""

    definition: AgentDefinition


Route: TypeAlias = TeammateRoute | ForkRoute | NamedRoute | RemoteRoute


def route(call: AgentCall, situation: Situation) -> Route:
    """Return which way a call takes.

    Raises:
        SpawnRefused: It takes none; nothing has to be undone.
    """
    teammate = _teammate(call, situation)
    if teammate is not None:
        return teammate
    if _is_fork(call, situation):
        return _fork(call, situation)
    definition = _definition(call.subagent_type, situation)
    _check_limits(situation)
    if (call.isolation or definition.isolation) == REMOTE:
        if not situation.has_remote_hosts:
            raise SpawnRefused("no_remote_host", _no_host(call, definition))
        return RemoteRoute(definition=definition)
    return NamedRoute(
        definition=definition,
        is_background=_is_background(call, definition, situation),
        is_coordinated=situation.is_coordinator,
    )


def route_skill(agent: str, situation: Situation) -> AgentDefinition:
    """Return the definition that a skill with `context: fork` runs as, under the rules and limits of every other child.

    Args:
        agent: What the skill says.
        situation: What it depends on.

    Raises:
        SpawnRefused: There is none, it is denied, or no more agents may be started.
    """
    definition = _definition(agent, situation)
    _check_limits(situation)
    if definition.isolation == REMOTE:
        text = (
            f"the agent type {definition.name!r} runs on a remote host, and a skill runs here: give it another `agent`"
        )
        raise SpawnRefused("no_remote_host", text)
    return definition


# --- 1. teammates -----------------------------------------------------------------------------------------------------


def _teammate(call: AgentCall, situation: Situation) -> TeammateRoute | None:
    teams, caller = situation.teams, situation.caller
    if call.name is None or not teams.are_on or _is_explicit_fork(call, situation):
        return None
    team = _implicit_team(call, situation) if teams.is_implicit else _team_of_call(call, situation)
    if team is None:
        return None
    if caller.is_teammate:
        raise SpawnRefused(
            "teammate_spawn",
            "In-process teammates cannot spawn agents that join a team. Leave out `name` and `team_name` to start an agent "
            "of your own, or ask the team lead for another teammate.",
        )
    if not caller.is_main:
        raise SpawnRefused(
            "teammate_spawn", "Only the team lead adds teammates: leave out `team_name` to start an agent of your own."
        )
    if team != teams.team:
        there_is = f"the team here is {teams.team!r}" if teams.team else "make one with TeamCreate first"
        raise SpawnRefused("unknown_team", f"there is no team {team!r}; {there_is}")
    definition = None if call.subagent_type is None else _definition(call.subagent_type, situation)
    _check_budget(situation)
    return TeammateRoute(
        name=call.name,
        team=team,
        definition=definition,
        is_plan_required=call.mode == "plan" and not teams.is_implicit,
    )


def _implicit_team(call: AgentCall, situation: Situation) -> str | None:
    """Return the team that a name alone joins; `team_name` says nothing there."""
    caller = situation.caller
    if caller.is_teammate:
        return situation.teams.team
    if not (caller.is_main and situation.is_interactive) or call.isolation is not None or _is_fork(call, situation):
        return None
    return situation.teams.team


def _team_of_call(call: AgentCall, situation: Situation) -> str | None:
    """Return the team that the call asks for, or else the caller's own."""
    caller = situation.caller
    if call.team_name is not None:
        return call.team_name
    return situation.teams.team if caller.has_team_context and (caller.is_main or caller.is_teammate) else None


# --- 2. to 4. types ---------------------------------------------------------------------------------------------------


def _is_fork(call: AgentCall, situation: Situation) -> bool:
    if call.subagent_type is not None:
        return _is_explicit_fork(call, situation)
    return situation.is_fork_open and situation.fork == "when_type_omitted"


def _is_explicit_fork(call: AgentCall, situation: Situation) -> bool:
    # A definition called `fork` stands for itself, like any that replaces a built-in one.
    asked = call.subagent_type is not None and plain_type(call.subagent_type) == FORK
    return asked and situation.is_fork_open and FORK not in situation.definitions


def _fork(call: AgentCall, situation: Situation) -> ForkRoute:
    caller = situation.caller
    if caller.is_fork or caller.has_fork_tag:
        raise SpawnRefused("fork_in_fork", f"{FORK_IN_FORK} Do the work yourself.")
    rule = _rule_against(FORK, situation)
    if rule is not None:
        raise SpawnRefused("denied_type", _denied(FORK, rule))
    _check_limits(situation)
    if call.isolation == REMOTE:
        raise SpawnRefused(
            "fork_remote", "a fork works on this conversation, so it runs here: leave out `isolation`, or choose a type"
        )
    return ForkRoute(is_background=situation.background_enabled and not caller.is_teammate)


def _definition(asked: str | None, situation: Situation) -> AgentDefinition:
    """Return the definition that is meant, if it may be started."""
    fallback = _fallback(situation)
    if asked is None and not (fallback in situation.definitions and _is_allowed(fallback, situation)):
        raise SpawnRefused(
            "no_type",
            f"subagent_type is required: the {fallback} agent is not available in this session. "
            f"Available agents: {', '.join(_available(situation)) or 'none'}",
        )
    try:
        definition = situation.definitions.find(fallback if asked is None else asked)
    except UsageError:
        raise _unknown(asked or fallback, situation) from None
    rule = _rule_against(definition.name, situation)
    if rule is not None:
        raise SpawnRefused("denied_type", _denied(definition.name, rule))
    if not _is_allowed(definition.name, situation):
        raise SpawnRefused(
            "type_not_allowed",
            f"the agent type {definition.name!r} may not be started by this agent. "
            f"Available agents: {', '.join(_available(situation)) or 'none'}",
        )
    return definition


def _fallback(situation: Situation) -> str:
    """Return the type that a call without one means."""
    is_worker = situation.is_coordinator and WORKER.name in situation.definitions
    return WORKER.name if is_worker else GENERAL_PURPOSE.name


def _unknown(asked: str, situation: Situation) -> SpawnRefused:
    same = [name for name in situation.definitions if plain_type(name) == plain_type(asked)]
    names = _available(situation)
    shown = {name: situation.definitions[name] for name in same or names}
    text = attrs.evolve(situation.definitions, by_name=shown).why_not(asked)
    if same:
        return SpawnRefused("ambiguous_type", text)
    if plain_type(asked) == FORK:
        text = f"forks are not available here; {text}"
    by_plain = {plain_type(name): name for name in names}
    near = [by_plain[plain] for plain in difflib.get_close_matches(plain_type(asked), by_plain, n=3)]
    return SpawnRefused("unknown_type", f"{text}; did you mean {' or '.join(near)}?" if near else text)


def _available(situation: Situation) -> list[str]:
    return [
        name
        for name in situation.definitions
        if _is_allowed(name, situation) and _rule_against(name, situation) is None
    ]


def _is_allowed(name: str, situation: Situation) -> bool:
    allowed = situation.allowed_types
    if allowed is None or not situation.caller.is_main:
        return True
    return any(_names_type(each, name) for each in allowed)


def _rule_against(name: str, situation: Situation) -> str | None:
    return next((rule for denied, rule in situation.denied_types.items() if _names_type(denied, name)), None)


def _names_type(pattern: str, name: str) -> bool:
    parts = plain_type(pattern).split("*")
    return re.fullmatch(".*".join(map(re.escape, parts)), plain_type(name), re.DOTALL) is not None


def _denied(name: str, rule: str) -> str:
    return (
        f"the agent type {name!r} is denied by the rule {rule}; nothing was started, and no other agent takes its place"
    )


# --- 5. limits --------------------------------------------------------------------------------------------------------


def _check_budget(situation: Situation) -> None:
    if not situation.limits.has_budget:
        raise SpawnRefused(
            "budget", "Budget limit reached: no more agents are started in this session. Finish with what you have."
        )


def _check_limits(situation: Situation) -> None:
    _check_budget(situation)
    limits, caller = situation.limits, situation.caller
    if caller.depth >= limits.max_depth:
        raise SpawnRefused(
            "depth",
            f"Subagent depth limit reached: agents go at most {limits.max_depth} levels below the main conversation, and "
            "this one is there already. Do the work yourself.",
        )
    if limits.running >= limits.max_running and not caller.is_user:
        raise SpawnRefused(
            "running",
            f"Concurrent subagent limit reached ({limits.running} running, at most {limits.max_running}). Do not retry: go "
            "on once one of them has ended, or do the work yourself.",
        )
    if limits.max_total is not None and limits.spawned >= limits.max_total:
        raise SpawnRefused(
            "total",
            f"Subagent limit of this session reached ({limits.spawned} started, at most {limits.max_total}). Do not retry: "
            "do the work yourself, or continue an agent that has ended with SendMessage.",
        )


# --- 6. and 7. where and how ------------------------------------------------------------------------------------------


def _no_host(call: AgentCall, definition: AgentDefinition) -> str:
    if call.isolation == REMOTE:
        return "no remote host is configured: leave out `isolation`, or use `worktree`"
    return (
        f'the agent type {definition.name!r} runs on a remote host, and none is configured: give `isolation: "worktree"`, or '
        "choose another type"
    )


def _is_background(call: AgentCall, definition: AgentDefinition, situation: Situation) -> bool:
    if situation.caller.is_teammate:
        is_asked = bool(call.run_in_background) and situation.background_enabled and not situation.is_fork_open
        if definition.is_background or is_asked:
            who = (
                f"the agent type {definition.name!r} always does" if definition.is_background else "`run_in_background`"
            )
            raise SpawnRefused(
                "teammate_background",
                f"In-process teammates cannot spawn agents that run in the background ({who}). Start one that you wait for.",
            )
        return False
    if not situation.background_enabled:
        return False
    is_forced = (
        situation.is_fork_open
        or definition.is_background
        or situation.is_coordinator
        or situation.is_assistant
        or situation.is_proactive
    )
    if is_forced or call.run_in_background is not None:
        return is_forced or bool(call.run_in_background)
    return situation.background_by_default
