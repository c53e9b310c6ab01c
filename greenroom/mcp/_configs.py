"""Configuration of a server: how it is reached, the scope of its entry, and its source."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias, final

import attrs

from greenroom.core import frozen
from greenroom.mcp._hosted import HostLine


class ServerScope(StrEnum):
    """The scope of an entry. Of several entries of one name, the first scope here wins, as a whole."""

    MANAGED = "managed"
    """An administrator's; if such a file exists, no other is read."""
    CLI = "cli"
    """Given on the command line, or by the program."""
    LOCAL = "local"
    """The user's, for this project."""
    PROJECT = "project"
    """The project's: shared, so it needs approval if a person attends the session."""
    USER = "user"
    """The user's, everywhere."""
    PLUGIN = "plugin"
    """A plugin's; its name precedes the server's."""
    AGENT = "agent"
    """From the definition of an agent; it starts and ends with the agent."""


@final
@frozen(kw_only=True)
class Stdio:
    """A program that is started, and reached through its stdin and stdout."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Variables in addition to the inherited ones."""
    cwd: Path | None = None
    """By default the folder of the session."""


@final
@frozen(kw_only=True)
class OAuth:
    """Login settings of a remote server."""

    client_id: str = ""
    """The client's id at the authorization server; empty registers a client at each login in a browser."""
    client_secret: str = attrs.field(default="", repr=False)
    """If set, the client logs in by itself (client credentials)."""
    issuer: str = ""
    """The authorization server of the secret; it is sent nowhere else."""
    scope: str = ""
    """The requested scopes, separated by spaces; empty for those that the server names."""
    callback_port: int | None = None
    """Local port to which a browser returns; None for any free port."""


@final
@frozen(kw_only=True)
class Http:
    """A remote server, reached by URL."""

    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    dialect: Literal["http", "sse", "ws"] = "http"
    """Streamable HTTP, its predecessor SSE, or a websocket."""
    headers_helper: str = ""
    """A shell command that prints more headers as a JSON object; it runs for each connection."""
    oauth: OAuth | None = None


@final
@frozen(kw_only=True)
class HostedServer:
    """A server inside the program that embeds this one."""

    line: HostLine
    """Carries the messages in both directions."""


Way: TypeAlias = Stdio | Http | HostedServer


@final
@frozen(kw_only=True)
class ServerConfig:
    """A server that can be connected."""

    name: str
    way: Way
    scope: ServerScope = ServerScope.CLI
    source: str = ""
    """The file, or a word such as `--mcp-config`."""
    timeout_s: float | None = None
    """Time limit of a call, in seconds; None for the session's setting."""
    always_load: bool = False
    """True if its tools are part of every request, even when others are found by tool search."""
    offers_roots: bool = True
    """True if it is given the working folder as a root; some servers then ignore the folders in their arguments."""

    @property
    def type(self) -> str:
        """The transport's name: `stdio`, `http`, `sse`, `ws` or `sdk`."""
        if isinstance(self.way, Http):
            return self.way.dialect
        return "stdio" if isinstance(self.way, Stdio) else "sdk"

    @property
    def is_remote(self) -> bool:
        """True if it is remote and can be retried; otherwise it is a program, or lives in one."""
        return isinstance(self.way, Http)


def bad_headers(headers: Mapping[str, str]) -> bool:
    """True if any of them has a character that is not allowed in a header."""
    return not all(
        part.isascii() and "\n" not in part and "\r" not in part for pair in headers.items() for part in pair
    )
