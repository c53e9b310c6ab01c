"""Names: what a model calls a server's tool by, and what a list in a definition means by such a name.

Rule 1: the same server and tool have the same name every time, within what providers take. Rule 2: a name is never taken
apart again to find out whose tool it is: servers may have `__` in theirs.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

PREFIX: Final = "mcp__"
MAX_CHARS: Final = 128
"""The longest name of a tool that the Messages API takes."""
_OTHERS: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS: Final = 8


def plain_name(name: str) -> str:
    """Return a name with `_` for every character that the names of tools cannot hold."""
    return _OTHERS.sub("_", name)


def tool_name(server: str, tool: str) -> str:
    """Return what a model calls a tool by: `mcp__<server>__<tool>`; of one that is too long the end is a digest of it."""
    name = f"{PREFIX}{plain_name(server)}__{plain_name(tool)}"
    if len(name) <= MAX_CHARS:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MAX_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def plugin_server(plugin: str, server: str) -> str:
    """Return the name that a plugin's server has in a session."""
    return f"plugin_{plugin}_{server}"


def hook_server(name: str) -> str:
    """Return the server that a hook means: `plugin:<plugin>:<server>` is how hooks of plugins write it."""
    plugin, _, server = name.removeprefix("plugin:").partition(":")
    return plugin_server(plugin, server) if server and name.startswith("plugin:") else name


def names_tool(pattern: str, name: str) -> bool:
    """Say whether an entry of `tools` or `disallowedTools` means a tool: by its name, `mcp__server`, or with `*` in it."""
    if "*" in pattern:
        return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
    return pattern == name or (pattern.startswith(PREFIX) and name.startswith(f"{pattern}__"))
