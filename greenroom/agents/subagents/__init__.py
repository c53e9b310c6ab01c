"""Sub-agents: started by a call of the tool Agent or by the host, messaged, resumed, ended, and reported."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.subagents._agent_tool import AGENT_TOOL, AgentTool, denied_types, is_one_shot
    from greenroom.agents.subagents._child_profile import make_child_profile
    from greenroom.agents.subagents._delegation_settings import DelegationSettings
    from greenroom.agents.subagents._delegation_variables import delegation_from_environment, moves_calls
    from greenroom.agents.subagents._entered_worktrees import EnteredWorktreeRecord, EnteredWorktrees
    from greenroom.agents.subagents._fork import FORK, fork_home
    from greenroom.agents.subagents._handoff_reviews import report_after_crash
    from greenroom.agents.subagents._hook_agents import HookAgentFailed, HookAgents
    from greenroom.agents.subagents._list_agents import LIST_AGENTS, PEER_TOOLS, ListAgents
    from greenroom.agents.subagents._main_agent import MainAgent
    from greenroom.agents.subagents._message_tool import AGENT_TOOLS, make_send_message, not_recorded
    from greenroom.agents.subagents._messages import SESSION, Post, SendRefused, TeamPost, Told
    from greenroom.agents.subagents._peers import LetterAnswer, PeerState, PeerStatus
    from greenroom.agents.subagents._reports import words_of
    from greenroom.agents.subagents._session_tool import SessionTool
    from greenroom.agents.subagents._skill_forks import SkillForkFailed, SkillForks
    from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentSpec
    from greenroom.agents.subagents._subagent import Subagent, record_path
    from greenroom.agents.subagents._subagent_pool import SEND_MESSAGE, SubagentPool
    from greenroom.agents.subagents._worktree_tools import (
        ENTER_WORKTREE,
        EXIT_WORKTREE,
        WORKTREE_TOOLS,
        EnterWorktree,
        ExitWorktree,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.subagents._agent_tool": ("AGENT_TOOL", "AgentTool", "denied_types", "is_one_shot"),
            "greenroom.agents.subagents._child_profile": ("make_child_profile",),
            "greenroom.agents.subagents._delegation_settings": ("DelegationSettings",),
            "greenroom.agents.subagents._delegation_variables": ("delegation_from_environment", "moves_calls"),
            "greenroom.agents.subagents._entered_worktrees": ("EnteredWorktreeRecord", "EnteredWorktrees"),
            "greenroom.agents.subagents._fork": ("FORK", "fork_home"),
            "greenroom.agents.subagents._handoff_reviews": ("report_after_crash",),
            "greenroom.agents.subagents._hook_agents": ("HookAgentFailed", "HookAgents"),
            "greenroom.agents.subagents._list_agents": ("LIST_AGENTS", "PEER_TOOLS", "ListAgents"),
            "greenroom.agents.subagents._main_agent": ("MainAgent",),
            "greenroom.agents.subagents._message_tool": ("AGENT_TOOLS", "make_send_message", "not_recorded"),
            "greenroom.agents.subagents._messages": ("SESSION", "Post", "SendRefused", "TeamPost", "Told"),
            "greenroom.agents.subagents._peers": ("LetterAnswer", "PeerState", "PeerStatus"),
            "greenroom.agents.subagents._reports": ("words_of",),
            "greenroom.agents.subagents._session_tool": ("SessionTool",),
            "greenroom.agents.subagents._skill_forks": ("SkillForkFailed", "SkillForks"),
            "greenroom.agents.subagents._spawn_orders": ("SpawnOrder", "SubagentSpec"),
            "greenroom.agents.subagents._subagent": ("Subagent", "record_path"),
            "greenroom.agents.subagents._subagent_pool": ("SEND_MESSAGE", "SubagentPool"),
            "greenroom.agents.subagents._worktree_tools": (
                "ENTER_WORKTREE",
                "EXIT_WORKTREE",
                "WORKTREE_TOOLS",
                "EnterWorktree",
                "ExitWorktree",
            ),
        },
    )

__all__ = [
    "AGENT_TOOL",
    "AGENT_TOOLS",
    "ENTER_WORKTREE",
    "EXIT_WORKTREE",
    "FORK",
    "LIST_AGENTS",
    "PEER_TOOLS",
    "SEND_MESSAGE",
    "SESSION",
    "WORKTREE_TOOLS",
    "AgentTool",
    "DelegationSettings",
    "EnterWorktree",
    "EnteredWorktreeRecord",
    "EnteredWorktrees",
    "ExitWorktree",
    "HookAgentFailed",
    "HookAgents",
    "LetterAnswer",
    "ListAgents",
    "MainAgent",
    "PeerState",
    "PeerStatus",
    "Post",
    "SendRefused",
    "SessionTool",
    "SkillForkFailed",
    "SkillForks",
    "SpawnOrder",
    "Subagent",
    "SubagentPool",
    "SubagentSpec",
    "TeamPost",
    "Told",
    "delegation_from_environment",
    "denied_types",
    "fork_home",
    "is_one_shot",
    "make_child_profile",
    "make_send_message",
    "moves_calls",
    "not_recorded",
    "record_path",
    "report_after_crash",
    "words_of",
]
