"""A checker for prompt caching: each request of a conversation begins with the one before, byte for byte.

A provider caches the prefix of a request, in the order tools, system, messages, up to each mark (`cache_control`); a later
request reads it if its own bytes up to there are the same and one of its marks is there or at most 20 blocks later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.models import ModelRequest, request_body
from greenroom.models.recordings import RecordedExchange
from greenroom.testing._messages_script import ReceivedRequest

MAX_MARKS: Final = 4
LOOKED_BACK: Final = 20
"""Number of blocks before a mark in which a provider looks for a cached prefix."""

_SHOWN: Final = 100
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_BEFORE: Final = 30

# Besides the prefix itself, the provider's cache key contains these.
_KEYED: Final = ("model", "thinking", "output_config", "tool_choice")

RequestLike: TypeAlias = ModelRequest | RecordedExchange | ReceivedRequest | Mapping[str, Any]
"""A request, one of a recorded run, one that a Messages server received, or the body of one."""


@final
class CacheMiss(AssertionError):
    """A request does not read the cached prefix of the one before it.

    Attributes:
        agent: The agent of the request; empty for bodies, which name no agent.
        number: Number of the request among those of its agent, from 1.
        why: The first difference.
    """

    def __init__(self, agent: str, number: int, why: str) -> None:
        super().__init__(f"request {number}{f' of {agent!r}' if agent else ''}: {why}")
        self.agent = agent
        self.number = number
        self.why = why


@attrs.frozen
class Flat:
    """A request from the view of the provider's cache: a sequence of blocks, some of them marked."""

    blocks: tuple[tuple[str, str], ...]
    """Place and bytes of each, without marks."""
    marks: tuple[int, ...]
    keyed: Mapping[str, str]


def check_cache_prefixes(requests: Iterable[RequestLike]) -> int:
    """Check that each request begins with the one before it, and reads its cached prefix.

    Requests of a `ScriptedModel` or a recorded run (`read_recording(run).exchanges`) are grouped by their agent; bodies
    must belong to one conversation.

    Returns:
        Number of compared pairs of requests: a check that compared none proves nothing.

    Raises:
        CacheMiss: A request does not.
    """
    last: dict[str, tuple[int, Flat]] = {}
    compared = 0
    for request in requests:
        agent = request.agent if isinstance(request, ModelRequest | RecordedExchange) else ""
        number, earlier = last.get(agent, (0, None))
        later = flat(_body(request))
        why = _many_marks(later) or (earlier and _difference(earlier, later))
        if why:
            raise CacheMiss(agent, number + 1, why)
        compared += earlier is not None
        last[agent] = (number + 1, later)
    return compared


def _body(request: RequestLike) -> Mapping[str, Any]:
    match request:
        case RecordedExchange():
            return _body(request.sent)
        case ModelRequest():
            return {"model": request.model, **request_body(request)}
        case ReceivedRequest():
            return request.body
    return request


def flat(body: Mapping[str, Any]) -> Flat:
    """Return a request's blocks in caching order."""
    parts = [(f"tools[{index}]", tool) for index, tool in enumerate(body.get("tools", ()))]
    system = body.get("system", ())
    texts = [{"type": "text", "text": system}] if isinstance(system, str) else system
    parts += [(f"system[{index}]", text) for index, text in enumerate(texts)]
    for index, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts += [(f"messages[{index}].content[{at}]", {"role": message["role"], **b}) for at, b in enumerate(blocks)]
    return Flat(
        tuple((place, _bytes({**part, "cache_control": None})) for place, part in parts),
        tuple(index for index, (_, part) in enumerate(parts) if part.get("cache_control")),
        {name: _bytes(body.get(name)) for name in _KEYED},
    )


def _bytes(value: Any) -> str:
    return _ENCODER.encode(value)  # the order of keys counts: it is bytes


def _many_marks(request: Flat) -> str:
    return f"at most {MAX_MARKS} marks are allowed, got {len(request.marks)}" if len(request.marks) > MAX_MARKS else ""


def _difference(earlier: Flat, later: Flat) -> str:
    """Return the reason why the later request does not read the earlier one's cached prefix; empty if it does."""
    for name in _KEYED:
        if earlier.keyed[name] != later.keyed[name]:
            return f"{name} was {earlier.keyed[name]} and is {later.keyed[name]}"
    for index, (place, text) in enumerate(earlier.blocks):
        if index >= len(later.blocks):
            return f"{place} is gone"
        if (place, text) != later.blocks[index]:
            was, now = _differing(text, later.blocks[index][1])
            return f"{place} was {was} and is {now}"
    if earlier.marks:
        written = earlier.marks[-1]
        if not any(0 <= mark - written <= LOOKED_BACK for mark in later.marks):
            return f"no mark reaches {earlier.blocks[written][0]}, up to where the request before it was cached"
    return ""


def _differing(was: str, now: str) -> tuple[str, str]:
    """Return the parts of both texts around their first difference."""
    pairs = zip(was, now, strict=False)
    same = next((at for at, (before, after) in enumerate(pairs) if before != after), min(len(was), len(now)))
    start = max(0, same - _BEFORE) if max(len(was), len(now)) > _SHOWN else 0
    return _part(was, start), _part(now, start)


def _part(text: str, start: int) -> str:
    end = start + _SHOWN
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
