"""What the engine is given: the model, the tools, the ports. Composed by the session, the same for each of its agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

import attrs

from greenroom.agents._conversation import Conversation
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._loading import Loaded
from greenroom.core import Blocking
from greenroom.models import Message, Model, ToolSchema, Usage
from greenroom.store import Transcript
from greenroom.tools import ToolContext, ToolSet


@final
@attrs.frozen(kw_only=True)
class AgentServices:
    """What all agents of a session share."""

    model: Model
    cwd: Path
    roots: tuple[Path, ...]
    blocking: Blocking
    open_transcript: Callable[[str], Transcript] | None = None
    """Makes the transcript of an agent, given its id; None keeps none."""


@final
@attrs.define(kw_only=True, eq=False)
class AgentHome:
    """What belongs to one agent for good, across its incarnations. Its conversation is the memory of it all."""

    definition: AgentDefinition
    services: AgentServices
    tools: ToolSet
    conversation: Conversation | None = None
    """Made when the agent first starts, because its transcript is named after its id."""
    usage: Usage = attrs.field(factory=Usage)
    activity: str = ""
    """What it is doing now, for people."""
    last_text: str = ""
    """The latest text of the turn that runs, or of the last one; what is there when a turn is cut."""
    history: Sequence[Message] = ()
    """Messages that a new conversation begins with; they are not written to its transcript."""
    loaded: Loaded | None = None
    """The agent's own conversation of an earlier process; its transcript is gone on with."""
    is_cut: bool = False
    """Whether the last turn ended with the incarnation, so that the next one has to go on with it."""
    _schemas: tuple[ToolSet, tuple[ToolSchema, ...]] | None = None

    def tool_context(self, agent: str) -> ToolContext:
        """Return what all tool calls of this agent have in common; each call gets its own with `for_call`."""

        def show(text: str) -> None:
            self.activity = text

        services = self.services
        return ToolContext(
            cwd=services.cwd,
            roots=services.roots,
            actor=agent,
            tool_use_id="",
            blocking=services.blocking,
            progress=show,
        )

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them; the same objects in every request, as long as the tools are the same."""
        if self._schemas is None or self._schemas[0] is not self.tools:
            made = tuple(ToolSchema(one.name, one.description, one.input_schema) for one in self.tools.schemas)
            self._schemas = (self.tools, made)
        return self._schemas[1]
