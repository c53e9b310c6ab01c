"""The rules of providers for a conversation, and the repair of one that breaks them.

It begins with the user, roles alternate, no message and no text is empty. The calls of an answer have
exactly one result each, all in the next message and in front of its text; there are no other results, and no two calls
share an id; ids and names have the characters that providers take. An answer does not end with thinking, and thinking has its signature. What is sound already is returned as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter, is_
from typing import Final, final

import attrs

from greenroom.agents._blocks import LOST_RESULT, ROLES, acceptable_call, is_acceptable_call
from greenroom.models import Block, Message, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

_CALL_OF: Final = attrgetter("tool_use_id")
LOST_BEGINNING: Final = "(The beginning of this conversation is lost.)"


@final
@attrs.frozen
class Repaired:
    """A sound conversation."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    """The repairs, each in one sentence; empty where nothing had to be done."""


def faults_of(messages: Sequence[Message]) -> list[str]:
    """Return what a provider would refuse in a conversation at rest, each in one sentence."""
    return _faults_from(0, messages, set(), {})


@final
class SoundnessCheck:
    """Checks one conversation again and again as it grows; each check reads only what is new since the last one.

    Args:
        messages: What the conversation begins with; their calls have their ids.
    """

    __slots__ = ("_admitted", "_said", "_sound", "_taken")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._sound: tuple[Message, ...] = ()
        self._taken = {call.id for message in messages for call in message.tool_uses}
        """Ids of all calls that were read or admitted, also of those in messages that the conversation has lost."""
        self._admitted: dict[str, ToolUseBlock] = {}
        """Calls that were admitted since the last check, by their ids."""
        self._said: tuple[Block, ...] = ()
        """The content in which all of them stand, if it has no fault; empty otherwise, and where there are none."""

    def admit(self, content: tuple[Block, ...]) -> tuple[Block, ...]:
        """Return what the model said as it can stand in the conversation: each call has an id that no other one has or had."""
        taken, admitted = self._taken, self._admitted
        is_simple = not admitted
        for number, block in enumerate(content):
            if isinstance(block, ToolUseBlock):
                if block.id in taken or not is_acceptable_call(block):
                    block = acceptable_call(block, taken)  # noqa: PLW2901 - from here on it is this one
                    content = (*content[:number], block, *content[number + 1 :])
                else:
                    taken.add(block.id)
                admitted[block.id] = block
            elif _fault_of_words(block) or (isinstance(block, ThinkingBlock) and block is content[-1]):
                is_simple = False
        self._said = content if is_simple and admitted else ()
        return content

    def is_sound(self, messages: tuple[Message, ...]) -> bool:
        """True if a provider takes a conversation as it is."""
        is_sound = self._is_one_round(messages) or self._is_sound_as_read(messages)
        self._sound, self._said = messages if is_sound else (), ()
        self._admitted.clear()
        return is_sound

    def _is_one_round(self, messages: tuple[Message, ...]) -> bool:
        """Return whether all that is new is the answer that was admitted last, and exactly the results of its calls.

        So it is before nearly every request, and seen at a third of the price of reading the blocks. Roles are not
        compared: the content that was admitted stands in an answer, and results stand in a message of the user's.
        """
        sound, said, count = self._sound, self._said, len(messages)
        if not said or count != len(sound) + 2 or not count % 2 or messages[-3] is not sound[-1]:
            return False
        if messages[-2].content is not said:
            return False
        try:
            return [*map(_CALL_OF, messages[-1].content)] == [*self._admitted]
        except AttributeError:  # a block that is not a result
            return False

    def _is_sound_as_read(self, messages: tuple[Message, ...]) -> bool:
        sound, taken = self._sound, self._taken
        has_grown = bool(sound) and messages[: len(sound)] == sound
        if has_grown and not _faults_from(len(sound), messages, taken, self._admitted):
            return True
        found = set[str]()  # the ids of messages that are lost do not count
        is_sound = not _faults_from(0, messages, found, {})
        taken |= found
        return is_sound


def _faults_from(
    first: int, messages: Sequence[Message], seen: set[str], admitted: dict[str, ToolUseBlock]
) -> list[str]:
    """Return the faults of messages from a number on; those before are sound and at rest.

    Args:
        first: The number.
        messages: The conversation.
        seen: The ids of the calls before and of the admitted ones; gets those of the others.
        admitted: Calls that are acceptable, and have been given an id of their own; loses those that are read.
    """
    faults: list[str] = []
    asked: list[str] = []
    for number in range(first, len(messages)):
        message, expected = messages[number], ROLES[number % 2]
        if message.role != expected:
            faults.append(f"message {number}: it is the {message.role}'s and should be the {expected}'s")
        if not message.content:
            faults.append(f"message {number}: it is empty")
        if message.role == "assistant":
            asked = _read_answer(number, message, seen, admitted, faults)
            continue
        answered = _read_reply(number, message, faults)
        if answered != asked and sorted(answered) != sorted(asked):
            faults.append(f"message {number}: it holds the results {answered}, and {asked} were asked for")
        asked = []
    if asked:
        faults.append(f"message {len(messages) - 1}: its calls {asked} have no results")
    return faults


def _read_reply(number: int, message: Message, faults: list[str]) -> list[str]:
    """Return the ids of the calls of which a message of the user's has the results; `faults` gets what is wrong with it."""
    ids: list[str] = []
    was_text = False
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            ids.append(block.tool_use_id)
            if was_text:
                faults.append(f"message {number}: a result stands behind text")
        elif isinstance(block, TextBlock):
            was_text = True
            if not block.text.strip():
                faults.append(f"message {number}: a text is blank")
        else:
            faults.append(f"message {number}: a {type(block).__name__} is not the user's")
    return ids


def _read_answer(
    number: int, message: Message, seen: set[str], admitted: dict[str, ToolUseBlock], faults: list[str]
) -> list[str]:
    """Return the ids of the calls of an answer; `faults` gets what is wrong with it.

    Args:
        number: The number of the message.
        message: The answer.
        seen: The ids of the calls before and of the admitted ones; gets its own.
        admitted: Calls that need no check; loses those that are read.
        faults: Gets its faults.
    """
    ids: list[str] = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            ids.append(block.id)
            if admitted.get(block.id) == block:
                del admitted[block.id]
            elif fault := _fault_of_call(block, seen):
                faults.append(f"message {number}: {fault}")
            seen.add(block.id)
        elif fault := _fault_of_words(block):
            faults.append(f"message {number}: {fault}")
    if message.content and isinstance(message.content[-1], ThinkingBlock):
        faults.append(f"message {number}: it ends with thinking")
    return ids


def _fault_of_words(block: Block) -> str:
    """Return what is wrong with a block of the model's that is not a call; empty if nothing is."""
    if isinstance(block, TextBlock):
        return "" if block.text.strip() else "a text is blank"
    if isinstance(block, ThinkingBlock):
        return "" if block.signature else "thinking has no signature"
    return f"a {type(block).__name__} is not the assistant's"


def _fault_of_call(call: ToolUseBlock, seen: AbstractSet[str]) -> str:
    if call.id in seen:
        return f"two calls have the id {call.id!r}"
    if not is_acceptable_call(call):
        return f"the call {call.id!r} of {call.name!r} has an id or a name with characters that are not allowed"
    return ""


def repair(messages: Iterable[Message], *, closes: bool = True) -> Repaired:
    """Return a conversation that the provider accepts, as near to the given one as can be.

    A call without a result gets one that says that its own was lost; a result that nobody asked for is dropped, as is a call that
    stands there twice; another call with the same id, or with one that providers do not take, gets an id of its own, and so does its
    result; what is empty goes; messages of the same role in a row become one.

    Args:
        messages: Anything that was read, in order.
        closes: True if calls at the very end get their results too; else they stay open for the next turn.
    """
    notes: list[str] = []
    sound: list[Message] = []
    calls_seen = _Calls()
    for group in _grouped(messages, calls_seen, notes):
        if group.role == "user":
            calls = sound[-1].tool_uses if sound else ()
            if not (group.is_whole and _answers(calls, group.blocks)):
                group.replace(_answered(calls, group.blocks, notes, calls_seen.former))
        if group.blocks:
            _join(sound, group)
    if sound and sound[0].role == "assistant":
        notes.append("the conversation began with an answer")
        sound.insert(0, Message.user(LOST_BEGINNING))
    if closes and sound and sound[-1].tool_uses:
        _join(sound, _Group("user", _answered(sound[-1].tool_uses, [], notes, {})))
    return Repaired(tuple(sound), tuple(notes))


@final
class _Calls:
    """The calls that were read so far."""

    __slots__ = ("former", "ids", "read")

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.read: list[tuple[str, ToolUseBlock]] = []
        self.former: dict[str, str] = {}
        """By the id that a call got, the one that it had."""

    def admit(self, call: ToolUseBlock, notes: list[str]) -> ToolUseBlock | None:
        """Return a call as it may stand; None for one that was read before."""
        if call.id in self.ids and any(call == other for _, other in self.read if other.id == call.id):
            notes.append(f"a second call with the id {call.id!r} was dropped")
            return None
        admitted = acceptable_call(call, self.ids)
        self.read.append((admitted.id, call))
        if admitted is not call:
            notes.append(f"the call {call.id!r} of {call.name!r} is {admitted.id!r} of {admitted.name!r} now")
            self.former[admitted.id] = call.id
        return admitted


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
        """True if it is one message as it was read."""
        return self.message is not None

    def replace(self, blocks: Sequence[Block]) -> None:
        self.blocks, self.message = blocks, None

    def extend(self, blocks: Sequence[Block]) -> None:
        self.replace([*self.blocks, *blocks])


def _grouped(messages: Iterable[Message], calls: _Calls, notes: list[str]) -> Iterator[_Group]:
    """Yield the blocks that may stand where they are, alternately the user's and the model's; none is empty."""
    last: _Group | None = None
    for run in _runs(messages, calls, notes):
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


def _runs(messages: Iterable[Message], calls: _Calls, notes: list[str]) -> Iterator[_Group]:
    """Yield the blocks of messages of one role in a row, without those that may stay nowhere."""
    run: _Group | None = None
    for message in messages:
        role, content = message.role, message.content
        blocks = [kept for block in content if (kept := _kept(block, role, calls, notes)) is not None]
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
        run = _Group(role, blocks, message if _are_same(blocks, content) else None)
    if run is not None:
        yield run


def _kept(block: Block, role: Role, calls: _Calls, notes: list[str]) -> Block | None:
    """Return a block as it may stand in a message of this role; None for one that may not."""
    if isinstance(block, TextBlock):  # the kind that there are most of comes first
        if not block.text.strip():
            notes.append("a blank text was dropped")
            return None
        return block
    if not _belongs(block, role):
        notes.append(f"a {type(block).__name__} of the {role} was dropped")
        return None
    if isinstance(block, ToolUseBlock):
        return calls.admit(block, notes)
    if isinstance(block, ThinkingBlock) and not block.signature:
        notes.append("thinking without a signature was dropped")
        return None
    return block


def _are_same(blocks: Sequence[Block], content: Sequence[Block]) -> bool:
    return len(blocks) == len(content) and all(map(is_, blocks, content))


def _belongs(block: Block, role: Role) -> bool:
    if isinstance(block, TextBlock):
        return True
    return isinstance(block, ToolResultBlock) == (role == "user")


def _answers(calls: Sequence[ToolUseBlock], blocks: Sequence[Block]) -> bool:
    """Return whether the blocks begin with exactly one result for each call, in their order, and have no other one."""
    count = len(calls)
    if len(blocks) < count:
        return False
    for call, block in zip(calls, blocks, strict=False):
        if not isinstance(block, ToolResultBlock) or block.tool_use_id != call.id:
            return False
    return not any(isinstance(block, ToolResultBlock) for block in blocks[count:])


def _answered(
    calls: Sequence[ToolUseBlock], blocks: Sequence[Block], notes: list[str], former: Mapping[str, str]
) -> list[Block]:
    """Return exactly one result for each call, then what else there is.

    Args:
        calls: They were asked for.
        blocks: What came.
        notes: Gets what was done.
        former: By the id of a call, the one that its result was written with, where that is another one.
    """
    missing = {call.id: call for call in calls}
    results: list[Block] = []
    others: list[Block] = []
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            others.append(block)
            continue
        asked = next((call for call in missing if call == block.tool_use_id), None) or next(
            (call for call in missing if former.get(call) == block.tool_use_id), None
        )
        if asked is None:
            notes.append(f"a result of {block.tool_use_id!r}, which nobody had asked for, was dropped")
            continue
        del missing[asked]
        results.append(block if asked == block.tool_use_id else attrs.evolve(block, tool_use_id=asked))
    for call in missing.values():
        notes.append(f"{call.name} got a result that says its own was lost")
        results.append(ToolResultBlock(call.id, LOST_RESULT, is_error=True))
    return results + others


def _join(sound: list[Message], group: _Group) -> None:
    if sound and sound[-1].role == group.role:
        sound[-1] = Message(group.role, sound[-1].content + tuple(group.blocks))
    else:
        sound.append(group.message or Message(group.role, tuple(group.blocks)))
