"""MCP servers: found where people write them, each connected by an actor of its own, their tools as tools of agents."""

from greenroom.mcp._approvals import Approvals, read_approvals
from greenroom.mcp._browser import LoggedIn, Show, log_in, log_out
from greenroom.mcp._configs import Hosted, Http, OAuth, ServerConfig, ServerScope, Stdio, Way
from greenroom.mcp._connection import McpConnection
from greenroom.mcp._elicitation import Elicit, Elicitation, ElicitationAction, ElicitationAnswer, misfit
from greenroom.mcp._errors import CallFailed, LoginFailed, McpError, MissingServers, ServerDown
from greenroom.mcp._events import (
    EVENTS,
    McpAuthNeeded,
    McpClosed,
    McpConnected,
    McpEvent,
    McpFailed,
    McpLost,
    McpPromptsChanged,
    McpRetried,
    McpStarted,
    McpToolsChanged,
)
from greenroom.mcp._fold import FOLDS, McpView
from greenroom.mcp._hooks import HookCaller
from greenroom.mcp._hosted import HostLine
from greenroom.mcp._lifecycle import TRANSITIONS, ServerStatus, plan_retry, step
from greenroom.mcp._names import names_tool, tool_name
from greenroom.mcp._parsing import BrokenServer, ParsedServer, host_server, parse_server
from greenroom.mcp._peer import (
    BinaryPart,
    CallResult,
    Change,
    Ending,
    LinkPart,
    OpenPeer,
    Part,
    Peer,
    PeerInfo,
    PromptArgument,
    PromptInfo,
    PromptPart,
    ResourceInfo,
    ResourcePart,
    TextPart,
    ToolInfo,
)
from greenroom.mcp._prompts import McpPrompt, prompt_call
from greenroom.mcp._resources import LIST_RESOURCES, READ_RESOURCE, Library, ResourceTool, make_resource_tools
from greenroom.mcp._rules import ServerPattern, ServerRules, read_server_rules
from greenroom.mcp._server import Server, ServerState
from greenroom.mcp._servers import McpServers, McpServices, start_servers
from greenroom.mcp._settings import VARIABLES, McpSettings, with_environment
from greenroom.mcp._sources import DisabledServer, FoundServers, find_servers
from greenroom.mcp._stdio import Programs
from greenroom.mcp._tokens import TOKENS_FOLDER, BadTokens
from greenroom.mcp._tools import McpTool

__all__ = [
    "EVENTS",
    "FOLDS",
    "LIST_RESOURCES",
    "READ_RESOURCE",
    "TOKENS_FOLDER",
    "TRANSITIONS",
    "VARIABLES",
    "Approvals",
    "BadTokens",
    "BinaryPart",
    "BrokenServer",
    "CallFailed",
    "CallResult",
    "Change",
    "DisabledServer",
    "Elicit",
    "Elicitation",
    "ElicitationAction",
    "ElicitationAnswer",
    "Ending",
    "FoundServers",
    "HookCaller",
    "HostLine",
    "Hosted",
    "Http",
    "Library",
    "LinkPart",
    "LoggedIn",
    "LoginFailed",
    "McpAuthNeeded",
    "McpClosed",
    "McpConnected",
    "McpConnection",
    "McpError",
    "McpEvent",
    "McpFailed",
    "McpLost",
    "McpPrompt",
    "McpPromptsChanged",
    "McpRetried",
    "McpServers",
    "McpServices",
    "McpSettings",
    "McpStarted",
    "McpTool",
    "McpToolsChanged",
    "McpView",
    "MissingServers",
    "OAuth",
    "OpenPeer",
    "ParsedServer",
    "Part",
    "Peer",
    "PeerInfo",
    "Programs",
    "PromptArgument",
    "PromptInfo",
    "PromptPart",
    "ResourceInfo",
    "ResourcePart",
    "ResourceTool",
    "Server",
    "ServerConfig",
    "ServerDown",
    "ServerPattern",
    "ServerRules",
    "ServerScope",
    "ServerState",
    "ServerStatus",
    "Show",
    "Stdio",
    "TextPart",
    "ToolInfo",
    "Way",
    "find_servers",
    "host_server",
    "log_in",
    "log_out",
    "make_resource_tools",
    "misfit",
    "names_tool",
    "parse_server",
    "plan_retry",
    "prompt_call",
    "read_approvals",
    "read_server_rules",
    "start_servers",
    "step",
    "tool_name",
    "with_environment",
]
