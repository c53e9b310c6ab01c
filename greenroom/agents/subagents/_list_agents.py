"""The tool ListAgents: who can be written to, and whether other sessions take letters now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs

from greenroom.agents.subagents._messages import MAIN, Post
from greenroom.agents.subagents._peers import PeerStatus
from greenroom.agents.subagents._session_tool import SessionTool
from greenroom.core.texts import escape_text
from greenroom.tools import InvalidInput, Tool, ToolContext, validate

LIST_AGENTS: Final = "ListAgents"
MAX_LISTED: Final = 50
"""Maximum number of listed agents, and of listed sessions; the others are counted."""
SHOWN_CHARS: Final = 120
"""Maximum length of what models and people said about an agent."""
DESCRIPTION: Final = (
    "List who SendMessage reaches: the agents of this session, then other sessions of this user, each with the address for `to` and "
    "whether it takes messages now. A session that takes none refuses them, whatever is tried."
)
SCHEMA: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
PEER_TOOLS: Final[tuple[Tool, ...]] = (SessionTool(LIST_AGENTS, DESCRIPTION, SCHEMA),)
"""`ListAgents`, for the `tools` of `open_session`."""


@final
@attrs.frozen(kw_only=True)
class ListedAgent:
    """An agent of the session."""

    to: str
    """The address for `to`."""
    id: str
    state: str
    """`running`, `ended`, or `teammate`."""
    about: str = ""
    """Its type and task, on one line."""


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListAgents:
    """The tool of one session."""

    post: Post
    name: str = LIST_AGENTS
    description: str = DESCRIPTION
    input_schema: Mapping[str, Any] = attrs.field(factory=lambda: SCHEMA)
    is_read_only: bool = True

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Return what can be reached.

        Raises:
            InvalidInput: There are no arguments.
        """
        problems = validate(SCHEMA, input)
        if problems:
            raise InvalidInput(self.name, tuple(problems))
        agents = list(_agents(self.post, ctx.actor))
        peers = () if self.post.peers is None else await self.post.peers.survey()
        shown, sessions = agents[:MAX_LISTED], peers[:MAX_LISTED]
        left = {"agents": len(agents) - len(shown), "sessions": len(peers) - len(sessions)}
        ctx.attach(
            {
                "agents": [attrs.asdict(agent) for agent in shown],
                "sessions": [attrs.asdict(peer) for peer in sessions],
                "leftOut": left,
            }
        )
        lines = [
            *_block("Agents of this session:", [_agent_line(agent) for agent in shown], left["agents"]),
            *_block("Other sessions:", [_peer_line(peer) for peer in sessions], left["sessions"]),
        ]
        return "\n".join(lines) or "There is nobody else."


def _block(title: str, lines: list[str], left: int) -> list[str]:
    if not lines:
        return []
    return [title, *lines, *([f"- {left} more"] if left else [])]


def _agents(post: Post, caller: str) -> Iterator[ListedAgent]:
    """Yield the agents of a session but the caller: main, teammates, then sub-agents, running ones first."""
    pool = post.pool
    if pool.main is not None and caller != pool.main.id:
        yield ListedAgent(to=MAIN, id=pool.main.id, state="running", about="the agent of this session")
    for name in () if post.team is None else post.team.names:
        if caller.partition("@")[0] != name:
            yield ListedAgent(to=name, id=name, state="teammate")
    others = [agent for agent in pool.subagents.values() if agent.id != caller]
    for agent in sorted(others, key=lambda agent: not agent.is_running):
        is_named = pool.names.get(agent.order.name) == (agent.id,)
        yield ListedAgent(
            to=agent.order.name if is_named else agent.id,
            id=agent.id,
            state="running" if agent.is_running else "ended",
            about=_short(f"{agent.definition.name}: {agent.order.description}"),
        )


def _agent_line(agent: ListedAgent) -> str:
    name = f"{agent.to} ({agent.id})" if agent.to not in {agent.id, MAIN} else agent.to
    state = "ended; a message goes on with it" if agent.state == "ended" else agent.state
    return f"- {name}: {state}{f', {agent.about}' if agent.about else ''}"


def _peer_line(peer: PeerStatus) -> str:
    return f"- {_short(peer.address)}: {peer.state.value}{f' ({_short(peer.why)})' if peer.why else ''}"


def _short(text: str) -> str:
    line = " ".join(escape_text(text).split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"
