"""Assembly of a response from its pieces, valid at every instant.

Rule 1: blocks come one after the other; a piece for a block that is not open is the provider's error. Rule 2: only
content that may be appended to a conversation is visible: complete blocks, and text so far. Rule 3: the returned
deltas, joined, are the blocks that are visible in the end.

Must not know: clock, sockets, Trio, and the provider's format of events.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast, final

import attrs

from greenroom.models._clean_text import Joiner, clean, clean_json, is_simple, to_json
from greenroom.models._failure_kinds import failure
from greenroom.models._token_usage import Usage
from greenroom.models._types import (
    Block,
    Delta,
    ModelResponse,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseBlock,
    ToolUseStarted,
    UsageDelta,
)

DEEPEST: Final = 100
"""Maximum nesting of a tool's input: every JSON writer on its way to disk and provider supports it."""

# With these the model says that it ended by choice, so a tool input that is not JSON cannot be intended.
_WHOLE: Final = frozenset({"end_turn", "tool_use", "stop_sequence"})


@attrs.define
class _OpenBlock:
    parts: list[str] = attrs.field(factory=list, kw_only=True)
    joiner: Joiner = attrs.field(factory=Joiner, kw_only=True)


@attrs.define
class _OpenText(_OpenBlock):
    pass


@attrs.define
class _OpenThinking(_OpenBlock):
    signature: str = ""


@attrs.define
class _OpenToolUse(_OpenBlock):
    id: str
    name: str
    initial: Mapping[str, Any]


_B = TypeVar("_B", bound=_OpenBlock)


@final
class Assembly:
    """The received part of one response."""

    __slots__ = ("_blocks", "_has_broken_input", "_id", "_model", "_open", "_stop_reason", "_usage")

    def __init__(self, model: str) -> None:
        self._model = model
        self._id = ""
        self._usage = Usage()
        self._blocks: list[Block] = []
        self._open: _OpenBlock | None = None
        self._has_broken_input = False
        self._stop_reason: str | None = None

    @property
    def so_far(self) -> ModelResponse:
        """The valid part; once the stop reason is known, all of the response."""
        blocks = list(self._blocks)
        if isinstance(self._open, _OpenText):
            blocks.append(TextBlock("".join(self._open.parts)))
        content = [block for block in blocks if not (isinstance(block, TextBlock) and not block.text.strip())]
        # The provider accepts no assistant message that ends in thinking.
        while content and isinstance(content[-1], ThinkingBlock):
            content.pop()
        return ModelResponse(tuple(content), self._stop_reason, self._usage, self._model, self._id)

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return self._usage

    @property
    def is_complete(self) -> bool:
        """True once the stop reason has come."""
        return self._stop_reason is not None

    def begin(self, *, id: str, model: str, usage: Usage) -> Delta:  # noqa: A002
        """Start the message."""
        self._id, self._model, self._usage = clean(id), clean(model), usage
        return UsageDelta(usage)

    def open_text(self) -> None:
        """Start a text block."""
        self._begin_block(_OpenText())

    def open_thinking(self) -> None:
        """Start a thinking block."""
        self._begin_block(_OpenThinking())

    def open_tool_use(self, *, id: str, name: str, initial: Mapping[str, Any] | None = None) -> Delta:  # noqa: A002
        """Start a tool use; `initial` is its input if no JSON follows."""
        self._begin_block(_OpenToolUse(clean(id), clean(name), initial or {}))
        return ToolUseStarted(clean(id), clean(name))

    def add_redacted(self, content: str) -> None:
        """Add a thinking block with hidden text; it comes whole."""
        self._begin_block(None)
        self._blocks.append(ThinkingBlock("", clean(content), is_redacted=True))

    def skip_block(self) -> None:
        """Start a block of an unknown kind; it is dropped."""
        self._begin_block(_OpenBlock())

    @property
    def is_skipping(self) -> bool:
        """True if the open block is of an unknown kind, so that its pieces are dropped."""
        return type(self._open) is _OpenBlock

    def add_text(self, piece: str) -> Delta | None:
        """Add text."""
        return _take(self._expect(_OpenText), piece)

    def add_thinking(self, piece: str) -> Delta | None:
        """Add thinking."""
        return _take(self._expect(_OpenThinking), piece)

    def sign(self, signature: str) -> None:
        """Add the signature of the open thinking block."""
        self._expect(_OpenThinking).signature += clean(signature)

    def add_json(self, piece: str) -> Delta | None:
        """Add JSON of a tool's input."""
        return _take(self._expect(_OpenToolUse), piece)

    def end_block(self) -> Delta | None:
        """Complete the open block, if there is one.

        A tool input that is not a JSON object, or nested too deeply, is left out; `end` decides whether that is an
        error.
        """
        block, self._open = self._open, None
        if block is None:
            return None
        delta = _take(block, None)
        complete = _completed(block)
        if complete is not None:
            self._blocks.append(complete)
        elif isinstance(block, _OpenToolUse):
            self._has_broken_input = True
        return delta

    def use(self, usage: Usage) -> Delta:
        """Set the usage so far; it replaces the previous one."""
        self._usage = usage
        return UsageDelta(usage)

    def end(self, stop_reason: str) -> None:
        """Set the stop reason.

        Raises:
            ProviderError: `protocol`: the model ended by choice, but a tool's input is not a JSON object, or nested too
                deeply.
        """
        if self._has_broken_input and stop_reason in _WHOLE:
            why = f"the input of a tool use must be a JSON object of at most {DEEPEST} levels"
            raise failure("protocol", why, is_retryable=True)
        self._stop_reason = stop_reason

    def _begin_block(self, block: _OpenBlock | None) -> None:
        if self._open is not None or self.is_complete:
            raise failure("protocol", "a block starts before the previous one has ended", is_retryable=True)
        self._open = block

    def _expect(self, kind: type[_B]) -> _B:
        if not isinstance(self._open, kind):
            raise failure("protocol", "a piece arrived for a block that is not open", is_retryable=True)
        return self._open


def _take(block: _OpenBlock, piece: str | None) -> Delta | None:
    """Add a piece to a block, or with None the rest that its joiner holds; return the delta, if there is new text."""
    text = block.joiner.end() if piece is None else block.joiner.feed(piece)
    if not text:
        return None
    block.parts.append(text)
    match block:
        case _OpenThinking():
            return ThinkingDelta(text)
        case _OpenToolUse():
            return ToolInputDelta(block.id, text)
    return TextDelta(text)


def _completed(block: _OpenBlock) -> Block | None:
    text = "".join(block.parts)
    match block:
        case _OpenThinking():
            # A block without signature was cut, and would be refused when it is passed back.
            return ThinkingBlock(text, block.signature) if block.signature else None
        case _OpenToolUse():
            value = read_object(text) if text else _as_input(block.initial)
            return None if value is None else ToolUseBlock(block.id, block.name, value)
        case _OpenText():
            return TextBlock(text)
    return None


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in `text`, with clean texts; None if it is not one that can be written again."""
    import orjson

    try:
        values: Any = orjson.loads(text)
    except ValueError:  # also for input that only the slower reader accepts, such as a lone surrogate
        values = None
    if is_simple(values):
        return cast("dict[str, Any]", values)
    try:
        return _as_input(_READ_JSON(text))
    except (ValueError, RecursionError):
        return None


def through_json(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result of `read_object` for `to_json(value)`; a plain value is inspected once instead of three times."""
    import orjson

    if is_simple(value):
        try:
            made: dict[str, Any] = orjson.loads(orjson.dumps(value))
            return made
        except TypeError:  # as in `to_json`
            pass
    return read_object(to_json(value))


def _as_input(value: Any) -> dict[str, Any] | None:
    return clean_json(value) if isinstance(value, Mapping) and not _is_deep(value) else None


def _is_deep(value: Any) -> bool:
    """True if a value has more than `DEEPEST` levels; checked level by level, so that no depth is too much."""
    level = [value]
    for _ in range(DEEPEST):
        if len(level) == 1 and type(level[0]) is dict and _PLAIN.issuperset(map(type, level[0].values())):
            return False  # most inputs end here, and a full check is expensive
        inner = [node.values() if isinstance(node, Mapping) else node for node in level]
        level = [child for values in inner for child in values if isinstance(child, Mapping | list)]
        if not level:
            return False
    return True


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # Python reads `NaN` and `1e999`, but strict writers refuse them
        raise ValueError(text)
    return number


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_READ_JSON: Final = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).decode
"""`json.loads` with options makes a new decoder at each call, which is most of its cost."""
