"""Agents in a runtime of their own, on a scripted model, without a disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import (
    Agent,
    AgentDefinition,
    AgentPorts,
    AgentProfile,
    AgentServices,
    AgentState,
    Listeners,
    Loaded,
    TurnSettings,
    load_conversation,
)
from greenroom.agents._profile import ConversationStart
from greenroom.core.ports import InlineBlocking, Ports, SeededIds
from greenroom.hooks import HookRunner
from greenroom.models import Message, Model, ToolResultBlock
from greenroom.store import Transcript, TranscriptHeader
from greenroom.supervisor import ChildSpec, Runtime, open_runtime
from greenroom.tasks import Progress, Task, TaskInfo
from greenroom.testing import BareAgentPorts
from greenroom.tools import Tool, ToolSet, tool


@tool(read_only=True)
async def look(place: str) -> str:
    """Look at a place, for one second.

    Args:
        place: Where.
    """
    await trio.sleep(1)
    return f"saw {place}"


@tool
async def change(thing: str) -> str:
    """Change a thing, for one second.

    Args:
        thing: What.
    """
    await trio.sleep(1)
    return f"changed {thing}"


@tool(read_only=True)
async def stumble() -> str:
    """Fail with a bug."""
    raise ZeroDivisionError("a bug")


@attrs.define
class Bytes:
    """The transcript's file, in memory until it is read."""

    path: Path
    content: bytes = b""
    refuses: bool = False

    def open(self, agent_id: str) -> Transcript:
        header = TranscriptHeader(session_id="s", agent_id=agent_id, is_sidechain=False, cwd="/", version="0")
        wall = lambda: datetime(2026, 1, 1, tzinfo=UTC)  # noqa: E731
        return Transcript(self.path, header, write=self.write, ids=SeededIds(len(self.content)), wall=wall)

    def write(self, _: Path, content: bytes) -> None:
        if self.refuses:
            raise OSError(28, "No space left on device")
        self.content += content

    def load(self) -> Loaded:
        """Return what another process would read."""
        self.path.write_bytes(self.content)
        return load_conversation(self.path)


@attrs.frozen(kw_only=True)
class Stage:
    runtime: Runtime
    agent: Ref[Any]
    home: AgentState

    def begin_run(self) -> Progress:
        """Make the agent stand in a table of tasks, and return the counters of its run."""
        info = TaskInfo(id=self.agent.id, description="", owner="", output_file=Path("/output"))
        self.home.begin_run(Task(info=info, is_background=True, tell=lambda _: None, watch=lambda *_: None))
        assert self.home.run.progress is not None
        return self.home.run.progress

    @property
    def messages(self) -> tuple[Message, ...]:
        assert self.home.conversation is not None
        return self.home.conversation.messages


def field_names(kind: type[Any]) -> set[str]:
    """Return the names of the fields of a record."""
    return {field.name for field in attrs.fields(kind)}


@asynccontextmanager
async def open_stage(
    model: Model,
    *,
    tools: Iterable[Tool] = (look, change, stumble),
    max_turns: int = 50,
    kind: Callable[[AgentState], Agent] = Agent,
    hooks: HookRunner | None = None,
    loaded: Loaded | None = None,
    ports: AgentPorts | None = None,
    **services: Any,
) -> AsyncIterator[Stage]:
    """Open a runtime with one agent, with values of its services, their listeners and their settings; the model is checked for leftovers when the block ends."""
    definition = AgentDefinition(name="tester", system_prompt="You test.", max_turns=max_turns)
    listeners = {name: services.pop(name) for name in field_names(Listeners) & services.keys()}
    settings = {name: services.pop(name) for name in field_names(TurnSettings) & services.keys()}
    shared = AgentServices(
        model=model,
        cwd=Path("/"),
        roots=(Path("/"),),
        blocking=InlineBlocking(),
        listeners=Listeners(**listeners),
        settings=TurnSettings(**settings),
        **services,
    )
    home = AgentState(
        ports=BareAgentPorts() if ports is None else ports,
        profile=AgentProfile(definition=definition, tools=ToolSet(tools), hooks=hooks),
        services=shared,
        start=ConversationStart(loaded=loaded),
    )
    spec = ChildSpec(as_id=loaded.agent_id or None) if loaded is not None else None
    async with model.open(), open_runtime(ports=Ports(blocking=InlineBlocking())) as runtime:
        agent: Ref[Any] = await runtime.spawn(kind, home, name="agent", spec=spec)
        yield Stage(runtime=runtime, agent=agent, home=home)


def assert_acceptable(messages: Sequence[Message]) -> None:
    """Check the provider's rules: it starts with the user, and each tool use has its one result right behind it."""
    assert not messages or messages[0].role == "user"
    for number, message in enumerate(messages):
        assert message.content, f"message {number} is empty"
        results = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
        before = messages[number - 1].tool_uses if number else ()
        asked = [use.id for use in before] if number and messages[number - 1].role == "assistant" else []
        assert results == asked, f"message {number} answers {results}, but {asked} were asked"
    assert not (messages and messages[-1].role == "assistant" and messages[-1].tool_uses), "calls are open"
