"""Rules for which servers may be connected: allow and deny lists of settings, and exclusive lists of an administrator.

A denial wins over every allow; an administrator's own servers need no permission. If a list allows programs by command
line, or URLs, a server of that kind has to match one of these: a name alone can be chosen freely. An invalid entry
matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import attrs

from greenroom.core.sources import Diagnostic, Kind
from greenroom.mcp._configs import HostedServer, Http, ServerConfig, ServerScope, Stdio
from greenroom.mcp._tool_names import hook_server

ALLOWED: Final = "allowedMcpServers"
DENIED: Final = "deniedMcpServers"
_NAME, _COMMAND, _URL = "serverName", "serverCommand", "serverUrl"


@final
@attrs.frozen(kw_only=True)
class ServerPattern:
    """One entry: a name, a whole command line, or a URL in which `*` matches anything."""

    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""

    def fits(self, config: ServerConfig) -> bool:
        """True if the entry matches a server."""
        way = config.way
        if self.command:
            return isinstance(way, Stdio) and (way.command, *way.args) == self.command
        if self.url:
            pattern = ".*".join(map(re.escape, self.url.split("*")))
            return isinstance(way, Http) and re.fullmatch(pattern, way.url, re.DOTALL) is not None
        return hook_server(self.name) == config.name


@final
@attrs.frozen(kw_only=True)
class ServerRules:
    """The rules of the settings; made by `read_server_rules`."""

    allowed: tuple[ServerPattern, ...] | None = None
    """None allows all."""
    denied: tuple[ServerPattern, ...] = ()
    is_exclusive: bool = False
    """True if an administrator determines the servers."""

    def why_not(self, config: ServerConfig) -> str:
        """Return the reason why a server may not be connected; empty if it may."""
        if any(pattern.fits(config) for pattern in self.denied):
            return f"it is listed in {DENIED}"
        if config.scope is ServerScope.MANAGED or isinstance(config.way, HostedServer) or self.allowed is None:
            return ""
        is_program = isinstance(config.way, Stdio)
        specific = [pattern for pattern in self.allowed if (pattern.command if is_program else pattern.url)]
        if any(pattern.fits(config) for pattern in specific or self.allowed):
            return ""
        return f"it is not listed in {ALLOWED}"


def read_server_rules(
    settings: Iterable[tuple[Mapping[str, Any], str]], *, may_allow: frozenset[str]
) -> tuple[ServerRules, tuple[Diagnostic, ...]]:
    """Parse the allow and deny lists.

    Args:
        settings: Whole files, each with its name.
        may_allow: The names of the files whose allow lists apply; the deny lists of all files apply.
    """
    found: list[Diagnostic] = []
    allowed: list[ServerPattern] | None = None
    denied: list[ServerPattern] = []
    for values, source in settings:
        denied += _patterns(values.get(DENIED), DENIED, source, found)
        if values.get(ALLOWED) is not None and source in may_allow:
            allowed = [*(allowed or ()), *_patterns(values[ALLOWED], ALLOWED, source, found)]
    return ServerRules(allowed=None if allowed is None else tuple(allowed), denied=tuple(denied)), tuple(found)


def _patterns(listed: object, key: str, source: str, found: list[Diagnostic]) -> list[ServerPattern]:
    made = []
    for at, entry in enumerate(listed if isinstance(listed, list | tuple) else [] if listed is None else [listed]):
        pattern = _pattern(entry)
        if pattern is None:
            text = f'{key}[{at}] matches no server; expected {{"{_NAME}": ...}}, {{"{_COMMAND}": [...]}} or {{"{_URL}": ...}}'
            found.append(Diagnostic(kind=Kind.IGNORED, source=source, text=text))
        else:
            made.append(pattern)
    return made


def _pattern(entry: object) -> ServerPattern | None:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return None
    ((key, value),) = entry.items()
    if key == _COMMAND and isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return ServerPattern(command=tuple(value))
    if not isinstance(value, str) or not value:
        return None
    return {_NAME: ServerPattern(name=value), _URL: ServerPattern(url=value)}.get(key)
