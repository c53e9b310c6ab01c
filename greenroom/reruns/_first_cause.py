"""The first cause of a difference: the part of a request that differs, named after what made it.

A re-run ends at its first difference, so everything that came before it was equal: what differs here is not the result of
another difference, save where it says so in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from greenroom.effects import Difference, EffectReplay, RecordedEffect
from greenroom.hooks import HookEvent

_PLACE: Final = re.compile(r"(?P<part>\w+)(?:\[(?P<index>\d+)\](?:\.content\[(?P<block>\d+)\])?)?")
_MAIL: Final = ("<teammate-message", "<task-notification", "<channel", "<cross-session-message")
_SENDER: Final = re.compile(r'<(?:teammate-message) teammate_id="(?P<name>[^"]*)"')
_BOARD: Final = re.compile(r"Task #\d+ |All \d+ tasks on the board")
"""Beginnings of what the board says to an agent."""
_BOARD_TOOLS: Final = frozenset(("TaskCreate", "TaskGet", "TaskList", "TaskUpdate"))
_FILE: Final = re.compile(r"^## (?P<path>/[^\n]+?) \(", re.MULTILINE)
"""The heading of a file of instructions; its text begins two lines below."""
_PART: Final = re.compile(r"^# ([^\n]+)", re.MULTILINE)
_SURROUNDINGS: Final = frozenset(("Environment", "Git"))
"""Parts of a prompt that tell of the machine and the day."""
_BY_PART: Final = {"definition": "definition", "model": "definition", "effort": "definition"}


def with_cause(difference: Difference, asked: Mapping[str, Any], effects: EffectReplay | None = None) -> Difference:
    """Return a difference of a request with its cause.

    Args:
        difference: Its place is one in a request.
        asked: The request of the re-run, as plain values.
        effects: What was served before it.
    """
    place = _PLACE.match(difference.where)
    if place is None:
        return difference
    cause, detail = _cause(place["part"], place["index"], place["block"], difference, asked)
    if effects is not None and cause in ("tool result", "code"):
        call = _block_at(asked.get("messages", ()), place["index"], place["block"]).get("tool_use_id", "")
        cause, detail = _decided(difference, effects, call) or (cause, detail)
    return attrs.evolve(difference, cause=cause, detail=detail or difference.detail)


def _cause(
    part: str, index: str | None, block: str | None, difference: Difference, asked: Mapping[str, Any]
) -> tuple[str, str]:
    if part in _BY_PART:
        return _BY_PART[part], f"the agent's {part} has changed"
    if part == "retries":
        return "retries", "the settings allow another number of attempts, and the request was retried"
    if part == "system":
        return _cause_in_text(difference, otherwise="definition", detail="the system prompt has changed")
    if part == "tools":
        return _cause_in_tools(index, difference, asked)
    if part == "messages" and index is not None:
        return _cause_in_messages(int(index), block, difference, asked.get("messages", ()))
    return "code", f"the request's {part} has changed, and nothing before it differs"


def _cause_in_tools(index: str | None, difference: Difference, asked: Mapping[str, Any]) -> tuple[str, str]:
    tools = asked.get("tools", ())
    name = tools[int(index)]["name"] if index is not None and int(index) < len(tools) else ""
    recorded, now = difference.recorded, difference.now
    if difference.where.endswith(".name"):
        return "tool list or schema", f"{now} is now where {recorded} was"
    is_whole = recorded is None or now is None
    if name == "Skill" and (is_whole or difference.where.endswith(".description")):
        return "skill", "the list of skills has changed"
    if name == "Agent" and (is_whole or difference.where.endswith(".description")):
        return "definition", "the list of agents has changed"
    if now is None and isinstance(recorded, Mapping):
        return "tool list or schema", f"the tool {recorded.get('name', '')} is missing"
    return "tool list or schema", f"of the tool {name}"


def _cause_in_messages(
    index: int, block: str | None, difference: Difference, messages: Sequence[Mapping[str, Any]]
) -> tuple[str, str]:
    sides = (difference.recorded, difference.now)
    if index >= len(messages) or block is None:
        roles = {side["role"] if isinstance(side, Mapping) else side for side in sides if side}
        if "assistant" in roles and (difference.where.endswith(".role") or None in sides):
            return "model answer", "one side has an answer that the other does not have, or one that failed there"
        return "code", "the conversation has another number of messages, and nothing before it differs"
    found = _block_at(messages, str(index), block)
    if found.get("type") == "tool_result":
        call = found.get("tool_use_id", "")
        name = next((use["name"] for use in _uses(messages) if use.get("id") == call), "")
        cause = "board" if name in _BOARD_TOOLS else "tool result"
        return cause, f"of the call {call} of {name or 'a tool'}"
    if messages[index].get("role") == "assistant":
        return "model answer", "the agent has said something else before"
    texts = [side for side in sides if isinstance(side, str)]
    if any(mark in text for text in texts for mark in _MAIL):
        senders = [sender["name"] for text in texts if (sender := _SENDER.match(text))]
        if len(set(senders)) > 1:
            return "order", f"a message of {senders[1]} has come where one of {senders[0]} was"
        return "mail", "a message that the agent read has changed"
    if any(map(_BOARD.match, texts)):
        return "board", "an item of the board, or what is said of it, has changed"
    if block == "0" and found.get("type") == "text" and not str(found.get("text")).startswith("<"):
        return _cause_in_text(difference, otherwise="prompt", detail="the agent was told something else")
    return _cause_in_text(difference, otherwise="code", detail="the same inputs gave another request")


def _decided(difference: Difference, effects: EffectReplay, call: str) -> tuple[str, str] | None:
    """Return the cause of what a hook or a person has decided, or today's rules; None if no such decision is behind it.

    Args:
        difference: The difference of a request.
        effects: What was served before it.
        call: The id of the call in whose result it is; empty if it is in no result.
    """
    for effect in effects.decisions(difference.agent, call):
        if (call and _refuses(effect)) or _adds(effect.got, difference):
            return ("permission" if effect.of == "answer" else "hook"), f"the {effect.of} {effect.key}"
    if call and effects.is_left(difference.agent, call):
        return "permission", f"the call {call} is refused now, and was run then"
    return None


def _refuses(effect: RecordedEffect) -> bool:
    return effect.got.get("allows") is False or effect.got.get("permission") == "deny"


def _adds(value: Any, difference: Difference) -> bool:
    """True if a text of a decision is in what differs now, and was not there in the record."""
    if isinstance(value, str):
        return value not in _NAMES and value in str(difference.now) and value not in str(difference.recorded)
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(_adds(item, difference) for item in items)


_NAMES: Final = frozenset(("", "allow", "ask", "defer", "deny", "host", *HookEvent))
"""Texts of decisions that say nothing to a model."""


def _block_at(messages: Sequence[Mapping[str, Any]], index: str | None, block: str | None) -> Mapping[str, Any]:
    """Return a block of a message; empty if there is none."""
    content = messages[int(index)]["content"] if index is not None and int(index) < len(messages) else ()
    found: Mapping[str, Any] = content[int(block)] if block is not None and int(block) < len(content) else {}
    return found


def _uses(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [block for message in messages for block in message["content"] if block.get("type") == "tool_use"]


def _cause_in_text(difference: Difference, *, otherwise: str, detail: str) -> tuple[str, str]:
    """Return the cause in a text that may hold files of instructions: the last one named before the place that differs."""
    recorded, now = difference.recorded, difference.now
    if not (isinstance(recorded, str) and isinstance(now, str)):
        return otherwise, detail
    pairs = zip(recorded, now, strict=False)
    at = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(recorded), len(now)))
    line = now.count("\n", 0, at) + 1
    files = list(_FILE.finditer(now, 0, at))
    if files:
        heading = now.count("\n", 0, files[-1].start()) + 1
        return "instructions file", f"{files[-1]['path']}, line {max(1, line - heading - 1)}"
    parts = _PART.findall(now, 0, at)
    if parts and parts[-1] in _SURROUNDINGS:
        return "environment", f"in the part {parts[-1]!r} of the prompt"
    return otherwise, detail
