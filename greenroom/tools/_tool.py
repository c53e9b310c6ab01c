"""A tool, and the set of tools that one agent has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, final

from greenroom.core import UsageError
from greenroom.tools._tool_context import ToolContext
from greenroom.tools._tool_errors import UnknownTool


class Tool(Protocol):
    """Something that a model can call."""

    @property
    def name(self) -> str:
        """The name for the model."""
        ...

    @property
    def description(self) -> str:
        """The description for the model."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON schema of its input; plain dicts and lists, never changed."""
        ...

    @property
    def is_read_only(self) -> bool:
        """True if a call changes nothing, so that it may run concurrently with other such calls."""
        ...

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Do the work and return the text for the model.

        Raises:
            ToolError: With the text of an error result.
        """
        ...


def records_itself(one: Tool) -> bool:
    """True if a tool records its effects itself before they happen, and reports its own error if it cannot."""
    return bool(getattr(one, "records_itself", False))


def acts_on_session(one: Tool) -> bool:
    """True if a tool of ours acts on the session only, whatever others of its name do: rules apply, but no question is
    asked.
    """
    return bool(getattr(one, "acts_on_session", False))


class ToolSchema(NamedTuple):
    """The description of one tool in a model request."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@final
class ToolSet(Mapping[str, Tool]):
    """Tools by name, in the order in which they were given.

    Raises:
        UsageError: Two tools have the same name.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise UsageError(f"two tools are called {tool.name!r}; a name stands for one tool")
            self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(self._tools)})"

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The descriptions for a model request; the same bytes every time, so that prompts stay cached."""
        return tuple(ToolSchema(tool.name, tool.description, tool.input_schema) for tool in self._tools.values())

    def find(self, name: str) -> Tool:
        """Return the tool that a model called.

        Raises:
            UnknownTool: There is none; the text lists what there is.
        """
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownTool(name, tuple(self._tools)) from None


SIDE_BY_SIDE: Final = 10
"""Maximum number of concurrent read-only calls; Claude Code's number."""


class NamedCall(Protocol):
    """A call as a model wrote it; only the name matters here."""

    @property
    def name(self) -> str:
        """The name of the tool."""
        ...


C = TypeVar("C", bound=NamedCall)


def plan_batches(calls: Sequence[C], tools: Mapping[str, Tool], cap: int = SIDE_BY_SIDE) -> list[tuple[C, ...]]:
    """Return the calls in batches: each batch runs side by side, one batch after the other.

    Args:
        calls: In the order in which the model wrote them.
        tools: The agent's tools; a call of a tool that is not there gets a batch of its own.
        cap: The most calls in one batch.
    """
    if cap < 1:
        raise UsageError(f"cap must be at least 1, got {cap!r}")
    batches: list[list[C]] = []
    is_open = False
    for call in calls:
        found = tools.get(call.name)
        joins = found is not None and found.is_read_only
        if joins and is_open and len(batches[-1]) < cap:
            batches[-1].append(call)
        else:
            batches.append([call])
        is_open = joins
    return [tuple(batch) for batch in batches]
