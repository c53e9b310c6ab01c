"""Handlers: what a hook runs, as frozen values, and how an entry of a settings file becomes one.

Rule 1: an entry that cannot be used raises `Malformed` with the key and what to do; it never half-parses. Rule 2: two
handlers that run the same have the same `work`.
Must not know: how a handler is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, ClassVar, Final, TypeAlias, final

import attrs

from greenroom.hooks._catalog import CATALOG, HandlerType, HookEvent

USUAL_LIMIT_S: Final = 600.0
PROMPT_LIMIT_S: Final = 30.0
AGENT_LIMIT_S: Final = 60.0
_LABEL_CHARS: Final = 80
_SHELLS: Final = ("bash", "powershell")
_RULE: Final = re.compile(r"[^\s()]+(?:\(.*\))?", re.DOTALL)


class Malformed(Exception):
    """An entry cannot be used: at which key below it, and what to do."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key
        self.what = what


@attrs.frozen(kw_only=True)
class BaseHandler:
    """What all handlers have in common."""

    type: ClassVar[HandlerType | str]

    condition: str | None = None
    """One permission rule that the call has to match (`if`); None runs always."""
    timeout_s: float | None = None
    """As configured; None is the default of the event."""
    status_message: str = ""
    once: bool = False
    """Run at most once per session; skills only."""

    @property
    def work(self) -> Hashable:
        """What is run: equal for handlers of which one run is enough."""
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """What it runs, for people."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """What it is, on one line of at most 80 characters."""
        text = f"{self.type}: " + " ".join(self.subject.split())
        return text if len(text) <= _LABEL_CHARS else text[: _LABEL_CHARS - 1] + "…"

    def limit_s(self, event: HookEvent) -> float:
        """Return how long it may take, in seconds."""
        default = CATALOG[event].limit_s
        return self.timeout_s or (USUAL_LIMIT_S if default is None else default)


@final
@attrs.frozen(kw_only=True)
class CommandHandler(BaseHandler):
    """A process."""

    type: ClassVar[HandlerType | str] = HandlerType.COMMAND

    command: str
    args: tuple[str, ...] | None = None
    """Arguments of a direct execution; None hands `command` to a shell."""
    shell: str = "bash"
    is_async: bool = False
    """Nobody waits for it; what it says is delivered on the next turn."""
    wakes: bool = False
    """Asynchronous, and exit code 2 wakes the model (`asyncRewake`)."""

    @property
    def work(self) -> Hashable:
        """The command line, and whether somebody waits for it: an async twin must not swallow a verdict."""
        return self.type, self.command, self.args, self.shell, self.is_async, self.wakes

    @property
    def subject(self) -> str:
        """The command line."""
        return " ".join((self.command, *(self.args or ())))


@final
@attrs.frozen(kw_only=True)
class HttpHandler(BaseHandler):
    """A POST of the input to a URL."""

    type: ClassVar[HandlerType | str] = HandlerType.HTTP

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    allowed_variables: frozenset[str] = frozenset()
    """Environment variables that `$NAME` in a header value may stand for."""

    @property
    def work(self) -> Hashable:
        """The request, without its body."""
        return self.type, self.url, self.headers

    @property
    def subject(self) -> str:
        """The URL without its query, which may hold a secret."""
        return self.url.partition("?")[0]


@final
@attrs.frozen(kw_only=True)
class McpToolHandler(BaseHandler):
    """A call of an MCP tool."""

    type: ClassVar[HandlerType | str] = HandlerType.MCP_TOOL

    server: str
    tool: str
    input: Mapping[str, Any] = attrs.field(factory=dict)
    """Arguments; `${path}` in their strings stands for a value of the hook's input."""

    @property
    def work(self) -> Hashable:
        """The call."""
        return self.type, self.server, self.tool, repr(self.input)

    @property
    def subject(self) -> str:
        """Server and tool."""
        return f"{self.server}/{self.tool}"


@final
@attrs.frozen(kw_only=True)
class PromptHandler(BaseHandler):
    """One question to a model."""

    type: ClassVar[HandlerType | str] = HandlerType.PROMPT

    prompt: str
    model: str | None = None
    continue_on_block: bool = False

    @property
    def work(self) -> Hashable:
        """The question, to whom, and what its no means."""
        return self.type, self.prompt, self.model, self.continue_on_block

    @property
    def subject(self) -> str:
        """The question."""
        return self.prompt

    def limit_s(self, event: HookEvent) -> float:
        """Return how long it may take, in seconds."""
        return self.timeout_s or PROMPT_LIMIT_S


@final
@attrs.frozen(kw_only=True)
class AgentHandler(BaseHandler):
    """An agent with tools that looks for itself."""

    type: ClassVar[HandlerType | str] = HandlerType.AGENT

    prompt: str
    model: str | None = None

    @property
    def work(self) -> Hashable:
        """The question, and to whom."""
        return self.type, self.prompt, self.model

    @property
    def subject(self) -> str:
        """The question."""
        return self.prompt

    def limit_s(self, event: HookEvent) -> float:
        """Return how long it may take, in seconds."""
        return self.timeout_s or AGENT_LIMIT_S


AskBack: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Asks the program that opened the session, given the id of its callback and the input; returns the answer's JSON object."""


@final
@attrs.frozen(kw_only=True)
class CallbackHandler(BaseHandler):
    """A function of the program that opened the session; no file can name one."""

    type: ClassVar[HandlerType | str] = "callback"

    id: str
    """What the program calls it."""
    ask: AskBack = attrs.field(eq=False, repr=False)

    @property
    def work(self) -> Hashable:
        """The function."""
        return self.type, self.id

    @property
    def subject(self) -> str:
        """The program's name of it."""
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
    """Make a handler of an entry in a settings file.

    Raises:
        Malformed: The entry cannot be used for this event.
    """
    if not isinstance(entry, Mapping):
        raise Malformed("", f"is {_kind(entry)}; write an object with a type")
    row = CATALOG[event]
    usable = ", ".join(sorted(row.handlers))
    try:
        of_type = HandlerType(str(entry.get("type")))
    except ValueError:
        raise Malformed("type", f"{_shown(entry.get('type'))} is no type of handler; use one of {usable}") from None
    if of_type not in row.handlers:
        raise Malformed("type", f"{of_type.value!r} handlers do not exist for {event}; use one of {usable}")
    unknown = sorted(str(key) for key in entry if key not in _KEYS[of_type])
    if is_strict and unknown:
        raise Malformed(unknown[0], f"is no key of a {of_type} handler; there are {', '.join(sorted(_KEYS[of_type]))}")
    condition = _text(entry, "if", None)
    if condition is not None and not row.takes_rules:
        raise Malformed("if", f"{event} is no event about one tool call, so this would never run; leave `if` out")
    if condition is not None and not _RULE.fullmatch(condition.strip()):
        raise Malformed("if", f"{_shown(condition)} is not one permission rule; write for instance 'Bash(git *)'")
    common = {
        "condition": condition,
        "timeout_s": _seconds(entry, "timeout"),
        "status_message": _text(entry, "statusMessage", ""),
        "once": _flag(entry, "once"),
    }
    return _MAKERS[of_type](entry, common)


def parse_callback(entry: Mapping[str, Any], ask: AskBack) -> CallbackHandler:
    """Read `{id, timeout?}`.

    Raises:
        Malformed: It cannot be used.
    """
    return CallbackHandler(timeout_s=_seconds(entry, "timeout"), id=_needed(entry, "id"), ask=ask)


def _command(entry: Mapping[str, Any], common: Mapping[str, Any]) -> CommandHandler:
    wakes = _flag(entry, "asyncRewake")
    shell = _text(entry, "shell", "bash")
    if shell not in _SHELLS:
        raise Malformed("shell", f"{_shown(shell)} is no known shell; use bash or powershell")
    args = None if entry.get("args") is None else _texts(entry, "args")
    command = _needed(entry, "command")
    if any("\0" in part for part in (command, *(args or ()))):
        raise Malformed("command", "holds a NUL character, which no command line can")
    return CommandHandler(
        **common, command=command, args=args, shell=shell, is_async=wakes or _flag(entry, "async"), wakes=wakes
    )


def _http(entry: Mapping[str, Any], common: Mapping[str, Any]) -> HttpHandler:
    url = _needed(entry, "url")
    if not re.match(r"https?://[^\s/?#]", url):
        raise Malformed("url", f"{_shown(url)} is no http or https address; write it in full")
    headers = entry.get("headers", {})
    if not isinstance(headers, Mapping) or not all(
        isinstance(one, str) and one.isascii() and "\n" not in one and "\r" not in one
        for pair in headers.items()
        for one in pair
    ):
        raise Malformed("headers", "is no object of names and texts; write {'Authorization': 'Bearer $TOKEN'}")
    allowed = frozenset(_texts(entry, "allowedEnvVars"))
    return HttpHandler(**common, url=url, headers=tuple(headers.items()), allowed_variables=allowed)


def _mcp_tool(entry: Mapping[str, Any], common: Mapping[str, Any]) -> McpToolHandler:
    values = entry.get("input", {})
    if not isinstance(values, Mapping):
        raise Malformed("input", f"is {_kind(values)}; write an object with the tool's arguments")
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
        raise Malformed(key, f"is {'missing' if key not in entry else _shown(value)}; write a text that is not empty")
    return value


def _text(entry: Mapping[str, Any], key: str, default: Any) -> Any:
    value = entry.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise Malformed(key, f"is {_kind(value)}; write a text")
    return value


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise Malformed(key, f"is {_kind(value)}; write a list of texts")
    return tuple(value)


def _flag(entry: Mapping[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise Malformed(key, f"is {_shown(value)}; write true or false")
    return value


def _seconds(entry: Mapping[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1e9 or math.isnan(value):
        raise Malformed(key, f"{_shown(value)} is no number of seconds above 0")
    return float(value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
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
