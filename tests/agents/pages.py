"""Pages of playbooks for agents that start others: calls, answers by turn, and what a request says."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from greenroom.agents import AgentDefinition, AgentState
from greenroom.models import AnswerLike, Call, ModelRequest, TextBlock, ToolResultBlock
from greenroom.tools import Tool, ToolContext, tool

Page = Callable[[ModelRequest], AnswerLike]


def agent(prompt: str, **more: Any) -> Call:
    """Return a call of the tool Agent."""
    return Call("Agent", {"description": "some work", "prompt": prompt, **more})


def mail(to: str, message: object, **more: Any) -> Call:
    """Return a call of the tool SendMessage."""
    return Call("SendMessage", {"to": to, "message": message, **more})


def kind(name: str, **more: Any) -> AgentDefinition:
    """Return a definition whose agents a page of that name plays."""
    return AgentDefinition(name=name, system_prompt=f"You are {name}.", **more)


def last_texts(request: ModelRequest) -> str:
    """Return all that the last message of the user says."""
    return "\n".join(
        block.text if isinstance(block, TextBlock) else block.content
        for block in request.messages[-1].content
        if isinstance(block, TextBlock | ToolResultBlock)
    )


def asked(request: ModelRequest) -> str:
    """Return what the agent was told first."""
    block = request.messages[0].content[0]
    assert isinstance(block, TextBlock)
    return block.text


def answers_in(request: ModelRequest) -> int:
    """Return how often the model has answered."""
    return sum(message.role == "assistant" for message in request.messages)


def in_order(*answers: AnswerLike, otherwise: AnswerLike = "Noted.") -> Page:
    """Return a page that gives one answer after the other, by how often the model has spoken."""

    def page(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        return answers[said] if said < len(answers) else otherwise

    return page


def echo(request: ModelRequest) -> AnswerLike:
    """Report what was asked."""
    return f"Report on: {asked(request)}"


def texts_of(home: AgentState) -> list[str]:
    """Return what an agent's conversation holds, a text for each block that is one."""
    assert home.conversation is not None
    return [
        block.text if isinstance(block, TextBlock) else block.content
        for message in home.conversation.messages
        for block in message.content
        if isinstance(block, TextBlock | ToolResultBlock)
    ]


def message_texts(home: AgentState | None) -> list[str]:
    """Return what an agent's conversation holds, a text for each message."""
    assert home is not None
    assert home.conversation is not None
    return [
        "\n".join(
            block.text if isinstance(block, TextBlock) else getattr(block, "content", "") for block in message.content
        )
        for message in home.conversation.messages
    ]


def notices_in(messages: list[str]) -> list[str]:
    """Return the notices of ended tasks in the texts of messages."""
    return [part.split("</task-notification>")[0] for part in "\n".join(messages).split("<task-notification>")[1:]]


def make_build(folder: Path, seconds: float = math.inf) -> Tool:
    """Return a tool that starts a command in the background that takes so long."""

    @tool(name="Build")
    async def build(ctx: ToolContext) -> str:
        """Build in the background."""

        async def work() -> int:
            await trio.sleep(seconds)
            return 0

        ctx.background.start(
            work,
            id="b00000001",
            description="build",
            owner=ctx.actor,
            tool_use_id=ctx.tool_use_id,
            output_file=folder / "b00000001.output",
            command="build",
            is_background=True,
        )
        return "It builds."

    return build


@tool(name="Linger", read_only=True)
async def linger(seconds: int) -> str:
    """Take a while.

    Args:
        seconds: How long.
    """
    await trio.sleep(seconds)
    return "waited"


def slowly(request: ModelRequest) -> AnswerLike:
    """Look at something for a while, and report."""
    return Call("Linger", {"seconds": 100}) if len(request.messages) == 1 else f"Report on: {asked(request)}"
