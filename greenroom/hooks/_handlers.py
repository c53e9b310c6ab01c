"""Handlers as frozen values, parsed from the entries of a settings file.

An unusable entry raises `Malformed` with its key and the remedy; it is never parsed in part. Two handlers that do the
same have equal `work`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.core import frozen
from greenroom.hooks._event_table import CATALOG, HandlerType, HookEvent

USUAL_LIMIT_S: Final = 600.0
PROMPT_LIMIT_S: Final = 30.0
AGENT_LIMIT_S: Final = 60.0
_LABEL_CHARS: Final = 80
_SHELLS: Final = ("bash", "powershell")
_RULE: Final = re.compile(r"[^\s()]+(?:\(.*\))?", re.DOTALL)


class Malformed(Exception):
    """An unusable entry: the key below it, and the remedy."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key
        self.what = what


@frozen(kw_only=True)
class BaseHandler:
    """Fields shared by all handlers."""

    type: ClassVar[HandlerType | str]

    condition: str | None = None
    """One permission rule that the call has to match (`if`); None always runs."""
    timeout_s: float | None = None
    """As configured; None is the default of the event."""
    status_message: str = ""
    once: bool = False
    """Run at most once per session; skills only."""

    @property
    def work(self) -> Hashable:
        """The identity of its work; handlers of equal work run once."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """The work of the handler, for people."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """The work of the handler on one line of at most 80 characters."""
        text = f"{self.type}: " + " ".join(self.subject.split())
        return text if len(text) <= _LABEL_CHARS else text[: _LABEL_CHARS - 1] + "…"

    def limit_s(self, event: HookEvent) -> float:
        """Return its time limit, in seconds."""
        default = CATALOG[event].limit_s
        return self.timeout_s or (USUAL_LIMIT_S if default is None else default)


@final
@frozen(kw_only=True)
class CommandHandler(BaseHandler):
    """A handler that runs a process."""

    type: ClassVar[HandlerType | str] = HandlerType.COMMAND

    command: str
    args: tuple[str, ...] | None = None
    """Arguments of a direct execution; None passes `command` to a shell."""
    shell: str = "bash"
    is_async: bool = False
    """The turn does not wait for it; its answer is delivered on the next turn."""
    wakes: bool = False
    """Asynchronous, and exit code 2 wakes the model (`asyncRewake`)."""

    @property
    def work(self) -> Hashable:
        """The command line, and whether the turn waits for it: an async duplicate must not swallow a verdict."""
        return self.type, self.command, self.args, self.shell, self.is_async, self.wakes

    @property
    def subject(self) -> str:
        """The command line."""
        return " ".join((self.command, *(self.args or ())))


@final
@frozen(kw_only=True)
class HttpHandler(BaseHandler):
    """A handler that posts the input to a URL."""

    type: ClassVar[HandlerType | str] = HandlerType.HTTP

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    allowed_variables: frozenset[str] = frozenset()
    """Environment variables that `$NAME` in a header value may refer to."""

    @property
    def work(self) -> Hashable:
        """The request, without its body."""
        return self.type, self.url, self.headers

    @property
    def subject(self) -> str:
        """The URL without its query, which may hold a secret."""
        return self.url.partition("?")[0]


@final
@frozen(kw_only=True)
class McpToolHandler(BaseHandler):
    """A handler that calls an MCP tool."""

    type: ClassVar[HandlerType | str] = HandlerType.MCP_TOOL

    server: str
    tool: str
    input: Mapping[str, Any] = attrs.field(factory=dict)
    """Arguments; `${path}` in their strings is replaced with a value of the hook's input."""

    @property
    def work(self) -> Hashable:
        """The call."""
        return self.type, self.server, self.tool, repr(self.input)

    @property
    def subject(self) -> str:
        """Server and tool."""
        return f"{self.server}/{self.tool}"


@final
@frozen(kw_only=True)
class PromptHandler(BaseHandler):
    """A handler that asks a model one question."""

    type: ClassVar[HandlerType | str] = HandlerType.PROMPT

    prompt: str
    model: str | None = None
    continue_on_block: bool = False

    @property
    def work(self) -> Hashable:
        """The question, the model, and the effect of a refusal."""
        return self.type, self.prompt, self.model, self.continue_on_block

    @property
    def subject(self) -> str:
        """The question."""
        return self.prompt

    def limit_s(self, event: HookEvent) -> float:
        """Return its time limit, in seconds."""
        return self.timeout_s or PROMPT_LIMIT_S


@final
@frozen(kw_only=True)
class AgentHandler(BaseHandler):
    """A handler that has an agent with read-only tools decide."""

    type: ClassVar[HandlerType | str] = HandlerType.AGENT

    prompt: str
    model: str | None = None

    @property
    def work(self) -> Hashable:
        """The question and the model."""
        return self.type, self.prompt, self.model

    @property
    def subject(self) -> str:
        """The question."""
        return self.prompt

    def limit_s(self, event: HookEvent) -> float:
        """Return its time limit, in seconds."""
        return self.timeout_s or AGENT_LIMIT_S


AskBack: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Calls the embedding program with the id of its callback and the input; returns the JSON object of the answer."""


@final
@frozen(kw_only=True)
class CallbackHandler(BaseHandler):
    """A function of the program that opened the session; no file can name one."""

    type: ClassVar[HandlerType | str] = "callback"

    id: str
    """The program's id for it."""
    ask: AskBack = attrs.field(eq=False, repr=False)

    @property
    def work(self) -> Hashable:
        """The function."""
        return self.type, self.id

    @property
    def subject(self) -> str:
        """The program's id for it."""
        return self.id


Handler: TypeAlias = CommandHandler | HttpHandler | McpToolHandler | PromptHandler | AgentHandler | CallbackHandler

_COMMON_KEYS: Final = frozenset({"type", "if", "timeout", "statusMessage", "once"})
_KEYS: Final[Mapping[HandlerType, frozenset[str]]] = {
    HandlerType.COMMAND: _COMMON_KEYS | {"command", "args", "async", "asyncRewake", "shell"},
    HandlerType.HTTP: _COMMON_KEYS | {"url", "headers", "allowedEnvVars"},
    HandlerType.MCP_TOOL: _COMMON_KEYS | {"server", "tool", "input"},
    HandlerType.PROMPT: _COMMON_KEYS | {"prompt", "model", "continueOnBlock"},
    HandlerType.AGENT: _COMMON_KEYS | {"prompt", "model"},
}


def parse_handler(entry: object, event: HookEvent, *, is_strict: bool) -> Handler:
    """Parse the entry of a settings file.

    Raises:
        Malformed: The entry cannot be used for this event.
    """
    if not isinstance(entry, Mapping):
        raise Malformed("", f"must be an object with a type, got {_kind(entry)}")
    row = CATALOG[event]
    usable = ", ".join(sorted(row.handlers))
    try:
        of_type = HandlerType(str(entry.get("type")))
    except ValueError:
        raise Malformed(
            "type", f"{_shown(entry.get('type'))} is not a type of handler; expected one of: {usable}"
        ) from None
    if of_type not in row.handlers:
        raise Malformed("type", f"{of_type.value!r} handlers are not supported for {event}; expected one of: {usable}")
    unknown = sorted(str(key) for key in entry if key not in _KEYS[of_type])
    if is_strict and unknown:
        raise Malformed(
            unknown[0], f"is not a key of a {of_type} handler; expected one of: {', '.join(sorted(_KEYS[of_type]))}"
        )
    condition = _text(entry, "if", None)
    if condition is not None and not row.takes_rules:
        raise Malformed("if", f"{event} is not about one tool call, so this would never run; remove `if`")
    if condition is not None and not _RULE.fullmatch(condition.strip()):
        raise Malformed("if", f"{_shown(condition)} is not a single permission rule, such as 'Bash(git *)'")
    common = {
        "condition": condition,
        "timeout_s": _seconds(entry, "timeout"),
        "status_message": _text(entry, "statusMessage", ""),
        "once": _flag(entry, "once"),
    }
    return _MAKERS[of_type](entry, common)


def parse_callback(entry: Mapping[str, Any], ask: AskBack) -> CallbackHandler:
    """Parse `{id, timeout?}`.

    Raises:
        Malformed: It is unusable.
    """
    return CallbackHandler(timeout_s=_seconds(entry, "timeout"), id=_needed(entry, "id"), ask=ask)


def _command(entry: Mapping[str, Any], common: Mapping[str, Any]) -> CommandHandler:
    wakes = _flag(entry, "asyncRewake")
    shell = _text(entry, "shell", "bash")
    if shell not in _SHELLS:
        raise Malformed("shell", f"{_shown(shell)} is not a supported shell; expected bash or powershell")
    args = None if entry.get("args") is None else _texts(entry, "args")
    command = _needed(entry, "command")
    if any("\0" in part for part in (command, *(args or ()))):
        raise Malformed("command", "must not contain a NUL character")
    return CommandHandler(
        **common, command=command, args=args, shell=shell, is_async=wakes or _flag(entry, "async"), wakes=wakes
    )


def _http(entry: Mapping[str, Any], common: Mapping[str, Any]) -> HttpHandler:
    url = _needed(entry, "url")
    if not re.match(r"https?://[^\s/?#]", url):
        raise Malformed("url", f"must be a complete http or https URL, got {_shown(url)}")
    headers = entry.get("headers", {})
    if not isinstance(headers, Mapping) or not all(
        isinstance(part, str) and part.isascii() and "\n" not in part and "\r" not in part
        for pair in headers.items()
        for part in pair
    ):
        raise Malformed("headers", "must be an object of strings, such as {'Authorization': 'Bearer $TOKEN'}")
    allowed = frozenset(_texts(entry, "allowedEnvVars"))
    return HttpHandler(**common, url=url, headers=tuple(headers.items()), allowed_variables=allowed)


def _mcp_tool(entry: Mapping[str, Any], common: Mapping[str, Any]) -> McpToolHandler:
    values = entry.get("input", {})
    if not isinstance(values, Mapping):
        raise Malformed("input", f"must be an object with the tool's arguments, got {_kind(values)}")
    return McpToolHandler(**common, server=_needed(entry, "server"), tool=_needed(entry, "tool"), input=dict(values))


def _prompt(entry: Mapping[str, Any], common: Mapping[str, Any]) -> PromptHandler:
    return PromptHandler(
        **common,
        prompt=_needed(entry, "prompt"),
        model=_text(entry, "model", None),
        continue_on_block=_flag(entry, "continueOnBlock"),
    )


def _agent(entry: Mapping[str, Any], common: Mapping[str, Any]) -> AgentHandler:
    return AgentHandler(**common, prompt=_needed(entry, "prompt"), model=_text(entry, "model", None))


_MAKERS: Final[Mapping[HandlerType, Callable[[Mapping[str, Any], Mapping[str, Any]], Handler]]] = {
    HandlerType.COMMAND: _command,
    HandlerType.HTTP: _http,
    HandlerType.MCP_TOOL: _mcp_tool,
    HandlerType.PROMPT: _prompt,
    HandlerType.AGENT: _agent,
}


def _needed(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        got = f", got {_shown(value)}" if key in entry else " and is missing"
        raise Malformed(key, f"must be a non-empty string{got}")
    return value


def _text(entry: Mapping[str, Any], key: str, default: Any) -> Any:
    value = entry.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise Malformed(key, f"must be a string, got {_kind(value)}")
    return value


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise Malformed(key, f"must be a list of strings, got {_kind(value)}")
    return tuple(value)


def _flag(entry: Mapping[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise Malformed(key, f"must be true or false, got {_shown(value)}")
    return value


def _seconds(entry: Mapping[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1e9 or math.isnan(value):
        raise Malformed(key, f"must be a number of seconds above 0, got {_shown(value)}")
    return float(value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    words = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return words.get(type(value), f"a {type(value).__name__}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    if not isinstance(value, str | int | float):
        return _kind(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
