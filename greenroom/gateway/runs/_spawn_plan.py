"""Admission of a spawn: the checks in their order, and the settings of the child.

Rule 1: the first check that fails decides, and nothing exists then. Rule 2: the settings are copied at this moment: later changes of the
configuration or of the caller count for later spawns. Rule 3: a sub-agent starts no others.
Must not know: Trio, disk, sessions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._agents import AnnounceConfig
from greenroom.gateway.config._checks import agents_of
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import spawn_depth
from greenroom.gateway.routing._session_key import MAX_LABEL, SessionKey
from greenroom.gateway.runs._child_models import (
    THINKING,
    ChildModel,
    agent_settings,
    choose_child_model,
    choose_child_thinking,
)

ANY_AGENT: Final = "*"
AnnounceMode: TypeAlias = Literal["post", "turn", "silent"]


@final
@attrs.frozen(kw_only=True)
class SpawnRequest:
    """A request to start a sub-agent."""

    task: str
    """The work order: the child's first message; not empty."""
    label: str = ""
    agent: str = ""
    """Id of the agent that runs; empty for the caller's."""
    model: str = ""
    thinking: str = ""
    limit_s: float | None = None
    """Limit of the working time in seconds, 0 for none; None for that of the configuration."""
    cleanup: str = "keep"
    """`delete` archives the session once its result is delivered; any other value is `keep`."""


@final
@attrs.frozen
class SpawnRefusal:
    """A spawn that is not accepted."""

    status: Literal["forbidden", "error"]
    error: str


@final
@attrs.frozen(kw_only=True)
class SpawnPlan:
    """A spawn that is accepted, with everything that its child needs."""

    agent: str
    """Id of the agent that runs, in its one form."""
    task: str
    label: str
    model: ChildModel
    thinking: str
    """Empty for that of the model."""
    limit_s: float
    cleanup: Literal["keep", "delete"]
    announce: AnnounceMode
    warning: str = ""

    @property
    def terms(self) -> dict[str, Any]:
        """The values that are recorded with its run."""
        return {
            "task": self.task,
            "label": self.label,
            "cleanup": self.cleanup,
            "announce": self.announce,
            "limit_s": self.limit_s,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the child's session."""
        found: dict[str, Any] = {"model": self.model.name}
        if self.model.fallbacks:
            found["fallbacks"] = list(self.model.fallbacks)
        if self.thinking:
            found["thinking"] = self.thinking
        return found


@final
@attrs.frozen(kw_only=True)
class SpawnAnswer:
    """The answer to a spawn."""

    status: str
    """`accepted`, `forbidden` or `error`."""
    error: str = ""
    run: str = ""
    session: str = ""
    """Key of the child's session."""
    plan: SpawnPlan | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it in the words of the tool."""
        named = {"runId": self.run, "childSessionKey": self.session, "error": self.error}
        found: dict[str, Any] = {"status": self.status, **{key: value for key, value in named.items() if value}}
        if self.plan is not None and self.status == "accepted":
            if self.plan.model.is_set or self.plan.model.skipped:
                found["modelApplied"] = self.plan.model.is_set
            found |= {"resolvedModel": self.plan.model.name, "context": "isolated"}
            if self.plan.warning:
                found["warning"] = self.plan.warning
        return found


@final
@attrs.frozen(kw_only=True)
class SpawnTargets:
    """The agents that an agent may start."""

    requester: str
    allows_any: bool
    ids: tuple[str, ...]
    """The requester first, the others sorted; with `allows_any`, all that are configured."""

    def allows(self, agent: str) -> bool:
        """True if an agent may be started."""
        return self.allows_any or agent in self.ids


def spawn_targets(config: GatewayConfig, requester: str) -> SpawnTargets:
    """Return the agents that an agent may start; it may always start itself."""
    own = agent_settings(config, requester).subagents.allow_agents
    listed = own if own is not None else config.agents.defaults.subagents.allow_agents or ()
    allows_any = ANY_AGENT in (each.strip() for each in listed)
    ids = {normal_agent_id(each) for each in listed if each.strip() != ANY_AGENT}
    if allows_any:
        ids |= set(agents_of(config))
    return SpawnTargets(requester=requester, allows_any=allows_any, ids=(requester, *sorted(ids - {requester})))


def plan_spawn(
    config: GatewayConfig, registry: Registry, requester: SessionKey, request: SpawnRequest
) -> SpawnPlan | SpawnRefusal:
    """Decide whether a sub-agent is started, and how.

    Args:
        config: The configuration in force.
        registry: Everything that is on record.
        requester: Key of the calling session.
        request: The request.
    """
    own, defaults = agent_settings(config, requester.agent).subagents, config.agents.defaults.subagents
    depth = max(int(requester.is_child), spawn_depth(registry.sessions, str(requester)))
    if depth >= defaults.max_spawn_depth:
        at = f" at depth {depth}" if defaults.max_spawn_depth > 1 else ""
        return SpawnRefusal("forbidden", f"sessions_spawn is not allowed from a sub-agent session{at}")
    is_required = defaults.require_agent_id if own.require_agent_id is None else own.require_agent_id
    if is_required and not request.agent.strip():
        return SpawnRefusal("forbidden", "agentId must be given: the configuration requires it (see agents_list)")
    target = normal_agent_id(request.agent) if request.agent.strip() else requester.agent
    targets = spawn_targets(config, requester.agent)
    if not targets.allows(target):
        allowed = ", ".join(targets.ids[1:]) or "none"
        return SpawnRefusal("forbidden", f"agentId {target!r} is not allowed for sessions_spawn (allowed: {allowed})")
    over = _over_limit(config, registry, requester, target)
    if over:
        return SpawnRefusal("forbidden", over)
    if request.thinking and request.thinking.strip().lower() not in THINKING:
        legal = ", ".join(THINKING)
        return SpawnRefusal("error", f"invalid thinking level {request.thinking!r}; expected one of: {legal}")
    settings = caller_settings(registry, requester)
    model = choose_child_model(
        config, asked=request.model, target=target, caller=requester.agent, caller_settings=settings
    )
    thinking = choose_child_thinking(
        config,
        asked=request.thinking.strip().lower(),
        target=target,
        caller=requester.agent,
        caller_settings=settings,
    )
    limit_s = own.run_timeout_seconds if request.limit_s is None else request.limit_s
    return SpawnPlan(
        agent=target,
        task=request.task,
        label=request.label.strip()[:MAX_LABEL],
        model=model,
        thinking=thinking,
        limit_s=float(math.floor(defaults.run_timeout_seconds if limit_s is None else limit_s)),
        cleanup="delete" if request.cleanup == "delete" else "keep",
        announce=announce_settings(config, requester.agent).mode,
        warning=_warning(config, registry, requester, model),
    )


def announce_settings(config: GatewayConfig, agent: str) -> AnnounceConfig:
    """Return how the results of an agent's sub-agents are announced."""
    return agent_settings(config, agent).subagents.announce or config.agents.defaults.subagents.announce


def caller_settings(registry: Registry, key: SessionKey) -> Mapping[str, Any]:
    """Return the settings of a session; none if it is unknown."""
    row = registry.sessions.get(str(key))
    return {} if row is None else row.settings


def undelivered(registry: Registry, requester: str) -> int:
    """Return the number of ends of a session's runs that nobody was told yet."""
    return sum(
        not row.delivery.is_settled and registry.runs[id_].requester == requester
        for id_, row in registry.completions.items()
    )


def _over_limit(config: GatewayConfig, registry: Registry, requester: SessionKey, target: str) -> str:
    """Return the limit that another child would exceed, with the numbers; empty for none."""
    limits, key = config.limits, str(requester)
    own = agent_settings(config, requester.agent).subagents.max_children_per_agent
    most = config.agents.defaults.subagents.max_children_per_agent if own is None else own
    children = [run for run in registry.runs.values() if not run.is_ended and run.announce != "none"]
    mine = sum(run.requester == key for run in children)
    if mine >= most:
        return f"this session has {mine} sub-agents that have not ended (maxChildrenPerAgent: {most}); wait or stop one"
    of_agent = sum(agent_of(run.session) == target for run in children)
    if of_agent >= limits.children_per_agent:
        return (
            f"agent {target!r} has {of_agent} sub-agents that have not ended"
            f" (limits.childrenPerAgent: {limits.children_per_agent})"
        )
    waiting = undelivered(registry, key)
    if waiting >= limits.undelivered_max:
        return (
            f"{waiting} results of this session are not delivered (limits.undeliveredMax: {limits.undelivered_max});"
            " an operator has to retry or dismiss them"
        )
    if len(registry.sessions) < limits.known_sessions:
        return ""
    rows = registry.sessions.values()
    known = sum(row.state is not SessionState.ARCHIVED and agent_of(row.key) == target for row in rows)
    if known >= limits.known_sessions:
        return f"agent {target!r} has {known} sessions (limits.knownSessions: {limits.known_sessions})"
    return ""


def _warning(config: GatewayConfig, registry: Registry, requester: SessionKey, model: ChildModel) -> str:
    found = []
    if model.skipped:
        skipped = ", ".join(map(repr, model.skipped))
        found.append(f"cannot use model {skipped}: no such model is configured; the child runs on {model.name!r}")
    waiting = undelivered(registry, str(requester))
    if waiting >= config.limits.undelivered_warn:
        found.append(f"{waiting} results of this session are not delivered yet")
    return "; ".join(found)


def agent_of(key: str) -> str:
    """Return the agent id of a session key."""
    return key.split(":", 2)[1] if key.startswith("agent:") else ""
