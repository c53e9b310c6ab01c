"""What a provider accepts as a conversation, and how any other one becomes one that it does.

Rule 1: it begins with the user, roles alternate, no message and no text is empty. Rule 2: the calls of an answer have
exactly one result each, all in the next message and in front of its text; there are no other results, and no two calls
share an id. Rule 3: an answer does not end with thinking. Rule 4: what is sound already is returned as it is.
Must not know: clock, disk, Trio.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, final

import attrs

from greenroom.agents._blocks import LOST_RESULT
from greenroom.models import Block, Message, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

LOST_BEGINNING: Final = "(The beginning of this conversation is lost.)"


@final
@attrs.frozen
class Repaired:
    """A sound conversation."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    """What was done, each in one sentence; empty where nothing had to be."""


def faults_of(messages: Sequence[Message]) -> list[str]:
    """Return what a provider would refuse in a conversation at rest, each in one sentence."""
    faults = []
    seen: set[str] = set()
    calls: list[str] = []
    for number, message in enumerate(messages):
        place = f"message {number}"
        expected = "assistant" if number % 2 else "user"
        if message.role != expected:
            faults.append(f"{place} is the {message.role}'s and should be the {expected}'s")
        if not message.content:
            faults.append(f"{place} is empty")
        faults += [f"{place}: {one}" for one in _misplaced(message)]
        results = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
        if sorted(results) != sorted(calls):
            faults.append(f"{place} holds the results {results}, and {calls} were asked for")
        calls = [use.id for use in message.tool_uses]
        faults += [f"{place}: two calls have the id {one!r}" for one in calls if one in seen]
        seen.update(calls)
        if len(set(calls)) < len(calls):
            faults.append(f"{place}: two of the calls {calls} share an id")
    if calls:
        faults.append(f"the calls {calls} at the end have no results")
    return faults


def _misplaced(message: Message) -> list[str]:
    faults = []
    is_user, was_text = message.role == "user", False
    for block in message.content:
        if isinstance(block, TextBlock) and not block.text.strip():
            faults.append("a text is blank")
        if not _belongs(block, message.role):
            faults.append(f"a {type(block).__name__} is not the {message.role}'s")
        if is_user and isinstance(block, ToolResultBlock) and was_text:
            faults.append("a result stands behind text")
        was_text = was_text or isinstance(block, TextBlock)
    if not is_user and message.content and isinstance(message.content[-1], ThinkingBlock):
        faults.append("it ends with thinking")
    return faults


def repair(messages: Iterable[Message], *, closes: bool = True) -> Repaired:
    """Return a conversation that the provider accepts, as near to the given one as can be.

    A call without a result gets one that says that its own was lost; a result that nobody asked for is dropped, as is a second call with
    the same id; what is empty goes; messages of the same role in a row become one.

    Args:
        messages: Anything that was read, in order.
        closes: Whether calls at the very end get their results too; else they stay open for whoever goes on.
    """
    notes: list[str] = []
    sound: list[Message] = []
    for group in _grouped(messages, notes):
        if group.role == "user":
            calls = sound[-1].tool_uses if sound else ()
            if not (group.is_whole and _answers(calls, group.blocks)):
                group.replace(_answered(calls, group.blocks, notes))
        if group.blocks:
            _join(sound, group)
    if sound and sound[0].role == "assistant":
        notes.append("the conversation began with an answer")
        sound.insert(0, Message.user(LOST_BEGINNING))
    if closes and sound and sound[-1].tool_uses:
        _join(sound, _Group("user", _answered(sound[-1].tool_uses, [], notes)))
    return Repaired(tuple(sound), tuple(notes))


@final
class _Group:
    """Blocks of one role in a row."""

    __slots__ = ("blocks", "message", "role")

    def __init__(self, role: Role, blocks: Sequence[Block], message: Message | None = None) -> None:
        self.role = role
        self.blocks = blocks
        self.message = message

    @property
    def is_whole(self) -> bool:
        """Whether it is one message as it was read."""
        return self.message is not None

    def replace(self, blocks: Sequence[Block]) -> None:
        self.blocks, self.message = blocks, None

    def extend(self, blocks: Sequence[Block]) -> None:
        self.replace([*self.blocks, *blocks])


def _grouped(messages: Iterable[Message], notes: list[str]) -> Iterator[_Group]:
    """Yield the blocks that may stand where they are, alternately the user's and the model's; none is empty."""
    last: _Group | None = None
    for run in _runs(messages, notes):
        while run.role == "assistant" and run.blocks and isinstance(run.blocks[-1], ThinkingBlock):
            notes.append("thinking at the end of an answer was dropped")
            run.replace(run.blocks[:-1])
        if not run.blocks:
            continue
        if last is not None and last.role == run.role:
            last.extend(run.blocks)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _runs(messages: Iterable[Message], notes: list[str]) -> Iterator[_Group]:
    """Yield the blocks of messages of one role in a row, without those that may stay nowhere."""
    seen: set[str] = set()
    run: _Group | None = None
    for message in messages:
        role, content = message.role, message.content
        blocks = [block for block in content if _may_stay(block, role, seen, notes)]
        if not content:
            notes.append("an empty message was dropped")
        if not blocks:
            continue
        if run is not None and run.role == role:
            notes.append(f"two messages of the {role} in a row were joined")
            run.extend(blocks)
            continue
        if run is not None:
            yield run
        run = _Group(role, blocks, message if len(blocks) == len(content) else None)
    if run is not None:
        yield run


def _may_stay(block: Block, role: Role, seen: set[str], notes: list[str]) -> bool:
    if isinstance(block, TextBlock):  # the kind that there are most of comes first
        if not block.text.strip():
            notes.append("a blank text was dropped")
            return False
        return True
    if not _belongs(block, role):
        notes.append(f"a {type(block).__name__} of the {role} was dropped")
        return False
    if isinstance(block, ToolUseBlock):
        if block.id in seen:
            notes.append(f"a second call with the id {block.id!r} was dropped")
            return False
        seen.add(block.id)
    return True


def _belongs(block: Block, role: Role) -> bool:
    if isinstance(block, TextBlock):
        return True
    return isinstance(block, ToolResultBlock) == (role == "user")


def _answers(calls: Sequence[ToolUseBlock], blocks: Sequence[Block]) -> bool:
    """Whether the blocks begin with exactly one result for each call, in their order, and have no other one."""
    count = len(calls)
    if len(blocks) < count:
        return False
    for call, block in zip(calls, blocks, strict=False):
        if not isinstance(block, ToolResultBlock) or block.tool_use_id != call.id:
            return False
    return not any(isinstance(block, ToolResultBlock) for block in blocks[count:])


def _answered(calls: Sequence[ToolUseBlock], blocks: Sequence[Block], notes: list[str]) -> list[Block]:
    """Return exactly one result for each call, then what else there is."""
    missing = {call.id: call for call in calls}
    results: list[Block] = []
    others: list[Block] = []
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            others.append(block)
        elif missing.pop(block.tool_use_id, None) is not None:
            results.append(block)
        else:
            notes.append(f"a result of {block.tool_use_id!r}, which nobody had asked for, was dropped")
    for call in missing.values():
        notes.append(f"{call.name} got a result that says its own was lost")
        results.append(ToolResultBlock(call.id, LOST_RESULT, is_error=True))
    return results + others


def _join(sound: list[Message], group: _Group) -> None:
    if sound and sound[-1].role == group.role:
        sound[-1] = Message(group.role, sound[-1].content + tuple(group.blocks))
    else:
        sound.append(group.message or Message(group.role, tuple(group.blocks)))
