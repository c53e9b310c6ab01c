"""A server as somebody describes it: how to reach it, whose entry that is, and where it was written."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias, final

import attrs

from greenroom.mcp._hosted import HostLine


class ServerScope(StrEnum):
    """Whose an entry is. Of several entries of one name the first here counts, as a whole."""

    MANAGED = "managed"
    """An administrator's; where there is such a file, nothing else is read."""
    CLI = "cli"
    """Given on the command line, or by the program."""
    LOCAL = "local"
    """The user's, for this project."""
    PROJECT = "project"
    """The project's: shared, so somebody has to approve it where somebody can be asked."""
    USER = "user"
    """The user's, everywhere."""
    PLUGIN = "plugin"
    """A plugin's, its name before the server's."""
    AGENT = "agent"
    """Of the definition of an agent; it lives and dies with the agent."""


@final
@attrs.frozen(kw_only=True)
class Stdio:
    """A program that is started, and talked to through its input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Variables beside those that it inherits."""
    cwd: Path | None = None
    """By default the folder of the session."""


@final
@attrs.frozen(kw_only=True)
class OAuth:
    """What a server at an address is logged in at with."""

    client_id: str = ""
    """What the authorization server knows this client by; empty registers one at each login in a browser."""
    client_secret: str = attrs.field(default="", repr=False)
    """With it the client logs in by itself (client credentials)."""
    issuer: str = ""
    """The authorization server that the secret is for; it goes nowhere else."""
    scope: str = ""
    """What is asked for, with spaces between; empty for what the server says."""
    callback_port: int | None = None
    """Where a browser comes back to, on this machine; None for any port that is free."""


@final
@attrs.frozen(kw_only=True)
class Http:
    """A server at an address."""

    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    dialect: Literal["http", "sse", "ws"] = "http"
    """Streamable HTTP, what servers spoke before it, or a websocket."""
    headers_helper: str = ""
    """A shell command that prints more headers, as a JSON object; it runs for each connection."""
    oauth: OAuth | None = None


@final
@attrs.frozen(kw_only=True)
class Hosted:
    """A server of the program that this one serves."""

    line: HostLine
    """What is said to it goes through this, and so does what it says."""


Way: TypeAlias = Stdio | Http | Hosted


@final
@attrs.frozen(kw_only=True)
class ServerConfig:
    """A server that can be connected."""

    name: str
    way: Way
    scope: ServerScope = ServerScope.CLI
    source: str = ""
    """The file, or a word such as `--mcp-config`."""
    timeout_s: float | None = None
    """How long a call may take, in seconds; None for the session's setting."""
    always_load: bool = False
    """Whether its tools are to stand in every request, also where others are looked up first."""
    offers_roots: bool = True
    """Whether it is told which folder is worked on; some servers then forget the folders of their arguments."""

    @property
    def type(self) -> str:
        """The word for its way: `stdio`, `http`, `sse`, `ws` or `sdk`."""
        if isinstance(self.way, Http):
            return self.way.dialect
        return "stdio" if isinstance(self.way, Stdio) else "sdk"

    @property
    def is_remote(self) -> bool:
        """Whether it is at an address, which can be tried again; else it is a program, or lives in one."""
        return isinstance(self.way, Http)


def bad_headers(headers: Mapping[str, str]) -> bool:
    """Say whether any of them has a character that no header can hold."""
    return not all(one.isascii() and "\n" not in one and "\r" not in one for pair in headers.items() for one in pair)
