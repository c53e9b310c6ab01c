"""One agent's conversation: in memory for the model, on disk for later processes; both change in one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents._blocks import encode_message, open_calls, results_for
from greenroom.agents._line_marks import AT_REST, ITEMS, NOTICES, PART, RESULT, TURN_OPEN, TYPED
from greenroom.agents._repair import SoundnessCheck
from greenroom.inbox import UNCLASSIFIED, Origin
from greenroom.models import (
    Block,
    Message,
    ModelResponse,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    estimate_tokens,
)
from greenroom.store import SharedPrefix, Transcript

BLANK: Final = "(blank message)"
"""Stands for a text without a visible character."""


@final
@attrs.frozen(kw_only=True)
class Appended:
    """A message that has just become part of an agent's conversation."""

    agent: str
    """Id of the agent."""
    message: Message
    uuid: str
    """Of its line in the transcript; empty where none is kept."""
    is_hidden: bool
    """True if it is for the model only."""
    response: ModelResponse | None
    """The response that it came with, if the model said it; without a stop reason it is incomplete."""
    origin: Origin | None = None
    """Its origin; None for what the model said, and for results."""
    attached: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The data of results for programs, besides their text, by the id of the call."""
    number: int = 0
    """The number of messages that the agent's conversation had got before, in this process."""
    is_shown_later: bool = False
    """True if hooks look at it before it is shown; then who shows messages waits for `Watch.on_shown`."""


_NOTHING_ATTACHED: Final[Mapping[str, Mapping[str, Any]]] = {}

OnMessage: TypeAlias = Callable[[Appended], None]
"""Called with each message in the step in which it is appended: it may only store and wake."""


@final
class Conversation:
    """Messages in the order in which they were said. Appending never waits.

    Args:
        transcript: Where they are written; None keeps them in memory only.
        messages: What it begins with; these are not written.
        agent: Id of the agent whose it is.
        on_message: Called with each message that is appended.
        attached: What tools add to their results for programs, by the id of the call; taken out with the result.
        told: The ends of tasks that results tell of, by the id of the call; taken out with the result.
        lines: How many lines of the transcript `messages` are; None where not all of them stand there.
        lost: Ids of the calls at the end of `messages` that an earlier process left without a result.
    """

    def __init__(
        self,
        transcript: Transcript | None = None,
        messages: Sequence[Message] = (),
        *,
        agent: str = "",
        on_message: OnMessage | None = None,
        attached: MutableMapping[str, Mapping[str, Any]] | None = None,
        told: MutableMapping[str, dict[str, str]] | None = None,
        lines: int | None = None,
        lost: AbstractSet[str] = frozenset(),
    ) -> None:
        self._transcript = transcript
        self._lost = lost
        self._lines_before = 0 if lines is None and not messages else lines
        """Lines of the transcript that it consists of, less the messages that it has got since; None where not all stand there."""
        self._messages: list[Message] = list(messages)
        self._agent = agent
        self._on_message = on_message
        self._attached = {} if attached is None else attached
        self._told = {} if told is None else told
        self._number = 0
        self.soundness = SoundnessCheck(messages)
        """Of the conversation, as it was last sent."""
        self._counted_tokens = 0
        self._uncounted_chars = 0
        self._measured = 0
        """Messages that either of both tells of; the rest is measured when somebody asks for the size."""

    def __repr__(self) -> str:
        return f"<Conversation of {len(self._messages)} messages>"

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def path(self) -> Path | None:
        """The file of the transcript; None where there is none."""
        return None if self._transcript is None else self._transcript.path

    @property
    def last_uuid(self) -> str | None:
        """Of the line of the transcript that was appended last; None where there is none."""
        return None if self._transcript is None else self._transcript.last_uuid

    def new_uuid(self) -> str | None:
        """Return a uuid for a line that is to come; None where no transcript is kept."""
        return None if self._transcript is None else self._transcript.new_uuid()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the model is sent: everything so far."""
        return tuple(self._messages)

    def say(
        self,
        texts: Sequence[str],
        results: Sequence[ToolResultBlock] = (),
        *,
        is_hidden: bool = False,
        origin: Origin | None = None,
        uuid: str = "",
        is_at_rest: bool = False,
        notices: Mapping[str, str] | None = None,
        typed: str = "",
        items: Sequence[str] = (),
    ) -> None:
        """Append what the agent is told: results of its calls first, then texts; blank ones are refused by providers.

        Args:
            texts: What it is told.
            results: Of its calls.
            is_hidden: Whether it is for the model: people who look at the conversation are not shown it.
            origin: Where it comes from.
            uuid: Of its line in the transcript, where it has one already.
            is_at_rest: Whether nobody is to answer it.
            notices: The ends of tasks that the texts tell of: the ids of the notices, and how each task ended.
            typed: What the user typed, where the texts stand in its place.
            items: Ids of the stored items that the texts are.
        """
        blocks: tuple[Block, ...] = tuple(results)
        if texts:
            blocks += tuple([TextBlock(text if text.strip() else BLANK) for text in texts])
        extra: dict[str, Any] = {"isMeta": True} if is_hidden else {}
        if notices or self._told:
            told = {**(notices or {}), **self._told_by(results)}
            if told:
                extra[NOTICES] = told
        if uuid:
            extra["uuid"] = uuid
        if items and [*items] != [uuid]:
            extra[ITEMS] = [*items]
        if is_at_rest:
            extra[AT_REST] = True
        if typed and origin is not None and origin.is_consent:
            extra[TYPED] = typed
        if origin is not None and not origin.is_consent and origin != UNCLASSIFIED:
            extra["origin"] = origin.to_json()
        self._append(Message("user", blocks), is_hidden=is_hidden, origin=origin, extra=extra)

    def admit(self, response: ModelResponse) -> ModelResponse:
        """Return an answer with ids and names of calls that can stand in this conversation: each call has an id of its own.

        Providers before which a gateway stands give an id again, or one that they do not take back.
        """
        content = self.soundness.admit(response.content)
        return response if content is response.content else attrs.evolve(response, content=content)

    def answer(self, response: ModelResponse, *, is_shown_later: bool = False) -> Appended | None:
        """Append what the model said, and return what is told of it; an empty message is left out: no provider accepts it.

        Args:
            response: What it said.
            is_shown_later: Whether hooks look at it before it is shown.
        """
        if not response.content:
            return None
        return self._append(response.message, response=response, is_shown_later=is_shown_later)

    @property
    def shared(self) -> SharedPrefix | None:
        """The place of the whole conversation on disk, for a fork that begins with it; None where not all of it is there."""
        if self._transcript is None or self._lines_before is None or not (lines := self._lines_before + self._number):
            return None
        return self._transcript.share(lines)

    def write_beginning(self, shared: SharedPrefix | None = None) -> None:
        """Write the initial messages to the transcript, for a conversation that can be resumed.

        Args:
            shared: Where its messages stand; one line points there then. None writes them again, as they are.
        """
        if self._transcript is None:
            return
        if shared is not None:
            self._transcript.begin_behind(shared)
            self._lines_before = shared.lines - self._number
            return
        for message in self._messages:
            self._transcript.append(message.role, encode_message(message))
        self._lines_before = len(self._messages) - self._number

    def close_open_calls(self, results: Mapping[str, ToolResultBlock] | None = None) -> None:
        """Give every call at the end its result: those that there are, else that it was lost or interrupted."""
        calls = open_calls(self._messages)
        if calls:
            told = self._told_by([results[call.id] for call in calls if results and call.id in results])
            self._told.clear()  # what a call was about to tell when it was cut has not been told
            closing = results_for(calls, results or {}, lost=self._lost)
            self._append(Message("user", closing), extra={NOTICES: told} if told else None)

    def _told_by(self, results: Sequence[ToolResultBlock]) -> dict[str, str]:
        """Return the ends of tasks that results tell of."""
        if not self._told:
            return {}
        return {notice: state for result in results for notice, state in self._told.pop(result.tool_use_id, {}).items()}

    # --- its size --------------------------------------------------------------------------------------------------

    @property
    def tokens(self) -> int:
        """Its size: what the provider counted last, and an estimate of what has come since."""
        messages = self._messages
        if self._measured < len(messages):
            self._uncounted_chars += sum(map(_chars, messages[self._measured :]))
            self._measured = len(messages)
        return self._counted_tokens + estimate_tokens(self._uncounted_chars)

    def note_tokens(self, tokens: int) -> None:
        """Take the provider's token count of the request and of the answer that was appended last. 0 is ignored."""
        if tokens:
            self._counted_tokens, self._uncounted_chars = tokens, 0
            self._measured = len(self._messages)

    def compact(self, texts: Sequence[str], *, trigger: str, pre_tokens: int, is_turn_open: bool) -> None:
        """Start again with texts that stand for all that was said; the transcript has it all, and a boundary.

        Args:
            texts: What the conversation begins with.
            trigger: `auto` or `manual`.
            pre_tokens: Its size.
            is_turn_open: True if a turn continues with it; a resumed session continues it as well.
        """
        message = Message("user", tuple([TextBlock(text) for text in texts]))
        if self._transcript is not None:
            self._transcript.append_compaction(
                encode_message(message),
                trigger=trigger,
                pre_tokens=pre_tokens,
                extra={TURN_OPEN: True} if is_turn_open else None,
            )
        self._messages = [message]
        self._lines_before = 1 - self._number
        self._counted_tokens, self._uncounted_chars, self._measured = 0, 0, 0

    def begin_anew(self) -> None:
        """Start again with nothing; the transcript keeps what was said, with a result for each call, and its next line follows none."""
        self.close_open_calls()
        if self._transcript is not None:
            self._transcript.begin_anew()
        self._messages = []
        self._lines = 0
        self._counted_tokens, self._uncounted_chars, self._measured = 0, 0, 0

    def move(self, place: Path) -> None:
        """Name another folder in the lines of the transcript from here on: the one in which the agent works now."""
        if self._transcript is not None:
            self._transcript.move(str(place))

    def note_queue(self, operation: str, text: str = "") -> None:
        """Write into the transcript what became of something that waits; no reader takes it for a message."""
        if self._transcript is not None:
            content = {"content": text} if text else {}
            self._transcript.note("queue-operation", {"operation": operation, **content})

    def note(self, kind: str, values: Mapping[str, Any]) -> None:
        """Write a line into the transcript that is not a message; readers of the conversation skip it."""
        if self._transcript is not None:
            self._transcript.note(kind, values)

    def _append(
        self,
        message: Message,
        *,
        is_hidden: bool = False,
        response: ModelResponse | None = None,
        origin: Origin | None = None,
        extra: Mapping[str, Any] | None = None,
        is_shown_later: bool = False,
    ) -> Appended | None:
        # The transcript first: if it refuses, neither has changed.
        uuid = ""
        attached = self._attached_to(message) if self._attached else _NOTHING_ATTACHED
        if self._transcript is not None:
            if response is not None and response.stop_reason is None:
                extra = {PART: True}
            if attached:
                extra = {**(extra or {}), RESULT: _as_written(attached, message)}
            uuid = self._transcript.append(message.role, encode_message(message), extra)
        for call in attached:
            del self._attached[call]
        messages = self._messages
        if messages and messages[-1].role == message.role:  # nothing was answered: providers want roles to alternate
            if self._measured == len(messages):
                self._uncounted_chars += _chars(message)  # of the one that it joins all else is measured already
            messages[-1] = Message(message.role, messages[-1].content + message.content)
        else:
            messages.append(message)
        self._number += 1
        if self._on_message is None and not is_shown_later:  # nobody is notified
            return None
        appended = Appended(
            agent=self._agent,
            message=message,
            uuid=uuid,
            is_hidden=is_hidden,
            response=response,
            origin=origin,
            attached=attached,
            number=self._number - 1,
            is_shown_later=is_shown_later,
        )
        if self._on_message is not None:
            self._on_message(appended)
        return appended

    def _attached_to(self, message: Message) -> Mapping[str, Mapping[str, Any]]:
        calls = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
        return {call: self._attached[call] for call in calls if call in self._attached}


def _as_written(attached: Mapping[str, Mapping[str, Any]], message: Message) -> Mapping[str, Any]:
    """Return what stands in the line of a transcript: of a single result as it is, of several by the ids of the calls."""
    results = sum(isinstance(block, ToolResultBlock) for block in message.content)
    return attached if results > 1 else next(iter(attached.values()))


def _chars(message: Message) -> int:
    """Return the length of what a provider reads of a message."""
    count = 0
    for block in message.content:
        if isinstance(block, ToolUseBlock):  # the kinds that there are most of come first
            count += len(block.name) + len(str(block.input))
        elif isinstance(block, ToolResultBlock):
            count += block.characters if block.images else len(block.content)
        elif isinstance(block, TextBlock):
            count += len(block.text)
        elif isinstance(block, ThinkingBlock):
            count += len(block.thinking) + len(block.signature)
    return count
