"""Resources that handlers run with, and the answers of asynchronous handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Final, Protocol, final

import attrs

from greenroom.containment import Secrets
from greenroom.core.ports import Ports
from greenroom.hooks._command import KILL_GRACE_S
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks._handler_ports import AgentAsker, McpCaller, PromptAsker, RuleMatcher, ToolNames
from greenroom.hooks._handler_updates import OnHook

SESSION_END_LIMIT_S: Final = 1.5


class StartSoon(Protocol):
    """Starter of tasks whose owner outlives the turn, such as `ctx.start_soon` of an actor."""

    def __call__(self, function: Callable[[], Awaitable[object]], /) -> None:
        """Start a task; its failure is reported to its owner."""
        ...


@final
@attrs.frozen(kw_only=True)
class LateAnswer:
    """The answer of an asynchronous handler, for the next turn."""

    event: HookEvent
    contexts: tuple[str, ...]
    system_messages: tuple[str, ...]
    wakes: bool
    """True if an idle agent is to take a turn for it (`asyncRewake` and exit code 2)."""


@final
@attrs.frozen(kw_only=True)
class HookServices:
    """Resources of the handlers. Composed by the session, the same for all of its agents."""

    project: Path
    """The folder that the session was opened in; it stays the same in worktrees."""
    environment: Mapping[str, str] = attrs.field(repr=False)
    """Variables of the machine and of the settings; commands get those that hold no secret, and the named ones."""
    named: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Current variables of the settings: commands get all of them."""
    pass_env: Collection[str] = ()
    """Names of variables that commands get although they hold secrets; `*` matches any characters."""
    secrets: Secrets = attrs.field(factory=Secrets)
    """Secrets that are masked in the output of commands."""
    ports: Ports = attrs.field(factory=Ports)
    emit: Callable[..., int] = lambda *_: 0
    """`recorder.emit_fields`."""
    rules: RuleMatcher = attrs.field(factory=ToolNames)
    mcp: McpCaller | None = None
    model: PromptAsker | None = None
    agent: AgentAsker | None = None
    overflow_folder: Path | None = None
    """Folder for texts that are too long for a conversation; None keeps their beginning only."""
    start_soon: StartSoon | None = None
    """Owner of asynchronous handlers; without one they do not run."""
    deliver: Callable[[LateAnswer], object] = lambda _: None
    """Called with the answer of an asynchronous handler, in its task."""
    on_hook: OnHook | None = None
    """Called with each update of a handler run, from start to end."""
    session_end_limit_s: float = SESSION_END_LIMIT_S
    """Shared time limit of all hooks of `SessionEnd`, in seconds, unless one of them is configured for longer."""
    kill_grace_s: float = KILL_GRACE_S
    """Seconds that a process may take to end after TERM, and after KILL."""
