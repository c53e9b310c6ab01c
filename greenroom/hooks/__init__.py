"""Hooks: handlers that users have run at the events of a session, and the outcome that their answers add up to."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.hooks._configuration import (
        HookSet,
        HookSource,
        ParsedHooks,
        SourceKind,
        merge_hooks,
        parse_callbacks,
        parse_hooks,
    )
    from greenroom.hooks._event_table import Exit, HandlerType, HookEvent, Refusal
    from greenroom.hooks._events import EVENTS, HookRan
    from greenroom.hooks._handler_ports import AgentAsker, HandlerFailed, PromptAsker
    from greenroom.hooks._handler_updates import HookStage, HookUpdate, OnHook
    from greenroom.hooks._hook_services import SESSION_END_LIMIT_S, HookServices, LateAnswer
    from greenroom.hooks._outcomes import (
        STOP_BLOCK_CAP,
        ElicitationReply,
        HookOutcome,
        Permission,
        StopGuard,
        read_outcome,
    )
    from greenroom.hooks._runner import HookRunner
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.hooks._configuration": (
                "HookSet",
                "HookSource",
                "ParsedHooks",
                "SourceKind",
                "merge_hooks",
                "parse_callbacks",
                "parse_hooks",
            ),
            "greenroom.hooks._event_table": ("Exit", "HandlerType", "HookEvent", "Refusal"),
            "greenroom.hooks._events": ("EVENTS", "HookRan"),
            "greenroom.hooks._handler_ports": ("AgentAsker", "HandlerFailed", "PromptAsker"),
            "greenroom.hooks._handler_updates": ("HookStage", "HookUpdate", "OnHook"),
            "greenroom.hooks._hook_services": ("HookServices", "LateAnswer", "SESSION_END_LIMIT_S"),
            "greenroom.hooks._outcomes": (
                "ElicitationReply",
                "HookOutcome",
                "Permission",
                "STOP_BLOCK_CAP",
                "StopGuard",
                "read_outcome",
            ),
            "greenroom.hooks._runner": ("HookRunner",),
        },
    )

__all__ = [
    "EVENTS",
    "SESSION_END_LIMIT_S",
    "STOP_BLOCK_CAP",
    "AgentAsker",
    "ElicitationReply",
    "Exit",
    "HandlerFailed",
    "HandlerType",
    "HookEvent",
    "HookOutcome",
    "HookRan",
    "HookRunner",
    "HookServices",
    "HookSet",
    "HookSource",
    "HookStage",
    "HookUpdate",
    "LateAnswer",
    "OnHook",
    "ParsedHooks",
    "Permission",
    "PromptAsker",
    "Refusal",
    "SourceKind",
    "StopGuard",
    "merge_hooks",
    "parse_callbacks",
    "parse_hooks",
    "read_outcome",
]
