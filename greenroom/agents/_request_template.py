"""The request of an agent without its messages: made once, and copied for each round."""

from __future__ import annotations

from functools import partial
from typing import Final, final

from greenroom.agents._grants import NOTHING_GRANTED, Grants
from greenroom.agents._profile import AgentProfile
from greenroom.agents._services import AgentServices
from greenroom.models import Message, ModelRequest, ToolSchema
from greenroom.tools import ToolSet

_BLANK: Final = ModelRequest(())


@final
class RequestTemplate:
    """Makes the requests of one agent: all that they have in common is said here and nowhere else.

    Args:
        services: The session's.
    """

    __slots__ = ("_grants", "_profile", "_request", "_schemas", "_services", "_tools")

    def __init__(self, services: AgentServices) -> None:
        self._services = services
        self._profile: AgentProfile | None = None
        self._grants: Grants = NOTHING_GRANTED
        self._request = _BLANK
        self._tools: ToolSet | None = None
        self._schemas: tuple[ToolSchema, ...] = ()

    def fill(self, profile: AgentProfile, grants: Grants, messages: tuple[Message, ...]) -> ModelRequest:
        """Return a request whose answer the listeners of the session get as it arrives.

        Args:
            profile: The agent's.
            grants: The grants of skills that hold now.
            messages: What the model reads.
        """
        # Compared by identity: a change of either of them is another object.
        if profile is not self._profile or grants is not self._grants:
            self._request = self._make(profile, grants)
            self._profile, self._grants = profile, grants
        return self._request.with_messages(messages)

    def _make(self, profile: AgentProfile, grants: Grants) -> ModelRequest:
        services = self._services
        definition, on_stream = profile.definition, services.listeners.on_stream
        return ModelRequest(
            messages=(),
            system=definition.system_prompt,
            tools=self._schemas_of(profile.tools),
            max_tokens=definition.max_tokens,
            definition=definition.name,
            agent=profile.id,
            model=grants.model or profile.model,
            effort=grants.effort or profile.effort,
            thinking=services.settings.thinking,
            on_event=None if on_stream is None else partial(on_stream, profile.id),
        )

    def _schemas_of(self, tools: ToolSet) -> tuple[ToolSchema, ...]:
        """Return the tools as the model sees them; the same objects in every request, as long as the tools are the same."""
        if tools is not self._tools:
            made = [ToolSchema(tool.name, tool.description, tool.input_schema) for tool in tools.schemas]
            self._tools, self._schemas = tools, tuple(made)
        return self._schemas
