"""An entry of `mcpServers`, parsed: a server, or one line that says why there is none.

Rule 1: parsing never raises; a broken entry takes nothing but itself away. Rule 2: a variable that is not set stays as it is
written, and is named.
Must not know: files; whoever reads them hands mappings in.
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
from greenroom.mcp._configs import Hosted, Http, OAuth, ServerConfig, ServerScope, Stdio, Way, bad_headers
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
class _Broken(Exception):
    """The entry cannot be used: why, and what to do."""


def host_server(name: str, line: HostLine) -> ServerConfig:
    """Return a server that lives in the program which this one serves.

    Args:
        name: What it is called.
        line: The line to it.

    Raises:
        UsageError: The name is blank, or reserved.
    """
    if not name.strip():
        raise UsageError("an MCP server has no name; give it one")
    if name in RESERVED:
        raise UsageError(f"the name {name!r} of an MCP server is reserved; give it another one")
    return ServerConfig(name=name, way=Hosted(line=line), source="the program")


@final
@attrs.frozen(kw_only=True)
class BrokenServer:
    """An entry that cannot be used."""

    name: str
    type: str
    """What it wanted to be; empty where that is not said."""
    message: str
    """Why, on one line, with its place."""


@final
@attrs.frozen(kw_only=True)
class ParsedServer:
    """What became of one entry."""

    config: ServerConfig | None = None
    broken: BrokenServer | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_server(
    name: str, entry: object, *, scope: ServerScope, source: str, environ: Mapping[str, str], cwd: Path | None = None
) -> ParsedServer:
    """Parse one entry.

    Args:
        name: As it stands in the file.
        entry: What stands there.
        scope: Whose entry it is.
        source: Where it stands, for messages.
        environ: What `${NAME}` stands for.
        cwd: Where a program starts, if not in the folder of the session.
    """
    reader = _Reader(name, source, environ)
    try:
        config = reader.read(entry, scope, cwd)
    except _Broken as problem:
        diagnostic = Diagnostic(kind=Kind.BROKEN, source=source, text=f"server {name!r} {problem}; it is skipped")
        kind = entry.get("type") if isinstance(entry, Mapping) else ""
        broken = BrokenServer(name=name, type=kind if isinstance(kind, str) else "", message=str(diagnostic))
        return ParsedServer(broken=broken, diagnostics=(diagnostic,))
    return ParsedServer(config=config, diagnostics=tuple(reader.found))


@final
class _Reader:
    """Reads one entry, and notes what has no effect in it."""

    def __init__(self, name: str, source: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._source = source
        self._environ = environ
        self._unset: dict[str, dict[str, None]] = {}
        """Variables that are not set, and where they stand."""
        self.found: list[Diagnostic] = []

    def read(self, entry: object, scope: ServerScope, cwd: Path | None) -> ServerConfig:
        if not self._name.strip():
            raise _Broken("has no name; give it one")
        if self._name in RESERVED:
            raise _Broken("has a name that is reserved; give it another one")
        if not isinstance(entry, Mapping):
            raise _Broken('is no object; write {"command": ...} or {"type": "http", "url": ...}')
        kind = self._kind(entry)
        way: Way = self._stdio(entry, cwd) if kind == "stdio" else self._http(entry, kind)
        self._note_unknown(entry, _KEYS[kind])
        for variable, places in self._unset.items():
            where = ", ".join(places)
            self._note(
                f"{where}: ${{{variable}}} is not set and stays as it is written; set it, or write ${{{variable}:-...}}"
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
                raise _Broken(f'has a url and no type; add "type": {wanted}')
            raise _Broken('has neither a command nor a url; write {"command": ...} or {"type": "http", "url": ...}')
        meant = _ALIASES.get(kind, kind) if isinstance(kind, str) else ""
        if meant in _KEYS:
            return cast("_Kind", meant)
        if kind == "sdk":
            raise _Broken(f"is of type 'sdk', which only a program can give that talks to a run; use {_WAYS}")
        raise _Broken(f"is of type {_shown(kind)}, which is not spoken here; use {_WAYS}")

    # --- the two ways -----------------------------------------------------------------------------------------------

    def _stdio(self, entry: Mapping[str, Any], cwd: Path | None) -> Stdio:
        command = self._expand("command", _needed(entry, "command"))
        args = entry.get("args", [])
        if not isinstance(args, list | tuple) or not all(isinstance(one, str) for one in args):
            raise _Broken("has args that are no list of texts")
        made = [self._expand(f"args[{at}]", one) for at, one in enumerate(args)]
        env = self._texts(entry, "env")
        if any("\0" in text for text in (command, *made, *env, *env.values())) or any("=" in name for name in env):
            raise _Broken("holds a NUL character, or a variable with = in its name")
        folder = entry.get("cwd")
        if folder is not None:
            if not isinstance(folder, str) or not Path(self._expand("cwd", folder)).is_absolute():
                raise _Broken(f"has the cwd {_shown(folder)}, which is no absolute path")
            cwd = Path(self._expand("cwd", folder))
        return Stdio(command=command, args=tuple(made), env=env, cwd=cwd)

    def _http(self, entry: Mapping[str, Any], kind: Literal["http", "sse", "ws"]) -> Http:
        url = self._expand("url", _needed(entry, "url"))
        is_socket = kind == "ws"
        if not _is_address(url, _SOCKET_ADDRESS if is_socket else _ADDRESS):
            wanted = "ws or wss" if is_socket else "http or https"
            raise _Broken(f"has the url {_shown(entry['url'])}, which is no {wanted} address")
        helper = entry.get("headersHelper")
        if helper is not None and not (isinstance(helper, str) and helper.strip() and "\0" not in helper):
            raise _Broken(f"has the headersHelper {_shown(helper)}, which is no command")
        headers = self._texts(entry, "headers")
        if bad_headers(headers):
            raise _Broken("has headers with characters that no header can hold")
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
            raise _Broken('has oauth that is no object; write {"clientId": ..., "clientSecret": ..., "issuer": ...}')
        texts: dict[str, str] = {}
        for key in ("clientId", "clientSecret", "issuer", "scopes"):
            said = value.get(key, "")
            if key == "scopes" and isinstance(said, list | tuple) and all(isinstance(one, str) for one in said):
                said = " ".join(said)
            if not isinstance(said, str):
                raise _Broken(f"has oauth whose {key} is no text")  # not shown: it may be a secret
            texts[key] = self._expand(f"oauth.{key}", said)
        if texts["clientSecret"] and not (texts["clientId"] and _ADDRESS.match(texts["issuer"])):
            raise _Broken(
                "has oauth with a clientSecret, but without a clientId and the issuer, the address of the authorization "
                "server that it is for; add them"
            )
        for key in sorted(str(one) for one in value if one not in texts and one != "callbackPort"):
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
        raise _Broken(f"has oauth with the callbackPort {_shown(value)}, which is no port; write a number up to 65535")

    # --- pieces -----------------------------------------------------------------------------------------------------

    def _texts(self, entry: Mapping[str, Any], key: str) -> dict[str, str]:
        values = entry.get(key, {})
        if not isinstance(values, Mapping) or not all(isinstance(one, str) for one in values.values()):
            raise _Broken(f"has {key} that is no object of names and texts")
        return {str(name): self._expand(f"{key}.{name}", value) for name, value in values.items()}

    def _timeout(self, value: object) -> float | None:
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not isinstance(value, int | float) or not _LEAST_TIMEOUT_MS <= value <= 1e12:
            self._note(f"timeout takes milliseconds from {_LEAST_TIMEOUT_MS}, not {_shown(value)}; it has no effect")
            return None
        return value / 1000

    def _flag(self, entry: Mapping[str, Any], key: str, *, usual: bool = False) -> bool:
        value = entry.get(key, usual)
        if not isinstance(value, bool):
            self._note(f"{key} takes true or false, not {_shown(value)}; it has no effect")
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
        for key in sorted(str(one) for one in entry if one not in known):
            self._note(f"{key} means nothing here")

    def _note(self, text: str) -> None:
        line = f"server {self._name!r}: {text}"
        if all(one.text != line for one in self.found):
            self.found.append(Diagnostic(kind=Kind.IGNORED, source=self._source, text=line))


def _needed(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _Broken(f"has no {key}" if value is None else f"has the {key} {_shown(value)}, which is no text")
    return value


def _is_address(url: str, form: re.Pattern[str]) -> bool:
    if not form.match(url) or any(character.isspace() for character in url):
        return False
    try:
        return urlsplit(url).port != 0
    except ValueError:  # a port that there is not, or half of an IPv6 address
        return False


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
