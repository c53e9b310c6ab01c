"""Forks: children that begin with all that their parent knows.

Rule 1: what a fork sends begins with the bytes of its parent's own requests: system prompt, tools, model, messages. Rule 2: the
message that holds the parent's calls is kept whole, and each of its calls has the same placeholder for a result; siblings
differ in the last text block alone. Rule 3: a fork does not fork: it is known by where it came from, and where that is lost,
by the tag in what it was told first. The tag counts only in what the runtime said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from greenroom.agents._services import AgentHome, Lineage
from greenroom.core import begins_with, wrap
from greenroom.models import Message, TextBlock, ToolResultBlock
from greenroom.permissions import Mode, Policy
from greenroom.tools import ToolSet, Workspace

FORK: Final = "fork"
PLACEHOLDER: Final = "Fork started — processing in background"
TAG: Final = "fork-boilerplate"
_BOILERPLATE: Final = wrap(
    TAG,
    """\
You are a fork: a worker that begins with this whole conversation. You are not the agent that wrote it.
- Do the work yourself, with your own tools. Do not start agents and do not fork: that is refused here.
- Do what the directive says and nothing beyond it; ask nobody anything.
- End with a short report of what you did or found. Only the report is read, by the agent whose conversation this is.""",
)
_TRANSLATE: Final = (
    "You work in a worktree of your own, {place}: a separate checkout of the same repository. Paths in the conversation "
    "belong to the parent's folder, {parent}; translate them to yours, and read a file again before you change it."
)


def directive(prompt: str, *, place: str = "", parent: str = "") -> str:
    """Return what a fork is told, behind its parent's conversation.

    Args:
        prompt: What it is to do.
        place: Its worktree; empty where it works where its parent does.
        parent: The parent's folder.
    """
    parts = [_BOILERPLATE, _TRANSLATE.format(place=place, parent=parent) if place else "", prompt]
    return "\n\n".join(part for part in parts if part)


def is_told_to_be_a_fork(messages: Sequence[Message]) -> bool:
    """Whether the conversation is a fork's, by what it was told; what tools printed and models said does not count."""
    return any(
        isinstance(block, TextBlock) and begins_with(block.text, TAG)
        for message in messages
        if message.role == "user"
        for block in message.content
    )


def placeholders(messages: Sequence[Message]) -> dict[str, ToolResultBlock]:
    """Return the results that the calls at the end of the parent's conversation have in a fork's."""
    calls = messages[-1].tool_uses if messages and messages[-1].role == "assistant" else ()
    return {call.id: ToolResultBlock(call.id, PLACEHOLDER) for call in calls}


def fork_home(parent: AgentHome, lineage: Lineage) -> AgentHome:
    """Return what belongs to a fork: all that its parent sends, as it is in this moment, and copies of what may change.

    Its questions go to whoever answers its parent's (mode `bubble`).
    """
    assert parent.conversation is not None
    messages = parent.conversation.messages
    skill_tool = parent.skill_tool
    if skill_tool is not None:  # what it was given of skills is its own from here on
        skill_tool = attrs.evolve(skill_tool, invoked=skill_tool.invoked.copy(), on_invoked=None)
    tools = [
        skill_tool if one is parent.skill_tool and skill_tool is not None else one for one in parent.tools.values()
    ]
    home = AgentHome(
        definition=attrs.evolve(parent.definition, name=FORK, initial_prompt="", hooks={}, mcp_servers=()),
        services=parent.services,
        ports=parent.ports.of_fork(parent),
        tools=ToolSet(tools),
        history=messages,
        open_results=placeholders(messages),
        keeps_history=True,
        shared=parent.conversation.shared,
        model=parent.grants.model or parent.model,
        effort=parent.grants.effort or parent.effort,
        policy=_bubbling(parent.policy),
        hooks=parent.hooks,
        is_child=True,
        lineage=lineage,
        place=parent.cwd,
        own_roots=parent.own_roots,
        more_roots=parent.more_roots,
        workspace=Workspace(),
        skill_tool=skill_tool,
        grants=parent.grants,
    )
    home.stand_under(parent)
    return home


def as_fork(home: AgentHome, lineage: Lineage) -> AgentHome:
    """Return what was made as its parent is made again, for a fork that is gone on with while that one is not in memory."""
    home.definition = attrs.evolve(home.definition, name=FORK, initial_prompt="")
    home.lineage, home.policy = lineage, _bubbling(home.policy)
    return home


def _bubbling(policy: Policy | None) -> Policy | None:
    """Return rules under which questions go up; where nobody is asked anything, or a reviewer is, that stays so."""
    return policy if policy is None or policy.mode in _KEPT else policy.with_mode(Mode.BUBBLE)


_KEPT: Final = frozenset((Mode.BYPASS, Mode.AUTO))
