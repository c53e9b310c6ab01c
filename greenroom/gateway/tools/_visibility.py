"""Visibility of sessions for other sessions' agents.

Rule 1: a session sees itself. Rule 2: a session that hears anybody but owners, and whatever descends from one, sees at most its own tree,
whatever the configuration says; so does a sandboxed one. Rule 3: sessions of other agents need the agent-to-agent policy besides.
Must not know: Trio, disk, transcripts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._child_models import agent_settings
from greenroom.gateway.runs._spawn_plan import agent_of

VisibleScope: TypeAlias = Literal["self", "tree", "agent", "all"]
MAX_DEPTH: Final = 32
"""Longest chain of sessions that spawned each other: a longer one is damage."""


@final
@attrs.frozen(kw_only=True)
class Viewer:
    """A session that looks at others."""

    key: str
    scope: VisibleScope
    """The sessions that it sees at most."""
    why: str
    """The reason of that scope, for refusals."""


def viewer_of(config: GatewayConfig, caller: SessionKey, *, hears_others: bool) -> Viewer:
    """Return what a session sees.

    Args:
        config: The configuration in force.
        caller: The session.
        hears_others: True if others than owners write to it, or to one that it descends from.
    """
    scope: VisibleScope = config.tools.sessions.visibility
    why = f"tools.sessions.visibility is {scope!r}"
    if scope in {"agent", "all"} and hears_others:
        return Viewer(key=str(caller), scope="tree", why="others than owners write to this session")
    if scope in {"agent", "all"} and _is_narrowed(config, caller):
        return Viewer(key=str(caller), scope="tree", why="this session is sandboxed")
    return Viewer(key=str(caller), scope=scope, why=why)


def refusal(config: GatewayConfig, registry: Registry, viewer: Viewer, target: str) -> str:
    """Return why a session does not see another one; empty if it does."""
    if target == viewer.key:
        return ""
    if viewer.scope == "self":
        return f"session {target!r} is not visible from here: {viewer.why}"
    if descends(registry, target, viewer.key):
        return ""
    if viewer.scope == "tree":
        return f"session {target!r} is not visible from here: {viewer.why}"
    mine, other = agent_of(viewer.key), agent_of(target)
    if mine == other:
        return ""
    policy = config.tools.agent_to_agent
    if viewer.scope != "all":
        return f"session {target!r} belongs to agent {other!r}: {viewer.why}"
    if not policy.enabled:
        return f"session {target!r} belongs to agent {other!r}: tools.agentToAgent.enabled is false"
    if not (_takes_part(policy.allow, mine) and _takes_part(policy.allow, other)):
        return f"session {target!r} belongs to agent {other!r}: tools.agentToAgent.allow does not name both"
    return ""


def descends(registry: Registry, key: str, ancestor: str) -> bool:
    """True if a session was spawned by another one, directly or through others."""
    for _ in range(MAX_DEPTH):
        row = registry.sessions.get(key)
        if row is None or not row.spawned_by:
            return False
        key = row.spawned_by
        if key == ancestor:
            return True
    return False


def _is_narrowed(config: GatewayConfig, caller: SessionKey) -> bool:
    own, defaults = agent_settings(config, caller.agent).sandbox, config.agents.defaults.sandbox
    mode = own.mode or defaults.mode or "off"
    visibility = own.session_tools_visibility or defaults.session_tools_visibility or "spawned"
    return visibility == "spawned" and (mode == "all" or (mode == "children" and caller.is_child))


def _takes_part(patterns: tuple[str, ...], agent: str) -> bool:
    return not patterns or any(fnmatchcase(agent, pattern.strip().lower()) for pattern in patterns)
