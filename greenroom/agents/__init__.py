"""Agents: actors whose turns are rounds of a model request and tool calls, with a conversation that is always valid."""

from greenroom.agents._agent import Agent
from greenroom.agents._blocks import INTERRUPTED, decode_message, encode_message, open_calls, results_for
from greenroom.agents._compaction import (
    Compact,
    Compacted,
    CompactionBlocked,
    CompactionFailed,
    CompactionSettings,
    CompactionTrigger,
    ContextRefilled,
    compaction_from_environment,
)
from greenroom.agents._conversation import NOTICES, Appended, Conversation, OnMessage
from greenroom.agents._definition import INHERIT, MAX_TURNS, AgentDefinition, AgentMcpServer, MemoryScope, Origin
from greenroom.agents._events import (
    EVENTS,
    AgentDefined,
    AgentNoticed,
    AgentSpoke,
    CompactBegan,
    CompactEnded,
    ForkBegan,
    ForkEnded,
    ModelBegan,
    ModelEnded,
    PermissionAnswered,
    PermissionAsked,
    PermissionDenied,
    ToolBegan,
    ToolEnded,
)
from greenroom.agents._fold import FOLDS, AgentView
from greenroom.agents._forked import ForkedResult, ForkFailed, RunCall, make_request, run_forked
from greenroom.agents._hooking import Hooking, StoppedByHook
from greenroom.agents._inputs import Answer, Input, Note, Prompt, Work, render
from greenroom.agents._loading import CONTINUE, Loaded, load_conversation
from greenroom.agents._repair import Repaired, faults_of, repair
from greenroom.agents._servers import AgentServers, open_agent_servers
from greenroom.agents._services import AgentHome, AgentServices, CanUseTool, Denial, Lineage, Question
from greenroom.agents._skill_tool import ForkSkill, Preloaded, SkillTool, preload_skills
from greenroom.agents._system_prompt import compose_system_prompt
from greenroom.agents._turns import AgentTurn, OutOfTurns, PromptBlocked

__all__ = [
    "CONTINUE",
    "EVENTS",
    "FOLDS",
    "INHERIT",
    "INTERRUPTED",
    "MAX_TURNS",
    "NOTICES",
    "Agent",
    "AgentDefined",
    "AgentDefinition",
    "AgentHome",
    "AgentMcpServer",
    "AgentNoticed",
    "AgentServers",
    "AgentServices",
    "AgentSpoke",
    "AgentTurn",
    "AgentView",
    "Answer",
    "Appended",
    "CanUseTool",
    "Compact",
    "CompactBegan",
    "CompactEnded",
    "Compacted",
    "CompactionBlocked",
    "CompactionFailed",
    "CompactionSettings",
    "CompactionTrigger",
    "ContextRefilled",
    "Conversation",
    "Denial",
    "ForkBegan",
    "ForkEnded",
    "ForkFailed",
    "ForkSkill",
    "ForkedResult",
    "Hooking",
    "Input",
    "Lineage",
    "Loaded",
    "MemoryScope",
    "ModelBegan",
    "ModelEnded",
    "Note",
    "OnMessage",
    "Origin",
    "OutOfTurns",
    "PermissionAnswered",
    "PermissionAsked",
    "PermissionDenied",
    "Preloaded",
    "Prompt",
    "PromptBlocked",
    "Question",
    "Repaired",
    "RunCall",
    "SkillTool",
    "StoppedByHook",
    "ToolBegan",
    "ToolEnded",
    "Work",
    "compaction_from_environment",
    "compose_system_prompt",
    "decode_message",
    "encode_message",
    "faults_of",
    "load_conversation",
    "make_request",
    "open_agent_servers",
    "open_calls",
    "preload_skills",
    "render",
    "repair",
    "results_for",
    "run_forked",
]
