"""Sub-agents: started by a call of the tool Agent or by the host, messaged, resumed, ended, and reported."""

from greenroom.agents.crew._agent_tool import AGENT_TOOL, AgentTool, Elsewhere, denied_types, is_one_shot
from greenroom.agents.crew._crew import SEND_MESSAGE, Crew
from greenroom.agents.crew._fork import FORK, fork_home
from greenroom.agents.crew._furnish import furnish
from greenroom.agents.crew._handoffs import report_after_crash
from greenroom.agents.crew._hook_agents import HookAgentFailed, HookAgents
from greenroom.agents.crew._main_agent import MainAgent
from greenroom.agents.crew._message_tool import make_send_message, not_recorded
from greenroom.agents.crew._messages import SESSION, Post, SendRefused, TeamPost, Told
from greenroom.agents.crew._orders import ChildWish, DelegationSettings, Member, Order, record_path
from greenroom.agents.crew._placeholders import AGENT_TOOLS, WORKTREE_TOOLS, SessionTool
from greenroom.agents.crew._reports import words_of
from greenroom.agents.crew._skill_forks import SkillForkFailed, SkillForks
from greenroom.agents.crew._stays import StayRecord, Stays
from greenroom.agents.crew._variables import delegation_from_environment, moves_calls
from greenroom.agents.crew._worktree_tools import ENTER_WORKTREE, EXIT_WORKTREE, EnterWorktree, ExitWorktree

__all__ = [
    "AGENT_TOOL",
    "AGENT_TOOLS",
    "ENTER_WORKTREE",
    "EXIT_WORKTREE",
    "FORK",
    "SEND_MESSAGE",
    "SESSION",
    "WORKTREE_TOOLS",
    "AgentTool",
    "ChildWish",
    "Crew",
    "DelegationSettings",
    "Elsewhere",
    "EnterWorktree",
    "ExitWorktree",
    "HookAgentFailed",
    "HookAgents",
    "MainAgent",
    "Member",
    "Order",
    "Post",
    "SendRefused",
    "SessionTool",
    "SkillForkFailed",
    "SkillForks",
    "StayRecord",
    "Stays",
    "TeamPost",
    "Told",
    "delegation_from_environment",
    "denied_types",
    "fork_home",
    "furnish",
    "is_one_shot",
    "make_send_message",
    "moves_calls",
    "not_recorded",
    "record_path",
    "report_after_crash",
    "words_of",
]
