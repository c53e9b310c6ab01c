"""Names of a server's tools for models, and the patterns that definitions use for them.

The same server and tool always have the same name, within the limits of providers. A name is never split to find its
server: server names may contain `__`.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

PREFIX: Final = "mcp__"
MAX_CHARS: Final = 128
"""The longest tool name that the Messages API accepts."""
_OTHERS: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS: Final = 8


def plain_name(name: str) -> str:
    """Replace each character that is not allowed in a tool name with `_`."""
    return _OTHERS.sub("_", name)


def tool_name(server: str, tool: str) -> str:
    """Return a tool's name for models: `mcp__<server>__<tool>`, a long one shortened with a digest at its end."""
    name = f"{PREFIX}{plain_name(server)}__{plain_name(tool)}"
    if len(name) <= MAX_CHARS:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MAX_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def plugin_server(plugin: str, server: str) -> str:
    """Return the name of a plugin's server in a session."""
    return f"plugin_{plugin}_{server}"


def hook_server(name: str) -> str:
    """Return the server that a hook names: hooks of plugins write `plugin:<plugin>:<server>`."""
    plugin, _, server = name.removeprefix("plugin:").partition(":")
    return plugin_server(plugin, server) if server and name.startswith("plugin:") else name


def names_tool(pattern: str, name: str) -> bool:
    """True if an entry of `tools` or `disallowedTools` matches a tool: its name, `mcp__server`, or a pattern with `*`."""
    if "*" in pattern:
        return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
    return pattern == name or (pattern.startswith(PREFIX) and name.startswith(f"{pattern}__"))
