"""Which servers may be connected at all: what settings allow and deny, and whether an administrator names them all.

Rule 1: what is denied is denied, whoever allows it; an administrator's own servers need no leave. Rule 2: where a list allows
programs by their command lines, or addresses, a server of that kind has to be one of these: a name alone is anybody's to give.
Rule 3: an entry that cannot be read fits nothing. Must not know: files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import attrs

from greenroom.core.sources import Diagnostic, Kind
from greenroom.mcp._configs import Hosted, Http, ServerConfig, ServerScope, Stdio
from greenroom.mcp._names import hook_server

ALLOWED: Final = "allowedMcpServers"
DENIED: Final = "deniedMcpServers"
_NAME, _COMMAND, _URL = "serverName", "serverCommand", "serverUrl"


@final
@attrs.frozen(kw_only=True)
class ServerPattern:
    """One entry: a name, a whole command line, or an address in which `*` stands for anything."""

    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""

    def fits(self, config: ServerConfig) -> bool:
        """Say whether an entry is about a server."""
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
    """What settings say of servers; made by `read_server_rules`."""

    allowed: tuple[ServerPattern, ...] | None = None
    """None allows all."""
    denied: tuple[ServerPattern, ...] = ()
    is_exclusive: bool = False
    """Whether an administrator says which servers there are."""

    def why_not(self, config: ServerConfig) -> str:
        """Return why a server may not be connected, in a few words; empty where it may."""
        if any(one.fits(config) for one in self.denied):
            return f"it stands in {DENIED}"
        if config.scope is ServerScope.MANAGED or isinstance(config.way, Hosted) or self.allowed is None:
            return ""
        is_program = isinstance(config.way, Stdio)
        specific = [one for one in self.allowed if (one.command if is_program else one.url)]
        if any(one.fits(config) for one in specific or self.allowed):
            return ""
        return f"it does not stand in {ALLOWED}"


def read_server_rules(
    settings: Iterable[tuple[Mapping[str, Any], str]], *, may_allow: frozenset[str]
) -> tuple[ServerRules, tuple[Diagnostic, ...]]:
    """Read what settings allow and deny.

    Args:
        settings: Whole files, each with its name.
        may_allow: The names of those whose lists of allowed servers count; what they deny counts in all of them.
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
            text = f'{key}[{at}] fits no server: write {{"{_NAME}": ...}}, {{"{_COMMAND}": [...]}} or {{"{_URL}": ...}}'
            found.append(Diagnostic(kind=Kind.IGNORED, source=source, text=text))
        else:
            made.append(pattern)
    return made


def _pattern(entry: object) -> ServerPattern | None:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return None
    ((key, value),) = entry.items()
    if key == _COMMAND and isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return ServerPattern(command=tuple(value))
    if not isinstance(value, str) or not value:
        return None
    return {_NAME: ServerPattern(name=value), _URL: ServerPattern(url=value)}.get(key)
