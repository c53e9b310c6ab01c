"""Events of agents, and the view that is folded from them."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.events._agent_events import (
        EVENTS,
        AgentDefined,
        AgentNoticed,
        AgentReviewed,
        AgentSpoke,
        AgentSummarized,
        CallDeferred,
        CompactBegan,
        CompactEnded,
        ForkBegan,
        ForkEnded,
        ModelBegan,
        ModelEnded,
        ModelRetried,
        PermissionAnswered,
        PermissionAsked,
        PermissionDenied,
        PermissionReviewed,
        ToolBegan,
        ToolEnded,
    )
    from greenroom.agents.events._agent_view import FOLDS
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.events._agent_events": (
                "EVENTS",
                "AgentDefined",
                "AgentNoticed",
                "AgentReviewed",
                "AgentSpoke",
                "AgentSummarized",
                "CallDeferred",
                "CompactBegan",
                "CompactEnded",
                "ForkBegan",
                "ForkEnded",
                "ModelBegan",
                "ModelEnded",
                "ModelRetried",
                "PermissionAnswered",
                "PermissionAsked",
                "PermissionDenied",
                "PermissionReviewed",
                "ToolBegan",
                "ToolEnded",
            ),
            "greenroom.agents.events._agent_view": ("FOLDS",),
        },
    )

__all__ = [
    "EVENTS",
    "FOLDS",
    "AgentDefined",
    "AgentNoticed",
    "AgentReviewed",
    "AgentSpoke",
    "AgentSummarized",
    "CallDeferred",
    "CompactBegan",
    "CompactEnded",
    "ForkBegan",
    "ForkEnded",
    "ModelBegan",
    "ModelEnded",
    "ModelRetried",
    "PermissionAnswered",
    "PermissionAsked",
    "PermissionDenied",
    "PermissionReviewed",
    "ToolBegan",
    "ToolEnded",
]
