"""MCP servers: found in configuration, each connected by an actor of its own, their tools offered as tools of agents."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.mcp._browser import LoggedIn, Show, log_in, log_out
    from greenroom.mcp._channel_settings import ChannelSettings
    from greenroom.mcp._channels import Channels
    from greenroom.mcp._configs import Http, ServerConfig, ServerScope, Stdio, Way
    from greenroom.mcp._elicitation_actions import ElicitationAction
    from greenroom.mcp._elicitations import Elicit, Elicitation, ElicitationAnswer, misfit
    from greenroom.mcp._entry_parser import host_server, parse_server
    from greenroom.mcp._events import (
        EVENTS,
        McpAuthNeeded,
        McpClosed,
        McpConnected,
        McpFailed,
        McpLost,
        McpPromptsChanged,
        McpRetried,
        McpStarted,
        McpToolsChanged,
    )
    from greenroom.mcp._hosted import HostLine
    from greenroom.mcp._mcp_errors import CallFailed, LoginFailed, McpError, MissingServers, ServerDown
    from greenroom.mcp._mcp_services import McpServices
    from greenroom.mcp._mcp_settings import McpSettings, with_environment
    from greenroom.mcp._peer import Change, Peer
    from greenroom.mcp._resources import Library, ResourceTool, make_resource_tools
    from greenroom.mcp._server import Server, ServerState
    from greenroom.mcp._server_group import McpServers, start_servers
    from greenroom.mcp._server_lifecycle import ServerStatus, step
    from greenroom.mcp._server_prompts import McpPrompt, prompt_call
    from greenroom.mcp._server_rules import ServerRules, read_server_rules
    from greenroom.mcp._server_sources import FoundServers, find_servers
    from greenroom.mcp._server_tools import McpTool
    from greenroom.mcp._server_view import FOLDS
    from greenroom.mcp._tokens import TOKENS_FOLDER, BadTokens
    from greenroom.mcp._tool_names import names_tool, tool_name
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.mcp._browser": ("LoggedIn", "Show", "log_in", "log_out"),
            "greenroom.mcp._channel_settings": ("ChannelSettings",),
            "greenroom.mcp._channels": ("Channels",),
            "greenroom.mcp._configs": ("Http", "ServerConfig", "ServerScope", "Stdio", "Way"),
            "greenroom.mcp._elicitation_actions": ("ElicitationAction",),
            "greenroom.mcp._elicitations": ("Elicit", "Elicitation", "ElicitationAnswer", "misfit"),
            "greenroom.mcp._entry_parser": ("host_server", "parse_server"),
            "greenroom.mcp._events": (
                "EVENTS",
                "McpAuthNeeded",
                "McpClosed",
                "McpConnected",
                "McpFailed",
                "McpLost",
                "McpPromptsChanged",
                "McpRetried",
                "McpStarted",
                "McpToolsChanged",
            ),
            "greenroom.mcp._hosted": ("HostLine",),
            "greenroom.mcp._mcp_errors": ("CallFailed", "LoginFailed", "McpError", "MissingServers", "ServerDown"),
            "greenroom.mcp._mcp_services": ("McpServices",),
            "greenroom.mcp._mcp_settings": ("McpSettings", "with_environment"),
            "greenroom.mcp._peer": ("Change", "Peer"),
            "greenroom.mcp._resources": ("Library", "ResourceTool", "make_resource_tools"),
            "greenroom.mcp._server": ("Server", "ServerState"),
            "greenroom.mcp._server_group": ("McpServers", "start_servers"),
            "greenroom.mcp._server_lifecycle": ("ServerStatus", "step"),
            "greenroom.mcp._server_prompts": ("McpPrompt", "prompt_call"),
            "greenroom.mcp._server_rules": ("ServerRules", "read_server_rules"),
            "greenroom.mcp._server_sources": ("FoundServers", "find_servers"),
            "greenroom.mcp._server_tools": ("McpTool",),
            "greenroom.mcp._server_view": ("FOLDS",),
            "greenroom.mcp._tokens": ("TOKENS_FOLDER", "BadTokens"),
            "greenroom.mcp._tool_names": ("names_tool", "tool_name"),
        },
    )

__all__ = [
    "EVENTS",
    "FOLDS",
    "TOKENS_FOLDER",
    "BadTokens",
    "CallFailed",
    "Change",
    "ChannelSettings",
    "Channels",
    "Elicit",
    "Elicitation",
    "ElicitationAction",
    "ElicitationAnswer",
    "FoundServers",
    "HostLine",
    "Http",
    "Library",
    "LoggedIn",
    "LoginFailed",
    "McpAuthNeeded",
    "McpClosed",
    "McpConnected",
    "McpError",
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
    "MissingServers",
    "Peer",
    "ResourceTool",
    "Server",
    "ServerConfig",
    "ServerDown",
    "ServerRules",
    "ServerScope",
    "ServerState",
    "ServerStatus",
    "Show",
    "Stdio",
    "Way",
    "find_servers",
    "host_server",
    "log_in",
    "log_out",
    "make_resource_tools",
    "misfit",
    "names_tool",
    "parse_server",
    "prompt_call",
    "read_server_rules",
    "start_servers",
    "step",
    "tool_name",
    "with_environment",
]
