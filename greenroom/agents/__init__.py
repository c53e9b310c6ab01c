"""Agents: actors whose turns are rounds of a model request and tool calls, with a conversation that is always valid."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents._agent import Agent, agent_spec
    from greenroom.agents._agent_run import Denial
    from greenroom.agents._answers import Answer, Resumption
    from greenroom.agents._blocks import INTERRUPTED, LOST_RESULT, encode_message, open_calls
    from greenroom.agents._conversation import Appended, OnMessage
    from greenroom.agents._conversation_loader import CONTINUE, Loaded, load_conversation
    from greenroom.agents._definition import (
        INHERIT,
        MAIN_NAME,
        AgentDefinition,
        AgentMcpServer,
        DefinitionOrigin,
        MemoryScope,
        compose_system_prompt,
    )
    from greenroom.agents._effect_tasks import TaskEffects
    from greenroom.agents._forked import ForkFailed, run_forked
    from greenroom.agents._inputs import Input, Note, Prompt, Work
    from greenroom.agents._line_marks import ITEMS, NOTICES
    from greenroom.agents._profile import AgentProfile, Lineage
    from greenroom.agents._repetition import ENDED_AFTER, NOTED_AFTER, RepeatedCall, RepetitionLimits
    from greenroom.agents._rounds import TOOL_UNAVAILABLE, OutOfTurns
    from greenroom.agents._servers import AgentServers, open_agent_servers
    from greenroom.agents._services import (
        AgentServices,
        CanUseTool,
        Listeners,
        OnStream,
        PermissionQuestion,
        TurnSettings,
    )
    from greenroom.agents._skill_tool import ForkSkill, SkillTool, preload_skills
    from greenroom.agents._state import AgentPorts, AgentState
    from greenroom.agents._structured import NoStructuredAnswer, checked_schema
    from greenroom.agents._turn_hooks import Hooking, PromptBlocked, StoppedByHook, latest_hooking
    from greenroom.agents._turn_state import TurnState
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents._agent": ("Agent", "agent_spec"),
            "greenroom.agents._agent_run": ("Denial",),
            "greenroom.agents._answers": ("Answer", "Resumption"),
            "greenroom.agents._blocks": ("INTERRUPTED", "LOST_RESULT", "encode_message", "open_calls"),
            "greenroom.agents._conversation": ("Appended", "OnMessage"),
            "greenroom.agents._conversation_loader": ("CONTINUE", "Loaded", "load_conversation"),
            "greenroom.agents._definition": (
                "INHERIT",
                "MAIN_NAME",
                "AgentDefinition",
                "AgentMcpServer",
                "DefinitionOrigin",
                "MemoryScope",
                "compose_system_prompt",
            ),
            "greenroom.agents._effect_tasks": ("TaskEffects",),
            "greenroom.agents._forked": ("ForkFailed", "run_forked"),
            "greenroom.agents._inputs": ("Input", "Note", "Prompt", "Work"),
            "greenroom.agents._line_marks": ("ITEMS", "NOTICES"),
            "greenroom.agents._profile": ("AgentProfile", "Lineage"),
            "greenroom.agents._repetition": ("ENDED_AFTER", "NOTED_AFTER", "RepeatedCall", "RepetitionLimits"),
            "greenroom.agents._rounds": ("TOOL_UNAVAILABLE", "OutOfTurns"),
            "greenroom.agents._servers": ("AgentServers", "open_agent_servers"),
            "greenroom.agents._services": (
                "AgentServices",
                "CanUseTool",
                "Listeners",
                "OnStream",
                "PermissionQuestion",
                "TurnSettings",
            ),
            "greenroom.agents._skill_tool": ("ForkSkill", "SkillTool", "preload_skills"),
            "greenroom.agents._state": ("AgentPorts", "AgentState"),
            "greenroom.agents._structured": ("NoStructuredAnswer", "checked_schema"),
            "greenroom.agents._turn_hooks": ("Hooking", "PromptBlocked", "StoppedByHook", "latest_hooking"),
            "greenroom.agents._turn_state": ("TurnState",),
        },
    )

__all__ = [
    "CONTINUE",
    "ENDED_AFTER",
    "INHERIT",
    "INTERRUPTED",
    "ITEMS",
    "LOST_RESULT",
    "MAIN_NAME",
    "NOTED_AFTER",
    "NOTICES",
    "TOOL_UNAVAILABLE",
    "Agent",
    "AgentDefinition",
    "AgentMcpServer",
    "AgentPorts",
    "AgentProfile",
    "AgentServers",
    "AgentServices",
    "AgentState",
    "Answer",
    "Appended",
    "CanUseTool",
    "DefinitionOrigin",
    "Denial",
    "ForkFailed",
    "ForkSkill",
    "Hooking",
    "Input",
    "Lineage",
    "Listeners",
    "Loaded",
    "MemoryScope",
    "NoStructuredAnswer",
    "Note",
    "OnMessage",
    "OnStream",
    "OutOfTurns",
    "PermissionQuestion",
    "Prompt",
    "PromptBlocked",
    "RepeatedCall",
    "RepetitionLimits",
    "Resumption",
    "SkillTool",
    "StoppedByHook",
    "TaskEffects",
    "TurnSettings",
    "TurnState",
    "Work",
    "agent_spec",
    "checked_schema",
    "compose_system_prompt",
    "encode_message",
    "latest_hooking",
    "load_conversation",
    "open_agent_servers",
    "open_calls",
    "preload_skills",
    "run_forked",
]
