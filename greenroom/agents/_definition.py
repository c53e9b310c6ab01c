"""The definition of a kind of agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.sources import Scope, frozen
from greenroom.core.validation import checked

MAIN_NAME: Final = "main"
"""The name of the main agent of a session that names none."""

MAX_TURNS: Final = 200
"""Model requests in one turn unless the definition says otherwise: a loop that never ends costs money."""
INHERIT: Final = "inherit"
"""The model of a definition that takes its caller's."""


class MemoryScope(StrEnum):
    """The scope in which an agent keeps its memory."""

    USER = "user"
    """With the user: the same in every project."""
    PROJECT = "project"
    """With the project: to be shared with those who work on it."""
    LOCAL = "local"
    """With this checkout of the project."""


@final
@attrs.frozen(hash=False, field_transformer=checked)
class AgentMcpServer:
    """A server whose tools an agent has."""

    name: str
    config: Mapping[str, Any] | None = attrs.field(default=None, converter=frozen)
    """The configuration of a server that lives and dies with the agent; None for the session's own of that name."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class DefinitionOrigin:
    """The origin of a definition."""

    scope: Scope = Scope.CLI
    source: str = ""
    """The file, or a word such as `--agents`; empty for one made by a program."""
    folder: Path | None = None
    """The folder that has to be trusted before hooks and servers of the definition run; None where nothing has to."""


@final
@attrs.frozen(kw_only=True, hash=False, repr=False, field_transformer=checked)
class AgentDefinition:
    """A kind of agent."""

    name: str = attrs.field()
    description: str = ""
    """Its purpose, for lists and for choosing an agent."""
    when_to_use: str = ""
    """An explicit hint on when to choose it; the description where there is none."""
    system_prompt: str = ""
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use; None for all that the session has."""
    disallowed_tools: tuple[str, ...] = ()
    """Names that are taken away first; `Tool(pattern)` denies the calls that fit and leaves the tool."""
    model: str = INHERIT
    """An alias, the id of a model, or `inherit`."""
    permission_mode: str | None = None
    """The mode of its permissions; None leaves it to the session's setting."""
    max_turns: int = attrs.field(default=MAX_TURNS)
    """Model requests in one turn (the field's name for it); the turn fails when they are used up."""
    max_tokens: int = 8_192
    """The most that the model may write in one answer."""
    skills: tuple[str, ...] = ()
    """Skills whose text it starts with."""
    mcp_servers: tuple[AgentMcpServer, ...] = ()
    required_mcp_servers: tuple[str, ...] = ()
    """Patterns of servers without whose tools it does not start."""
    hooks: Mapping[str, Any] = attrs.field(factory=dict, converter=frozen)
    """Hooks that hold while it runs."""
    memory: MemoryScope | None = None
    is_background: bool = False
    """True if it always runs in the background."""
    effort: str | int | None = None
    """The effort of the model: a word or a number; None for the session's."""
    isolation: str | None = None
    """`worktree` or `remote`; None for where its caller works."""
    color: str | None = None
    initial_prompt: str = ""
    """Goes before what the agent is told first."""
    critical_reminder: str = ""
    """Repeated to the model in every turn."""
    reads_instructions: bool = True
    """True if it gets the project's instruction files; the built-in searchers do without. No file can set it."""
    more_roots: tuple[Path, ...] = ()
    """Folders and files that it may work in besides the session's. No file can set it."""
    answer_schema: Mapping[str, Any] | None = None
    """JSON Schema of the object that it answers a person with, by a tool that it has for it; see `Answer.structured`. None: it
    answers in words. No file can set it."""
    origin: DefinitionOrigin = attrs.field(factory=DefinitionOrigin, eq=False)

    def __repr__(self) -> str:
        """Show the name, and what differs from the defaults."""
        plain = AgentDefinition(name=self.name)
        names = (field.name for field in attrs.fields(AgentDefinition) if field.eq)
        changed = [name for name in names if name == "name" or getattr(self, name) != getattr(plain, name)]
        return f"AgentDefinition({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    @name.validator
    def _check_name(self, _: Any, value: str) -> None:
        if not value or "/" in value:
            raise UsageError(f"an agent's name is not empty and holds no '/': {value!r}")

    @max_turns.validator
    def _check_max_turns(self, _: Any, value: int) -> None:
        if value < 1:
            raise UsageError(f"max_turns has to be at least 1, not {value!r}")

    @property
    def plugin(self) -> str:
        """The plugin that it comes from; empty for none."""
        return self.name.partition(":")[0] if self.origin.scope is Scope.PLUGIN else ""

    def tools_in_words(self) -> str:
        """Return which tools it may use, as a list of agents says it: `Read, Grep`, `All tools except Bash`, `All tools`.

        With both lists the rest is named; a denied pattern such as `Bash(rm *)` takes no tool away.
        """
        denied = tuple(disallowed_tool for disallowed_tool in self.disallowed_tools if "(" not in disallowed_tool)
        if self.tools is not None:
            return ", ".join(tool for tool in self.tools if tool not in denied) or "No tools"
        return f"All tools except {', '.join(denied)}" if denied else "All tools"

    def runs_own_code(self, trusted: Iterable[Path]) -> bool:
        """Return whether its hooks and its own servers may run: a project's only once that very folder is trusted.

        Args:
            trusted: The folders that the user has trusted. A trusted parent is not enough.
        """
        return self.origin.folder is None or self.origin.folder in set(trusted)


def compose_system_prompt(
    definition: AgentDefinition, *, environment: str = "", instructions: str = "", memory: str = "", skills: str = ""
) -> str:
    """Return what the model is told before the conversation.

    Args:
        definition: Of the agent; one that reads no instructions gets none.
        environment: Where it works, on what, on which day.
        instructions: What `render_instructions` made.
        memory: What `render_memory` made.
        skills: What `preload_skills` made.
    """
    wanted = instructions if definition.reads_instructions else ""
    parts = (definition.system_prompt, environment, wanted, memory, skills)
    return "\n\n".join(part.strip() for part in parts if part.strip())
