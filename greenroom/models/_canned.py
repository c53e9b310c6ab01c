"""Answers that are known in advance, streamed like a provider's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, assert_never, final

import attrs
import trio

from greenroom.core import ProviderError
from greenroom.models._clean_text import to_json
from greenroom.models._response_assembly import Assembly
from greenroom.models._token_usage import Usage
from greenroom.models._types import Delta, ModelRequest, ModelResponse, ToolUseBlock
from greenroom.models._written_answers import Call, Say, Think, WrittenAnswer, cut_up

PIECES: Final = 2
"""Default number of pieces in which a text or an input is streamed."""


@attrs.define(
    kw_only=True, eq=False
)  # made once per request, short-lived and never changed: frozen it costs twice as much
class Canned:
    """An answer with everything needed to stream it."""

    answer: WrittenAnswer
    call_ids: tuple[str, ...]
    """Clean text, as `id` is."""
    usage: Usage
    id: str
    wait_s: float = 0.0
    """Seconds before the first delta."""
    error: ProviderError | None = None
    """Raised in place of the delta that follows the first `error_after` ones."""
    error_after: int = 0


@final
class CannedSource:
    """Streams one canned answer; `prepare` is called by the first read, which is when a request counts as sent."""

    __slots__ = ("_assembly", "_canned", "_count", "_deltas", "_model", "_pieces", "_prepare", "_request", "_whole")

    def __init__(
        self, prepare: Callable[[ModelRequest], Canned], request: ModelRequest, *, model: str, pieces: int
    ) -> None:
        self._prepare = prepare
        self._request = request
        self._model = model  # clean text
        self._pieces = pieces
        self._canned: Canned | None = None
        self._count = 0
        # Made when the first delta is read: a reader of the whole answer needs neither.
        self._assembly: Assembly | None = None
        self._deltas: Iterator[Delta] | None = None
        self._whole: ModelResponse | None = None

    @property
    def so_far(self) -> ModelResponse:
        """The valid part of what has been streamed."""
        if self._whole is not None:
            return self._whole
        return self._assembly.so_far if self._assembly is not None else Assembly(self._model).so_far

    async def finish(self) -> bool:
        """Return the whole answer at once if no delta was read and no error is scripted."""
        if self._canned is not None:
            return False
        self._canned = canned = self._prepare(self._request)
        await trio.sleep(canned.wait_s)
        if canned.error is None:
            self._whole = whole_response(canned, self._model)
        return self._whole is not None

    async def next_delta(self) -> Delta | None:
        """Return the next delta; the first one comes after the answer's delay."""
        if self._canned is None:
            self._canned = self._prepare(self._request)
            await trio.sleep(self._canned.wait_s)
        else:
            # Not a full checkpoint: an answer has a handful of deltas, and yielding at each of them would take half of
            # the time of
            await trio.lowlevel.checkpoint_if_cancelled()
        if self._canned.error is not None and self._count >= self._canned.error_after:
            raise self._canned.error
        self._count += 1
        if self._deltas is None:
            self._assembly = Assembly(self._model)
            self._deltas = _deltas(self._canned, self._assembly, self._pieces)
        delta = next(self._deltas, None)
        if delta is None and self._canned.error is not None:
            raise self._canned.error  # scripted for later than the answer has deltas
        return delta

    @property
    def is_holding(self) -> bool:
        """Always False."""
        return False

    async def close(self) -> None:
        """Do nothing."""


def whole_response(canned: Canned, model: str) -> ModelResponse | None:
    """Return the result of an answer's deltas without making them; None if an input is not JSON."""
    reading = canned.answer.reading
    if reading is None:
        return None
    ids = iter(canned.call_ids)
    blocks = [ToolUseBlock(next(ids), *block) if isinstance(block, tuple) else block for block in reading]
    stop_reason = canned.answer.stop_reason or ("tool_use" if canned.call_ids else "end_turn")
    return ModelResponse(tuple(blocks), stop_reason, canned.usage, model, canned.id)


def _deltas(canned: Canned, assembly: Assembly, pieces: int) -> Iterator[Delta]:
    """Assemble the answer piece by piece; between two deltas the assembly is up to date."""
    model = assembly.so_far.model
    yield assembly.begin(id=canned.id, model=model, usage=attrs.evolve(canned.usage, output_tokens=0))
    ids = iter(canned.call_ids)
    for part in canned.answer.parts:
        match part:
            case Say(text):
                assembly.open_text()
                add = assembly.add_text
            case Think(text):
                assembly.open_thinking()
                add = assembly.add_thinking
            case Call(name, value):
                yield assembly.open_tool_use(id=next(ids), name=name)
                text, add = to_json(value), assembly.add_json
            case _:
                assert_never(part)
        yield from (delta for delta in map(add, cut_up(text, pieces)) if delta is not None)
        if isinstance(part, Think):
            assembly.sign(part.signature)
        last = assembly.end_block()
        if last is not None:
            yield last
    assembly.end(canned.answer.ends_with)
    yield assembly.use(canned.usage)
