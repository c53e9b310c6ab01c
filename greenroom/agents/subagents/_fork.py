"""Forks: children that begin with the conversation of their parent.

The requests of a fork begin with the bytes of its parent's requests: system prompt, tools, model, messages. The message
with the parent's calls is kept whole, and each call gets the same placeholder as its result, so siblings differ in the
last text block only. A fork cannot fork: it is recognized by its lineage, and if that is lost, by the tag in its first
message. The tag is recognized only in messages of the runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from greenroom.agents._profile import AgentProfile, ConversationStart, Lineage
from greenroom.agents._state import AgentState
from greenroom.core.texts import begins_with, wrap
from greenroom.models import Message, TextBlock, ToolResultBlock
from greenroom.permissions import Mode, Policy
from greenroom.tools import ToolSet

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
    """Return the first message of a fork, behind its parent's conversation.

    Args:
        prompt: What it is to do.
        place: Its worktree; empty where it works where its parent does.
        parent: The parent's folder.
    """
    parts = [_BOILERPLATE, _TRANSLATE.format(place=place, parent=parent) if place else "", prompt]
    return "\n\n".join(part for part in parts if part)


def has_fork_tag(messages: Sequence[Message]) -> bool:
    """Return True if a conversation has the tag of a fork, outside the output of tools and models."""
    return any(
        isinstance(block, TextBlock) and begins_with(block.text, TAG)
        for message in messages
        if message.role == "user"
        for block in message.content
    )


def placeholders(messages: Sequence[Message]) -> dict[str, ToolResultBlock]:
    """Return the results of the calls at the end of the parent's conversation, as a fork gets them."""
    calls = messages[-1].tool_uses if messages and messages[-1].role == "assistant" else ()
    return {call.id: ToolResultBlock(call.id, PLACEHOLDER) for call in calls}


def fork_home(parent: AgentState, lineage: Lineage) -> AgentState:
    """Return the state of a fork: everything that its parent sends now, and copies of what may change.

    Its questions go where its parent's go (mode `bubble`).
    """
    assert parent.conversation is not None
    messages = parent.conversation.messages
    profile = parent.profile
    skill_tool = profile.skill_tool
    if skill_tool is not None:  # what it was given of skills is its own from here on
        skill_tool = attrs.evolve(skill_tool, invoked=skill_tool.invoked.copy(), on_invoked=None)
    tools = [
        skill_tool if tool is profile.skill_tool and skill_tool is not None else tool for tool in profile.tools.values()
    ]
    definition = attrs.evolve(profile.definition, name=FORK, initial_prompt="", hooks={}, mcp_servers=())
    made = AgentProfile(
        definition=definition,
        tools=ToolSet(tools),
        model=parent.grants.model or profile.model,
        effort=parent.grants.effort or profile.effort,
        policy=_bubbling(profile.policy),
        mode_limit=parent.passed_limit,
        hooks=profile.hooks,
        is_child=True,
        lineage=lineage,
        place=parent.cwd,
        own_roots=profile.own_roots,
        more_roots=profile.more_roots,
        skill_tool=skill_tool,
    )
    start = ConversationStart(
        history=messages, open_results=placeholders(messages), keeps_history=True, shared=parent.conversation.shared
    )
    return AgentState(
        profile=made.under(profile),
        services=parent.services,
        ports=parent.ports.of_fork(parent),
        start=start,
        grants=parent.grants,
    )


def as_fork(home: AgentState, lineage: Lineage) -> AgentState:
    """Return the state of a resumed fork, from a rebuilt state of its parent, which is not in memory."""
    definition = attrs.evolve(home.profile.definition, name=FORK, initial_prompt="")
    home.replace(definition=definition, lineage=lineage, policy=_bubbling(home.profile.policy))
    return home


def _bubbling(policy: Policy | None) -> Policy | None:
    """Return rules under which questions go to the parent, unless nobody or a reviewer is asked."""
    return policy if policy is None or policy.mode in _KEPT else policy.with_mode(Mode.BUBBLE)


_KEPT: Final = frozenset((Mode.BYPASS, Mode.AUTO))
