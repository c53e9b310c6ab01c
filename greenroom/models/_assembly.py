"""A response put together from the pieces in which it arrives, valid at every instant.

Rule 1: blocks come one after the other; a piece for a block that is not open is the provider's mistake. Rule 2: only what
may be appended to a conversation shows: complete blocks, and text as far as it has come. Rule 3: the deltas that were
given out, joined, are the blocks that are shown in the end.
Must not know: clock, sockets, Trio, and how a provider writes its events.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast, final

import attrs

from greenroom.models._clean_text import Joiner, clean, clean_json, is_simple, to_json
from greenroom.models._failures import failure
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
    Usage,
    UsageDelta,
)

DEEPEST: Final = 100
"""So many levels a tool's input may have: every JSON writer on its way to disk and provider can take it."""

# With these the model says that it wrote all it wanted, so a tool input that is no JSON cannot be its intention.
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
    """What has arrived of one response."""

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
        """The stop reason has come."""
        return self._stop_reason is not None

    def begin(self, *, id: str, model: str, usage: Usage) -> Delta:  # noqa: A002
        """Take the head of the message."""
        self._id, self._model, self._usage = clean(id), clean(model), usage
        return UsageDelta(usage)

    def open_text(self) -> None:
        """Begin a text block."""
        self._begin_block(_OpenText())

    def open_thinking(self) -> None:
        """Begin a thinking block."""
        self._begin_block(_OpenThinking())

    def open_tool_use(self, *, id: str, name: str, initial: Mapping[str, Any] | None = None) -> Delta:  # noqa: A002
        """Begin a tool use; `initial` is its input if no JSON follows."""
        self._begin_block(_OpenToolUse(clean(id), clean(name), initial or {}))
        return ToolUseStarted(clean(id), clean(name))

    def add_redacted(self, content: str) -> None:
        """Take a thinking block whose text is hidden; it comes whole."""
        self._begin_block(None)
        self._blocks.append(ThinkingBlock("", clean(content), is_redacted=True))

    def skip_block(self) -> None:
        """Begin a block of a kind that is not known here; it leaves no trace."""
        self._begin_block(_OpenBlock())

    @property
    def is_skipping(self) -> bool:
        """The open block is of an unknown kind, so its pieces mean nothing here."""
        return type(self._open) is _OpenBlock

    def add_text(self, piece: str) -> Delta | None:
        """Take more text."""
        return _take(self._expect(_OpenText), piece)

    def add_thinking(self, piece: str) -> Delta | None:
        """Take more thinking."""
        return _take(self._expect(_OpenThinking), piece)

    def sign(self, signature: str) -> None:
        """Take the signature of the open thinking block."""
        self._expect(_OpenThinking).signature += clean(signature)

    def add_json(self, piece: str) -> Delta | None:
        """Take more JSON of a tool's input."""
        return _take(self._expect(_OpenToolUse), piece)

    def end_block(self) -> Delta | None:
        """Complete the open block, if there is one.

        A tool input that is no JSON object, or too deep, is left out; `end` decides whether that may be.
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
        """Take the usage so far; it replaces the one before."""
        self._usage = usage
        return UsageDelta(usage)

    def end(self, stop_reason: str) -> None:
        """Take the reason why the model stopped.

        Raises:
            ProviderError: `protocol`: the model says that it ended by itself, but a tool's input is no JSON object, or
                nested too deeply.
        """
        if self._has_broken_input and stop_reason in _WHOLE:
            why = f"the input of a tool use is no JSON object of at most {DEEPEST} levels"
            raise failure("protocol", why, is_retryable=True)
        self._stop_reason = stop_reason

    def _begin_block(self, block: _OpenBlock | None) -> None:
        if self._open is not None or self.is_complete:
            raise failure("protocol", "a block begins before the one before it has ended", is_retryable=True)
        self._open = block

    def _expect(self, kind: type[_B]) -> _B:
        if not isinstance(self._open, kind):
            raise failure("protocol", "a piece came for a block that is not open", is_retryable=True)
        return self._open


def _take(block: _OpenBlock, piece: str | None) -> Delta | None:
    """Add a piece to a block, or with None what its joiner still holds; return the delta, if any text came out."""
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
            # Without its signature it was cut, and would be refused when it is passed back.
            return ThinkingBlock(text, block.signature) if block.signature else None
        case _OpenToolUse():
            value = read_object(text) if text else _as_input(block.initial)
            return None if value is None else ToolUseBlock(block.id, block.name, value)
        case _OpenText():
            return TextBlock(text)
    return None


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that `text` is, with clean texts; None if it is none that can be written again."""
    import orjson

    try:
        values: Any = orjson.loads(text)
    except ValueError:  # also for what the slower reader takes, such as half a character
        values = None
    if is_simple(values):
        return cast("dict[str, Any]", values)
    try:
        return _as_input(_READ_JSON(text))
    except (ValueError, RecursionError):
        return None


def through_json(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what `read_object` makes of `to_json(value)`; what is plain is looked at once and not three times."""
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
    """Whether a value has more than `DEEPEST` levels; level by level, so that no depth is too much."""
    level = [value]
    for _ in range(DEEPEST):
        if len(level) == 1 and type(level[0]) is dict and _PLAIN.issuperset(map(type, level[0].values())):
            return False  # most inputs end here, and looking at everything is dear
        inner = [one.values() if isinstance(one, Mapping) else one for one in level]
        level = [one for values in inner for one in values if isinstance(one, Mapping | list)]
        if not level:
            return False
    return True


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # Python reads `NaN` and `1e999`, but no strict writer takes them
        raise ValueError(text)
    return number


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_READ_JSON: Final = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).decode
"""`json.loads` with options makes a new decoder at each call, for most of its price."""
