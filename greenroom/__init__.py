"""The actor runtime for teams of LLM agents."""

# A public name is looked up when it is first used, so that `import greenroom` and `greenroom --version` cost next to
# nothing. To add one: import it under TYPE_CHECKING (for readers and type checkers), name its module in `_MODULE_OF`,
# put it into `__all__`, and run `make exports`. The tests in tests/architecture hold the three lists to each other.

from greenroom._version import __version__

# Not from `typing`, whose import takes longer than all the rest; checkers know the name wherever it comes from.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from greenroom.actors import Behavior, Context, Down, Ref, Request, Signal, State
    from greenroom.agents import AgentDefinition, Answer
    from greenroom.agents.subagents import AGENT_TOOLS
    from greenroom.core import (
        ActorEnded,
        AskTimedOut,
        GreenroomError,
        InternalError,
        JournalError,
        PeerError,
        ProviderError,
        RuntimeFailed,
        StartFailed,
        TurnFailed,
        TurnKilled,
        UsageError,
    )
    from greenroom.mailbox import Delivery, Lane
    from greenroom.models import AnthropicModel, PlaybookModel, ScriptedModel, retrying
    from greenroom.reruns import rerun
    from greenroom.session import EventStream, Session, open_session
    from greenroom.supervisor import ChildSpec, Restart, Runtime, Strategy, SupervisorSpec
    from greenroom.tools import ToolContext, ToolError, tool
    from greenroom.trace import open_runtime

_MODULE_OF: "Mapping[str, str]" = {
    "AGENT_TOOLS": "greenroom.agents.subagents",
    "ActorEnded": "greenroom.core",
    "AgentDefinition": "greenroom.agents",
    "Answer": "greenroom.agents",
    "AnthropicModel": "greenroom.models",
    "AskTimedOut": "greenroom.core",
    "Behavior": "greenroom.actors",
    "ChildSpec": "greenroom.supervisor",
    "Context": "greenroom.actors",
    "Delivery": "greenroom.mailbox",
    "Down": "greenroom.actors",
    "EventStream": "greenroom.session",
    "GreenroomError": "greenroom.core",
    "InternalError": "greenroom.core",
    "JournalError": "greenroom.core",
    "Lane": "greenroom.mailbox",
    "PeerError": "greenroom.core",
    "PlaybookModel": "greenroom.models",
    "ProviderError": "greenroom.core",
    "Ref": "greenroom.actors",
    "Request": "greenroom.actors",
    "Restart": "greenroom.supervisor",
    "Runtime": "greenroom.supervisor",
    "RuntimeFailed": "greenroom.core",
    "ScriptedModel": "greenroom.models",
    "Session": "greenroom.session",
    "Signal": "greenroom.actors",
    "StartFailed": "greenroom.core",
    "State": "greenroom.actors",
    "Strategy": "greenroom.supervisor",
    "SupervisorSpec": "greenroom.supervisor",
    "ToolContext": "greenroom.tools",
    "ToolError": "greenroom.tools",
    "TurnFailed": "greenroom.core",
    "TurnKilled": "greenroom.core",
    "UsageError": "greenroom.core",
    "open_runtime": "greenroom.trace",
    "open_session": "greenroom.session",
    "rerun": "greenroom.reruns",
    "retrying": "greenroom.models",
    "tool": "greenroom.tools",
}

__all__ = [
    "AGENT_TOOLS",
    "ActorEnded",
    "AgentDefinition",
    "Answer",
    "AnthropicModel",
    "AskTimedOut",
    "Behavior",
    "ChildSpec",
    "Context",
    "Delivery",
    "Down",
    "EventStream",
    "GreenroomError",
    "InternalError",
    "JournalError",
    "Lane",
    "PeerError",
    "PlaybookModel",
    "ProviderError",
    "Ref",
    "Request",
    "Restart",
    "Runtime",
    "RuntimeFailed",
    "ScriptedModel",
    "Session",
    "Signal",
    "StartFailed",
    "State",
    "Strategy",
    "SupervisorSpec",
    "ToolContext",
    "ToolError",
    "TurnFailed",
    "TurnKilled",
    "UsageError",
    "__version__",
    "open_runtime",
    "open_session",
    "rerun",
    "retrying",
    "tool",
]

if not TYPE_CHECKING:  # checkers would believe that every name exists

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value  # from now on without this function
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
