"""Decoder of a server's bytes: each line becomes messages, a malformed message, or noise.

Rule 1: nothing here raises, whatever the bytes are. Rule 2: a malformed message is an `MalformedMessage`, never dropped: a
caller may wait for it. Rule 3: small mistakes (a number as `1.0`, `"error": null` beside a result, a missing `jsonrpc`,
broken UTF-8, a batch) are repaired; refusing these would help nobody.

Must not know: streams, who waits for an answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs

from greenroom.mcp._channel_messages import PUSH

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

MESSAGE_BYTES: Final = 16 * 1024**2
"""A larger message is not read."""
TOO_LONG: Final = f"it is longer than {MESSAGE_BYTES} bytes"
LINE_BYTES: Final = 16 * MESSAGE_BYTES
"""A longer line ends the connection."""
_EDGE_BYTES: Final = 4_096
"""Bytes at each end of an overlong line that are searched for the id of its request."""
_WHY_CHARS: Final = 200
_INTERNAL_ERROR: Final = -32603
KEPT: Final = 4
"""Maximum number of notifications of one kind, about one call, that are used of those that wait to be read."""
_SHAPES: Final = (b'"method"', b'"result"', b'"error"')
_ID: Final = re.compile(r'"id"\s*:\s*(-?\d+(?![\d.eE])|"[^"\\]*")')
_ANSWER: Final = re.compile(r'"(?:result|error)"\s*:')
_REPEATED: Final = re.compile(
    rb'"method"\s*:\s*"notifications/(?:progress|message|(?:tools|prompts|resources)/list_changed)"'
)
_TOKEN: Final = re.compile(rb'"progressToken"\s*:\s*(-?\d+|"[^"\\]*")')


@final
class MalformedMessage(Exception):
    """A malformed message.

    Attributes:
        why: The problem.
        id: Of the request that it answers, or that it is; None if unknown.
        is_request: True if it is a request of the server.
    """

    def __init__(self, why: str, id: Any = None, *, is_request: bool = False) -> None:  # noqa: A002 - the protocol's own word
        super().__init__(why)
        self.why = why
        self.id = id
        self.is_request = is_request


Said: TypeAlias = "JSONRPCMessage | MalformedMessage"


def read(said: bytes) -> list[Said]:
    """Return the messages of a line, or a frame; none if it is not meant as a message."""
    import mcp_types

    if (
        sum(shape in said for shape in _SHAPES) == 1
    ):  # otherwise the first model that fits would be used, whatever other keys there are
        try:
            return [mcp_types.jsonrpc_message_adapter.validate_json(said, by_name=False)]
        except ValueError:
            pass
    text = said.decode("utf-8-sig", errors="replace")
    is_whole = text.lstrip().startswith(("{", "["))
    if not is_whole and not ('"jsonrpc"' in text and _ANSWER.search(text)):
        return []  # a line of a log, which may quote the request
    made: list[Said] = []
    try:
        for value in _values(text):
            each = value if isinstance(value, list) else [value]
            made += [message for part in each if isinstance(part, Mapping) for message in _messages(part)]
    except (ValueError, RecursionError) as problem:
        made += [] if made else _broken(text, f"invalid JSON: {problem}")
    return made if is_whole else [message for message in made if not hasattr(message, "method")]


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a line, which may have other text around them."""
    decoder = json.JSONDecoder()
    at = text.find("[{") if text.lstrip().startswith("[{") else text.find("{")
    while at >= 0:
        value, at = decoder.raw_decode(text, at)
        if not text.isascii() or "\\u" in text:  # without lone surrogates, which are not valid text
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        yield value
        at = text.find("{", at)


def _broken(text: str, why: str) -> Iterator[MalformedMessage]:
    """Yield a malformed answer with the id of its request; nothing for other JSON, such as the lines of a log."""
    answer = _ANSWER.search(text)
    head = text if answer is None else text[: answer.start()]
    if '"method"' in head or (answer is None and '"jsonrpc"' not in head):
        return
    found = _ID.search(head) or (None if answer is None else _last(_ID.finditer(text, answer.end())))
    yield MalformedMessage(why[:_WHY_CHARS], None if found is None else json.loads(found[1]))


def _last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    last = None
    for last in found:  # noqa: B007 - the last one is what is wanted
        pass
    return last


def _messages(value: Mapping[str, Any]) -> Iterator[Said]:
    """Yield the message of an object, if it is one."""
    number = value.get("id")
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    has_number = isinstance(number, int | str) and not isinstance(number, bool)
    if isinstance(value.get("method"), str) and value.get("result") is None and value.get("error") is None:
        yield from _call(value, number if has_number else None)
    elif "result" in value or "error" in value:
        yield _answer(value, number if has_number else None)
    elif "jsonrpc" in value and has_number:
        yield MalformedMessage("it has neither a result nor an error", number)


def _call(value: Mapping[str, Any], number: int | str | None) -> Iterator[Said]:
    """Yield a request or a notification; a notification with malformed `params` needs no answer."""
    import mcp_types

    params = value.get("params")
    if params is None or isinstance(params, Mapping):
        said: dict[str, Any] = {"jsonrpc": "2.0", "method": value["method"]}
        said |= {} if params is None else {"params": dict(params)}
        if number is None:
            yield mcp_types.JSONRPCNotification.model_validate(said)
        else:
            yield mcp_types.JSONRPCRequest.model_validate(said | {"id": number})
    elif number is not None:
        yield MalformedMessage("its params are not an object", number, is_request=True)
    elif value["method"] == PUSH:  # it is counted
        yield mcp_types.JSONRPCNotification(jsonrpc="2.0", method=PUSH)


def _answer(value: Mapping[str, Any], number: int | str | None) -> Said:
    import mcp_types

    result, error = value.get("result"), value.get("error")
    if error is not None and result is not None:
        return MalformedMessage(f"it has both a result and an error ({_error_text(error)})", number)
    if error is not None:
        code = error.get("code") if isinstance(error, Mapping) else None
        if not isinstance(code, int) or isinstance(code, bool):
            code = _INTERNAL_ERROR
        data = error.get("data") if isinstance(error, Mapping) else None
        said = mcp_types.ErrorData(code=code, message=_error_text(error), data=data)
        return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=said)
    if not isinstance(result, Mapping):
        return MalformedMessage(f"its result must be an object, got {shown(result)}", number)
    if number is None:
        return MalformedMessage(f"its id must be that of a request, got {shown(value.get('id'))}")
    return mcp_types.JSONRPCResponse(jsonrpc="2.0", id=number, result=dict(result))


def _error_text(error: object) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return message if isinstance(message, str) and message.strip() else shown(error)


def shown(value: object, most: int = _WHY_CHARS) -> str:
    """Return a JSON value on one line, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


@final
@attrs.define(eq=False)
class LineDecoder:
    """Splits the bytes of a program's output into lines, and keeps at most one message of each."""

    _rest: bytearray = attrs.field(factory=bytearray)
    _size: int = 0
    """Size of the incomplete line so far."""
    _is_told: bool = False
    """True if the overlong line has been reported."""
    noise: str = ""
    """The first line that is not meant as a message, shortened."""

    @property
    def is_endless(self) -> bool:
        """True if the incomplete line exceeds the limit."""
        return self._size > LINE_BYTES

    def feed(self, chunk: bytes) -> list[Said]:
        """Return the complete messages; of repeated notifications in one chunk, the last 4."""
        *lines, last = chunk.split(b"\n")
        said: list[Said] = []
        for line, is_kept in zip(lines, last_of_each(lines), strict=True):
            if is_kept:
                said += self._complete(line)
        self._grow(last)
        if self._size > MESSAGE_BYTES and not self._is_told:
            head = bytes(self._rest[:_EDGE_BYTES])
            # The id of its request may be at its end; if it is not an object, its end is irrelevant.
            if not head.lstrip().startswith(b"{") or _ID.search(head.decode(errors="replace")):
                self._is_told = True
                said += self._too_long()
        return said

    def _complete(self, line: bytes) -> list[Said]:
        if not self._size:
            return self._read(line)
        self._grow(line)
        if self._size <= MESSAGE_BYTES:
            said = self._read(bytes(self._rest))
        else:
            said = [] if self._is_told else self._too_long()
        self._rest.clear()
        self._size, self._is_told = 0, False
        return said

    def _read(self, line: bytes) -> list[Said]:
        said = read(line)
        if not said and not self.noise:
            self.noise = noise_in(line)
        return said

    def _grow(self, more: bytes) -> None:
        self._size += len(more)
        self._rest += more
        if self._size > MESSAGE_BYTES:  # both ends are kept
            del self._rest[_EDGE_BYTES:-_EDGE_BYTES]

    def _too_long(self) -> list[Said]:
        text = self._rest.decode(errors="replace")
        why = TOO_LONG
        return list(_broken(text, why)) if text.lstrip().startswith("{") else [MalformedMessage(why)]


def noise_in(line: bytes) -> str:
    """Return the text of a line that is not a message, shortened; empty for a blank one."""
    text = line[: 4 * _WHY_CHARS].decode(errors="replace").strip()[:_WHY_CHARS]
    return f"{text!r}, which is not a message" if text else ""


def last_of_each(messages: Sequence[bytes]) -> list[bool]:
    """Return for each message whether it counts: of repeated notifications about one thing, the last 4 do."""
    seen: Counter[tuple[bytes, bytes]] = Counter()
    kept: list[bool] = []
    for message in reversed(messages):
        key = topic(message)
        if key is not None:
            seen[key] += 1
        kept.append(key is None or seen[key] <= KEPT)
    return kept[::-1]


def topic(message: bytes) -> tuple[bytes, bytes] | None:
    """Return what a notification is about that later ones of the same kind replace; None for any other message."""
    start = message[:_EDGE_BYTES]
    found = _REPEATED.search(start)
    if found is None or b'"result"' in start[: found.start()]:
        return None
    token = _TOKEN.search(start)
    return found[0], b"" if token is None else token[1]
