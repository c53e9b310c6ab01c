"""The actor runtime for teams of LLM agents."""

# A public name is looked up when it is first used, so that `import greenroom` and `greenroom --version` cost next to
# nothing. To add one: name it in both halves below and in `__all__`, and run `make exports`. The tests in
# tests/architecture hold the three lists to each other.

from greenroom._lazy_names import TYPE_CHECKING, lazy_names
from greenroom._version import __version__

if TYPE_CHECKING:
    from greenroom.actors import Behavior, Context, Down, Ref, Request, Signal, State
    from greenroom.agents import AgentDefinition, Answer
    from greenroom.agents.subagents import AGENT_TOOLS
    from greenroom.branches import branch
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
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.actors": ("Behavior", "Context", "Down", "Ref", "Request", "Signal", "State"),
            "greenroom.agents": ("AgentDefinition", "Answer"),
            "greenroom.agents.subagents": ("AGENT_TOOLS",),
            "greenroom.branches": ("branch",),
            "greenroom.core": (
                "ActorEnded",
                "AskTimedOut",
                "GreenroomError",
                "InternalError",
                "JournalError",
                "PeerError",
                "ProviderError",
                "RuntimeFailed",
                "StartFailed",
                "TurnFailed",
                "TurnKilled",
                "UsageError",
            ),
            "greenroom.mailbox": ("Delivery", "Lane"),
            "greenroom.models": ("AnthropicModel", "PlaybookModel", "ScriptedModel", "retrying"),
            "greenroom.reruns": ("rerun",),
            "greenroom.session": ("EventStream", "Session", "open_session"),
            "greenroom.supervisor": ("ChildSpec", "Restart", "Runtime", "Strategy", "SupervisorSpec"),
            "greenroom.tools": ("ToolContext", "ToolError", "tool"),
            "greenroom.trace": ("open_runtime",),
        },
    )

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
    "branch",
    "open_runtime",
    "open_session",
    "rerun",
    "retrying",
    "tool",
]
