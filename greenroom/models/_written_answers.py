"""Hand-written answers: for playbooks, scripts and the loopback server.

"Done."                                              text
    Call("Read", {"path": "setup.py"})                   one tool call
    [Say("Let me look."), Call("Glob", {"pattern": "*"})]
    Answer([Say("I was cut")], stop_reason="max_tokens")
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import attrs

from greenroom.models._clean_text import clean, json_size
from greenroom.models._response_assembly import through_json
from greenroom.models._token_usage import Usage
from greenroom.models._types import ModelRequest, TextBlock, ThinkingBlock


@attrs.frozen
class Say:
    """Text."""

    text: str


@attrs.frozen
class Call:
    """A tool call."""

    name: str
    input: Mapping[str, Any] = attrs.field(factory=dict)
    id: str | None = attrs.field(default=None, kw_only=True)
    """None: derived from the conversation, so that the same conversation gives the same id."""


@attrs.frozen
class Think:
    """Thinking."""

    thinking: str
    signature: str = "signed"


Part: TypeAlias = Say | Call | Think
Reading: TypeAlias = tuple[TextBlock | ThinkingBlock | tuple[str, dict[str, Any]], ...] | None


def _as_tuple(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(parts)


@attrs.frozen(
    slots=False
)  # most are made for one request; the kept part of it is in its dict, at no cost for the others
class WrittenAnswer:
    """A whole answer."""

    parts: tuple[Part, ...] = attrs.field(default=(), converter=_as_tuple)
    stop_reason: str | None = attrs.field(default=None, kw_only=True)
    """None: `tool_use` if there is a call, else `end_turn`."""
    usage: Usage | None = attrs.field(default=None, kw_only=True)
    """None: the streaming model decides; a playbook estimates, see `estimate_tokens`."""

    @property
    def ends_with(self) -> str:
        """The stop reason to send."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(part, Call) for part in self.parts) else "end_turn"

    @property
    def reading(self) -> Reading:
        """Return the content for a reader without deltas, a call as its name and input; None if an input is not JSON."""
        kept = self.__dict__
        if _READING not in kept:
            kept[_READING] = _read(self.parts)
        reading: Reading = kept[_READING]
        return reading


_READING: Final = "_reading"


def _read(parts: tuple[Part, ...]) -> Reading:
    reading: list[TextBlock | ThinkingBlock | tuple[str, dict[str, Any]]] = []
    for part in parts:
        if isinstance(part, Say):
            if part.text.strip():
                reading.append(TextBlock(clean(part.text)))
        elif isinstance(part, Call):
            values = through_json(part.input)
            if values is None:
                return None
            reading.append((clean(part.name), values))
        elif part.signature:
            reading.append(ThinkingBlock(clean(part.thinking), clean(part.signature)))
    while reading and isinstance(reading[-1], ThinkingBlock):
        reading.pop()
    return tuple(reading)


AnswerLike: TypeAlias = WrittenAnswer | Part | str | Sequence[Part]
"""An answer, in full or in short form; a `str` is text."""


def as_answer(answer: AnswerLike) -> WrittenAnswer:
    """Return the full answer of a short form."""
    if isinstance(answer, WrittenAnswer):
        return answer
    if isinstance(answer, str):
        return WrittenAnswer((Say(answer),))
    if isinstance(answer, Say | Call | Think):
        return WrittenAnswer((answer,))
    return WrittenAnswer(answer)


def estimate_tokens(characters: int) -> int:
    """Return a rough number of tokens: one for four characters, rounded up.

    An estimate for models that do not count tokens. The same text always gives the same number.
    """
    return -(-characters // 4)


def estimate_usage(request: ModelRequest, answer: WrittenAnswer | None = None) -> Usage:
    """Return the estimated usage of a request and its answer: the whole request counts as input, nothing is cached."""
    sent = len(request.system) + sum([message.characters for message in request.messages])
    tools = sum([tool.characters for tool in request.tools])
    said = sum(_written(part) for part in answer.parts) if answer is not None else 0
    return Usage(estimate_tokens(sent + tools), estimate_tokens(said))


def name_calls(request: ModelRequest, answer: WrittenAnswer) -> tuple[str, ...]:
    """Return the id of each call of an answer, in order.

    It is derived from the agent, the length of the conversation and the index of the call in the answer, so the same
    conversation gives the same ids and no two calls of one conversation share one.
    """
    ids: list[str] = []
    for part in answer.parts:
        if isinstance(part, Call):
            made = f"toolu_{_fit(request.agent)}_{len(request.messages)}_{len(ids) + 1}"
            ids.append(made if part.id is None else clean(part.id))
    return tuple(ids)


@lru_cache(maxsize=4096)
def _fit(agent: str) -> str:
    """Return an agent's id in the characters that the provider allows in the id of a call."""
    return re.sub(r"[^a-zA-Z0-9-]", "-", agent)


def cut_up(text: str, pieces: int) -> list[str]:
    """Return `text` in at most `pieces` pieces of about equal size, none of them empty."""
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _written(part: Part) -> int:
    match part:
        case Say(text):
            return len(text)
        case Call(name, value):
            return len(name) + json_size(value)
        case Think(thinking):
            return len(thinking)
