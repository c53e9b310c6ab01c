"""Parser of an entry of `mcpServers`: gives a server, or one line with the reason why not.

Parsing never raises; a broken entry affects only itself. An unset variable stays as written, and is reported. Files are
read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, final
from urllib.parse import urlsplit

import attrs

from greenroom.core import UsageError
from greenroom.core.sources import Diagnostic, Kind
from greenroom.mcp._configs import HostedServer, Http, OAuth, ServerConfig, ServerScope, Stdio, Way, bad_headers
from greenroom.mcp._hosted import HostLine

RESERVED: Final = frozenset({"greenroom", "workspace"})
"""Names that no server can have."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ADDRESS: Final = re.compile(r"https?://[^\s/?#]")
_SOCKET_ADDRESS: Final = re.compile(r"wss?://[^\s/?#]")
_COMMON: Final = frozenset({"type", "timeout", "alwaysLoad", "roots"})
_STDIO_KEYS: Final = _COMMON | {"command", "args", "env", "cwd"}
_SOCKET_KEYS: Final = _COMMON | {"url", "headers", "headersHelper"}
_HTTP_KEYS: Final = _SOCKET_KEYS | {"oauth"}
_KEYS: Final = {"stdio": _STDIO_KEYS, "http": _HTTP_KEYS, "sse": _HTTP_KEYS, "ws": _SOCKET_KEYS}
_Kind: TypeAlias = Literal["stdio", "http", "sse", "ws"]
_WAYS: Final = "stdio, http, sse or ws"
_ALIASES: Final = {"streamable-http": "http", "streamableHttp": "http"}
_LEAST_TIMEOUT_MS: Final = 1_000


@final
class _BadEntry(Exception):
    """An unusable entry: the reason and the remedy."""


def host_server(name: str, line: HostLine) -> ServerConfig:
    """Return a server that lives in the embedding program.

    Args:
        name: Its name.
        line: The line to it.

    Raises:
        UsageError: The name is blank or reserved.
    """
    if not name.strip():
        raise UsageError("the name of an MCP server must not be blank")
    if name in RESERVED:
        raise UsageError(f"the name {name!r} of an MCP server is reserved; use another one")
    return ServerConfig(name=name, way=HostedServer(line=line), source="the program")


@final
@attrs.frozen(kw_only=True)
class BrokenServer:
    """An unusable entry."""

    name: str
    type: str
    """Its type; empty if absent."""
    message: str
    """The reason, on one line, with its place."""


@final
@attrs.frozen(kw_only=True)
class ParsedServer:
    """The result of parsing one entry."""

    config: ServerConfig | None = None
    broken: BrokenServer | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_server(
    name: str, entry: object, *, scope: ServerScope, source: str, environ: Mapping[str, str], cwd: Path | None = None
) -> ParsedServer:
    """Parse one entry.

    Args:
        name: Its key in the file.
        entry: Its value.
        scope: Its scope.
        source: Its place, for messages.
        environ: Values for `${NAME}`.
        cwd: Working directory of a program, if not the folder of the session.
    """
    reader = _EntryReader(name, source, environ)
    try:
        config = reader.read(entry, scope, cwd)
    except _BadEntry as problem:
        diagnostic = Diagnostic(kind=Kind.BROKEN, source=source, text=f"server {name!r} {problem}; it is skipped")
        kind = entry.get("type") if isinstance(entry, Mapping) else ""
        broken = BrokenServer(name=name, type=kind if isinstance(kind, str) else "", message=str(diagnostic))
        return ParsedServer(broken=broken, diagnostics=(diagnostic,))
    return ParsedServer(config=config, diagnostics=tuple(reader.found))


@final
class _EntryReader:
    """Reader of one entry that records what has no effect in it."""

    def __init__(self, name: str, source: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._source = source
        self._environ = environ
        self._unset: dict[str, dict[str, None]] = {}
        """Unset variables, and their places."""
        self.found: list[Diagnostic] = []

    def read(self, entry: object, scope: ServerScope, cwd: Path | None) -> ServerConfig:
        if not self._name.strip():
            raise _BadEntry("must have a name")
        if self._name in RESERVED:
            raise _BadEntry("has a reserved name; use another one")
        if not isinstance(entry, Mapping):
            raise _BadEntry('must be an object, such as {"command": ...} or {"type": "http", "url": ...}')
        kind = self._kind(entry)
        way: Way = self._stdio(entry, cwd) if kind == "stdio" else self._http(entry, kind)
        self._note_unknown(entry, _KEYS[kind])
        for variable, places in self._unset.items():
            where = ", ".join(places)
            self._note(
                f"{where}: ${{{variable}}} is not set and is left as written; set it, or write ${{{variable}:-...}}"
            )
        return ServerConfig(
            name=self._name,
            way=way,
            scope=scope,
            source=self._source,
            timeout_s=self._timeout(entry.get("timeout")),
            always_load=self._flag(entry, "alwaysLoad"),
            offers_roots=self._flag(entry, "roots", usual=True),
        )

    def _kind(self, entry: Mapping[str, Any]) -> _Kind:
        kind = entry.get("type")
        if kind is None:
            if "command" in entry:
                return "stdio"
            if "url" in entry:
                is_socket = isinstance(entry["url"], str) and _SOCKET_ADDRESS.match(entry["url"])
                wanted = '"ws"' if is_socket else '"http", or "sse" for an old server'
                raise _BadEntry(f'has a url and no type; add "type": {wanted}')
            raise _BadEntry('must have a command or a url, such as {"command": ...} or {"type": "http", "url": ...}')
        meant = _ALIASES.get(kind, kind) if isinstance(kind, str) else ""
        if meant in _KEYS:
            return cast("_Kind", meant)
        if kind == "sdk":
            raise _BadEntry(f"has type 'sdk', which is reserved for embedding programs; expected {_WAYS}")
        raise _BadEntry(f"has the unsupported type {_shown(kind)}; expected {_WAYS}")

    # --- the two ways -----------------------------------------------------------------------------------------------

    def _stdio(self, entry: Mapping[str, Any], cwd: Path | None) -> Stdio:
        command = self._expand("command", _needed(entry, "command"))
        args = entry.get("args", [])
        if not isinstance(args, list | tuple) or not all(isinstance(arg, str) for arg in args):
            raise _BadEntry("has invalid args: expected a list of strings")
        made = [self._expand(f"args[{at}]", arg) for at, arg in enumerate(args)]
        env = self._texts(entry, "env")
        if any("\0" in text for text in (command, *made, *env, *env.values())) or any("=" in name for name in env):
            raise _BadEntry("contains a NUL character, or a variable with = in its name")
        folder = entry.get("cwd")
        if folder is not None:
            if not isinstance(folder, str) or not Path(self._expand("cwd", folder)).is_absolute():
                raise _BadEntry(f"has an invalid cwd: expected an absolute path, got {_shown(folder)}")
            cwd = Path(self._expand("cwd", folder))
        return Stdio(command=command, args=tuple(made), env=env, cwd=cwd)

    def _http(self, entry: Mapping[str, Any], kind: Literal["http", "sse", "ws"]) -> Http:
        url = self._expand("url", _needed(entry, "url"))
        is_socket = kind == "ws"
        if not _is_address(url, _SOCKET_ADDRESS if is_socket else _ADDRESS):
            wanted = "ws or wss" if is_socket else "http or https"
            raise _BadEntry(f"has an invalid url: expected {wanted}, got {_shown(entry['url'])}")
        helper = entry.get("headersHelper")
        if helper is not None and not (isinstance(helper, str) and helper.strip() and "\0" not in helper):
            raise _BadEntry(f"has an invalid headersHelper: expected a command, got {_shown(helper)}")
        headers = self._texts(entry, "headers")
        if bad_headers(headers):
            raise _BadEntry("has headers with characters that are not allowed")
        return Http(
            url=url,
            headers=headers,
            dialect=kind,
            headers_helper=helper or "",
            oauth=None if is_socket else self._oauth(entry.get("oauth")),
        )

    def _oauth(self, value: object) -> OAuth | None:
        if value is None or value is False:
            return None
        if not isinstance(value, Mapping):
            raise _BadEntry(
                'has invalid oauth: expected an object, such as {"clientId": ..., "clientSecret": ..., "issuer": ...}'
            )
        texts: dict[str, str] = {}
        for key in ("clientId", "clientSecret", "issuer", "scopes"):
            said = value.get(key, "")
            if key == "scopes" and isinstance(said, list | tuple) and all(isinstance(scope, str) for scope in said):
                said = " ".join(said)
            if not isinstance(said, str):
                raise _BadEntry(f"has invalid oauth: {key} must be a string")  # not shown: it may be a secret
            texts[key] = self._expand(f"oauth.{key}", said)
        if texts["clientSecret"] and not (texts["clientId"] and _ADDRESS.match(texts["issuer"])):
            raise _BadEntry(
                "has oauth with a clientSecret, but without a clientId and the issuer, the address of the authorization "
                "server that it is for; add them"
            )
        for key in sorted(str(item) for item in value if item not in texts and item != "callbackPort"):
            self._note(f"oauth.{key} has no effect")
        return OAuth(
            client_id=texts["clientId"],
            client_secret=texts["clientSecret"],
            issuer=texts["issuer"],
            scope=texts["scopes"],
            callback_port=self._port(value.get("callbackPort")),
        )

    def _port(self, value: object) -> int | None:
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65_536):
            return value
        raise _BadEntry(f"has invalid oauth: callbackPort must be a number up to 65535, got {_shown(value)}")

    # --- pieces -----------------------------------------------------------------------------------------------------

    def _texts(self, entry: Mapping[str, Any], key: str) -> dict[str, str]:
        values = entry.get(key, {})
        if not isinstance(values, Mapping) or not all(isinstance(value, str) for value in values.values()):
            raise _BadEntry(f"has invalid {key}: expected an object of strings")
        return {str(name): self._expand(f"{key}.{name}", value) for name, value in values.items()}

    def _timeout(self, value: object) -> float | None:
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not isinstance(value, int | float) or not _LEAST_TIMEOUT_MS <= value <= 1e12:
            self._note(
                f"timeout must be a number of milliseconds from {_LEAST_TIMEOUT_MS}, got {_shown(value)}; it is ignored"
            )
            return None
        return value / 1000

    def _flag(self, entry: Mapping[str, Any], key: str, *, usual: bool = False) -> bool:
        value = entry.get(key, usual)
        if not isinstance(value, bool):
            self._note(f"{key} must be true or false, got {_shown(value)}; it is ignored")
            return usual
        return value

    def _expand(self, place: str, text: str) -> str:
        def fill(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if name in self._environ:
                return self._environ[name]
            if default is not None:
                return default
            self._unset.setdefault(name, {})[place] = None
            return match[0]

        return _VARIABLE.sub(fill, text)

    def _note_unknown(self, entry: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in sorted(str(written) for written in entry if written not in known):
            self._note(f"{key} has no effect here")

    def _note(self, text: str) -> None:
        line = f"server {self._name!r}: {text}"
        if all(diagnostic.text != line for diagnostic in self.found):
            self.found.append(Diagnostic(kind=Kind.IGNORED, source=self._source, text=line))


def _needed(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _BadEntry(
            f"must have a {key}" if value is None else f"has an invalid {key}: expected a string, got {_shown(value)}"
        )
    return value


def _is_address(url: str, form: re.Pattern[str]) -> bool:
    if not form.match(url) or any(character.isspace() for character in url):
        return False
    try:
        return urlsplit(url).port != 0
    except ValueError:  # an invalid port, or half of an IPv6 address
        return False


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
