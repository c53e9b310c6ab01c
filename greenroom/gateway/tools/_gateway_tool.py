"""A session tool: a function that returns an object, whose rules are those of the gateway."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.tools import FunctionTool, ToolContext

MAX_CHARACTERS: Final = 100_000
"""Characters of an answer."""


@final
@attrs.frozen(eq=False, repr=False)
class GatewayTool:
    """A tool of the gateway. Nobody is asked before a call: which sessions have it, and what it reaches, the configuration says."""

    function: FunctionTool
    acts_on_session: bool = True

    @property
    def name(self) -> str:
        """The name for the model."""
        return self.function.name

    @property
    def description(self) -> str:
        """The description for the model."""
        return self.function.description

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON schema of its input."""
        return self.function.input_schema

    @property
    def is_read_only(self) -> bool:
        """True if a call changes nothing."""
        return self.function.is_read_only

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Do the work and return the answer, a JSON object."""
        return await self.function.call(input, ctx)

    def __repr__(self) -> str:
        return f"<session tool {self.name}>"


def answer(**fields: Any) -> str:
    """Return an answer for a model."""
    return json.dumps(fields, ensure_ascii=False)


def refused(status: str, error: str, **fields: Any) -> str:
    """Return an answer that is a refusal."""
    return answer(status=status, error=error, **fields)
