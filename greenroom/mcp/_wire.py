"""What a server says, from bytes to messages: each line is messages, something that cannot be read, or noise.

Rule 1: nothing here raises, whatever the bytes are. Rule 2: what is meant as a message and cannot be read is an `Unreadable`, never
nothing: somebody may wait for it. Rule 3: small slips (a number as `1.0`, `"error": null` beside a result, a missing `jsonrpc`,
broken UTF-8, a batch) are mended; nobody gains by refusing these.
Must not know: streams, who waits for an answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

MESSAGE_BYTES: Final = 16 * 1024**2
"""A message with more is not read."""
LINE_BYTES: Final = 16 * MESSAGE_BYTES
"""A line with more ends the connection."""
_EDGE_BYTES: Final = 4_096
"""How much of each end of a line that is too long is looked at for whose answer it is."""
_WHY_CHARS: Final = 200
_INTERNAL_ERROR: Final = -32603
_KEPT: Final = 4
"""How many notifications of one kind, and about one call, count of those that are read at once."""
_SHAPES: Final = (b'"method"', b'"result"', b'"error"')
_ID: Final = re.compile(r'"id"\s*:\s*(-?\d+(?![\d.eE])|"[^"\\]*")')
_ANSWER: Final = re.compile(r'"(?:result|error)"\s*:')
_REPEATED: Final = re.compile(
    rb'"method"\s*:\s*"notifications/(?:progress|message|(?:tools|prompts|resources)/list_changed)"'
)
_TOKEN: Final = re.compile(rb'"progressToken"\s*:\s*(-?\d+|"[^"\\]*")')


@final
class Unreadable(Exception):
    """Something that is meant as a message, and cannot be read.

    Attributes:
        why: What is wrong with it.
        id: Of the request that it answers, or that it is; None where that cannot be told.
        is_request: Whether it is a request of the server's.
    """

    def __init__(self, why: str, id: Any = None, *, is_request: bool = False) -> None:  # noqa: A002 - the protocol's own word
        super().__init__(why)
        self.why = why
        self.id = id
        self.is_request = is_request


Said: TypeAlias = "JSONRPCMessage | Unreadable"


def read(said: bytes) -> list[Said]:
    """Return what a line, or a frame, says; nothing for what is not meant as a message."""
    import mcp_types

    if (
        sum(shape in said for shape in _SHAPES) == 1
    ):  # else the first model that fits would be taken, whatever else is there
        try:
            return [mcp_types.jsonrpc_message_adapter.validate_json(said, by_name=False)]
        except ValueError:
            pass
    text = said.decode("utf-8-sig", errors="replace")
    is_whole = text.lstrip().startswith(("{", "["))
    if not is_whole and not ('"jsonrpc"' in text and _ANSWER.search(text)):
        return []  # a line of a log, which may well show what the server was asked
    made: list[Said] = []
    try:
        for value in _values(text):
            each = value if isinstance(value, list) else [value]
            made += [message for one in each if isinstance(one, Mapping) for message in _messages(one)]
    except (ValueError, RecursionError) as problem:
        made += [] if made else _broken(text, f"it is not JSON: {problem}")
    return made if is_whole else [one for one in made if not hasattr(one, "method")]


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a line, which may have other text around them."""
    decoder = json.JSONDecoder()
    at = text.find("[{") if text.lstrip().startswith("[{") else text.find("{")
    while at >= 0:
        value, at = decoder.raw_decode(text, at)
        if not text.isascii() or "\\u" in text:  # without lone surrogates, which no text may hold
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        yield value
        at = text.find("{", at)


def _broken(text: str, why: str) -> Iterator[Unreadable]:
    """Yield that an answer cannot be read, and whose; nothing for other JSON, such as the lines of a log."""
    answer = _ANSWER.search(text)
    head = text if answer is None else text[: answer.start()]
    if '"method"' in head or (answer is None and '"jsonrpc"' not in head):
        return
    found = _ID.search(head) or (None if answer is None else _last(_ID.finditer(text, answer.end())))
    yield Unreadable(why[:_WHY_CHARS], None if found is None else json.loads(found[1]))


def _last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    last = None
    for last in found:  # noqa: B007 - the last one is what is wanted
        pass
    return last


def _messages(value: Mapping[str, Any]) -> Iterator[Said]:
    """Yield what an object says: a message at most."""
    number = value.get("id")
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    has_number = isinstance(number, int | str) and not isinstance(number, bool)
    if isinstance(value.get("method"), str) and value.get("result") is None and value.get("error") is None:
        yield from _call(value, number if has_number else None)
    elif "result" in value or "error" in value:
        yield _answer(value, number if has_number else None)
    elif "jsonrpc" in value and has_number:
        yield Unreadable("it holds neither a result nor an error", number)


def _call(value: Mapping[str, Any], number: int | str | None) -> Iterator[Said]:
    """Yield a request, or a notification; one of those without sensible `params` is not worth an answer."""
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
        yield Unreadable("its params are not an object", number, is_request=True)


def _answer(value: Mapping[str, Any], number: int | str | None) -> Said:
    import mcp_types

    result, error = value.get("result"), value.get("error")
    if error is not None and result is not None:
        return Unreadable(f"it holds both a result and an error ({_error_text(error)})", number)
    if error is not None:
        code = error.get("code") if isinstance(error, Mapping) else None
        if not isinstance(code, int) or isinstance(code, bool):
            code = _INTERNAL_ERROR
        data = error.get("data") if isinstance(error, Mapping) else None
        said = mcp_types.ErrorData(code=code, message=_error_text(error), data=data)
        return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=said)
    if not isinstance(result, Mapping):
        return Unreadable(f"its result must be an object, got {shown(result)}", number)
    if number is None:
        return Unreadable(f"its id must be that of a request, got {shown(value.get('id'))}")
    return mcp_types.JSONRPCResponse(jsonrpc="2.0", id=number, result=dict(result))


def _error_text(error: object) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return message if isinstance(message, str) and message.strip() else shown(error)


def shown(value: object, most: int = _WHY_CHARS) -> str:
    """Return a JSON value on one line, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


@final
@attrs.define(eq=False)
class Lines:
    """Makes lines of the bytes of a program's output, and keeps no more of one than a message may have."""

    _rest: bytearray = attrs.field(factory=bytearray)
    _size: int = 0
    """How long the line that is not complete is so far."""
    _is_told: bool = False
    """Whether it was said already that the line is too long."""
    noise: str = ""
    """The first line that is not meant as a message, cut."""

    @property
    def is_endless(self) -> bool:
        """Whether the line that is not complete is longer than anybody waits for its end."""
        return self._size > LINE_BYTES

    def feed(self, chunk: bytes) -> list[Said]:
        """Return what has been said completely; of notifications that repeat each other in one chunk the last 4 count."""
        *lines, last = chunk.split(b"\n")
        said: list[Said] = []
        for line in _without_repeated(lines):
            said += self._complete(line)
        self._grow(last)
        if self._size > MESSAGE_BYTES and not self._is_told:
            head = bytes(self._rest[:_EDGE_BYTES])
            # Whose it is may stand at its end alone; what is not an object has no end that is worth waiting for.
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
        why = f"it is longer than {MESSAGE_BYTES} bytes"
        return list(_broken(text, why)) if text.lstrip().startswith("{") else [Unreadable(why)]


def noise_in(line: bytes) -> str:
    """Return what a line that says nothing holds instead, cut; empty for a blank one."""
    text = line[: 4 * _WHY_CHARS].decode(errors="replace").strip()[:_WHY_CHARS]
    return f"{text!r}, which is no message" if text else ""


def _without_repeated(lines: list[bytes]) -> list[bytes]:
    """Return lines without notifications that many later ones of the same kind make pointless, in their order."""
    seen: Counter[tuple[bytes, bytes]] = Counter()
    kept: list[bytes] = []
    for line in reversed(lines):
        start = line[:_EDGE_BYTES]
        found = _REPEATED.search(start)
        if found is not None and b'"result"' not in start[: found.start()]:
            token = _TOKEN.search(start)
            key = (found[0], b"" if token is None else token[1])
            seen[key] += 1
            if seen[key] > _KEPT:
                continue
        kept.append(line)
    return kept[::-1]
