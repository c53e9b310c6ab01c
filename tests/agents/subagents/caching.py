"""Ten forks of a long conversation against the loopback server, with a provider's prompt cache: what of each request was read.

The parent's 200 messages are said to a model of this process; from then on every request goes over a socket. Then: ten forks
with two requests each, wakes by their notices, a message to one of them, the session again from disk, and the same message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import AnswerLike, AnthropicModel, Call, ModelRequest, ModelStream, ScriptedModel, Usage
from greenroom.session import open_session
from greenroom.testing import MessagesServer, PromptCache, ReceivedRequest, cached_share, open_messages_server
from greenroom.tools import Tool, tool

FORKS: Final = 10
TURNS: Final = 99
"""Before the one that forks; its prompt and the calls of the forks are messages 199 and 200."""
CHARS: Final = 2_000
"""Of each message of the parent."""
DIRECTIVE: Final = "Look into part {number}. ".ljust(TURNS * 2 * CHARS // 200, "x")
"""Half a percent of what the parent's messages come to."""
MAIN: Final = AgentDefinition(name="lead", system_prompt="You lead a long conversation.")
_NUMBER: Final = re.compile(r"Look into part (\d+)\. ")


@attrs.frozen
class Billed:
    """One request: whose it was, and how its input was billed."""

    agent: str
    usage: Usage
    is_first: bool
    """Whether it is the first of its agent."""
    reread: float
    """Which part of what the agent's request before had sent was read; 0 for the first."""

    @property
    def share(self) -> float:
        """Which part of its input was read."""
        return cached_share(self.usage)


@attrs.frozen
class Phases:
    """The requests of each part of the run."""

    forks: tuple[Billed, ...]
    woken: tuple[Billed, ...]
    message: tuple[Billed, ...]
    resumed: tuple[Billed, ...]


class _Switch:
    """A model of this process at first, then the provider."""

    def __init__(self, provider: AnthropicModel) -> None:
        self.name = provider.name
        self.open = provider.open
        self._provider = provider
        self.is_real = False

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        if self.is_real:
            return self._provider.stream(request)
        return ScriptedModel(["y" * CHARS]).stream(request)


@tool(read_only=True)
async def look(part: int) -> str:
    """Look at a part.

    Args:
        part: Which.
    """
    return f"seen {part}"


TOOLS: Final[tuple[Tool, ...]] = (look, *AGENT_TOOLS)
SETTINGS: Final = {"delegation": {"fork": "explicit"}}


async def measure(folder: Path) -> Phases:
    """Run it all, and return what was billed."""
    async with open_messages_server(_reply, cache=PromptCache()) as server:
        model = _Switch(AnthropicModel("claude-loopback", api_key="key", base_url=server.url))
        folds: list[tuple[Billed, ...]] = []
        async with _session(model, folder) as session:
            for _ in range(TURNS):
                await session.run("z" * CHARS)
            model.is_real = True
            await session.run("Fork now.")
            await session.wait_quiet()
            billed = _billed(server)
            forks = tuple(bill for bill in billed if bill.agent != "main")
            woken = tuple(bill for bill in billed if bill.agent == "main")
            await session.run("Go on with it.")
            await session.wait_quiet()
            folds.append(_billed(server)[len(billed) :])
            run = session.run_folder
        async with _session(model, folder, resume=run) as session:
            before = len(server.billed)
            await session.run("Go on with it.")
            await session.wait_quiet()
            folds.append(_billed(server)[before:])
    return Phases(forks, woken, *folds)


@asynccontextmanager
async def _session(model: Any, folder: Path, resume: Path | None = None) -> AsyncIterator[Any]:
    async with open_session(
        model=model, cwd=folder, runs=folder / "runs", main=MAIN, tools=TOOLS, settings=SETTINGS, resume=resume
    ) as session:
        yield session


def _billed(server: MessagesServer) -> tuple[Billed, ...]:
    found: list[Billed] = []
    last: dict[str, Usage] = {}
    for request, usage in zip(server.requests, server.billed, strict=True):
        agent = _agent_of(request.body["messages"])
        before = last.get(agent)
        reread = usage.cache_read_input_tokens / before.total if before is not None else 0.0
        found.append(Billed(agent, usage, before is None, reread))
        last[agent] = usage
    return tuple(found)


# --- what the provider says ---------------------------------------------------------------------------------------------


def _blocks(messages: Sequence[Any]) -> list[Any]:
    return [block for message in messages for block in message["content"] if message["role"] == "user"]


def _agent_of(messages: Sequence[Any]) -> str:
    """Return `main`, or the number of a fork, by what it was told."""
    for block in _blocks(messages):
        if block["type"] == "text" and block["text"].startswith("<fork-boilerplate>"):
            found = _NUMBER.search(block["text"])
            assert found is not None
            return found[1]
    return "main"


def _reply(request: ReceivedRequest) -> AnswerLike:
    messages = request.body["messages"]
    if _agent_of(messages) != "main":
        has_looked = any(block["type"] == "tool_result" for block in messages[-1]["content"])
        if has_looked and messages[-1]["content"][-1]["type"] == "tool_result":
            return "A report."
        return Call("Look", {"part": len(messages)}, id=f"look_{len(messages)}")
    text = messages[-1]["content"][-1].get("text", "")
    if text == "Fork now.":
        return [
            Call(
                "Agent",
                {"description": "part", "prompt": DIRECTIVE.format(number=number), "subagent_type": "fork"},
                id=f"f{number}",
            )
            for number in range(FORKS)
        ]
    if text == "Go on with it.":
        told = next(block for block in _blocks(messages) if "Async agent launched" in str(block.get("content")))
        agent_id = re.search(r"agentId: (\w+)", str(told["content"]))
        assert agent_id is not None
        return Call("SendMessage", {"to": agent_id[1], "message": "And now?"}, id=f"s{len(messages)}")
    return "I see."
