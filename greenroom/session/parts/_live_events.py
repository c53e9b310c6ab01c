"""Live events: what passes in a session and is neither journaled nor kept, for readers of `session.events()`.

A session makes only those that it was opened for (`open_session(live=...)`), so that nobody pays for what nobody reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.agents import Appended
from greenroom.core import Event, Record, Recorder, frozen
from greenroom.hooks import HookUpdate
from greenroom.session.assembly._host_ports import Hosted, Watch

MAX_EARLY: Final = 10_000
"""Maximum number of events kept from before the session was open."""


@final
@frozen(kw_only=True)
class MessageAppended(Event):
    """A message has become part of the conversation of an agent."""

    kind: ClassVar[str] = "message.appended"

    appended: Appended
    """The message, with its agent, its line in the transcript and its origin."""


@final
@frozen(kw_only=True)
class MessageShown(Event):
    """Hooks of `MessageDisplay` have looked at a message of the main agent; it was appended with `is_shown_later`."""

    kind: ClassVar[str] = "message.shown"

    appended: Appended
    """The message with the text that is to be shown."""


@final
@frozen(kw_only=True)
class AnswerPiece(Event):
    """A piece of a model's answer in a turn of an agent has arrived."""

    kind: ClassVar[str] = "answer.piece"

    piece: Mapping[str, Any]
    """An event of the provider's stream; see `greenroom.models.OnEvent`."""


@final
@frozen(kw_only=True)
class PromptTaken(Event):
    """The main agent has taken up a message of `session.send`."""

    kind: ClassVar[str] = "prompt.taken"

    prompt: str
    """The id that `session.send` returned."""


@final
@frozen(kw_only=True)
class HookReported(Event):
    """The handler of a hook has started, made progress, or ended."""

    kind: ClassVar[str] = "hook.reported"

    report: HookUpdate
    """Which hook, how far it has come, and what it printed."""


@final
@frozen(kw_only=True)
class ElicitationCompleted(Event):
    """A user has completed what an MCP server asked for at a URL."""

    kind: ClassVar[str] = "elicitation.completed"

    server: str
    """The name of the server."""
    elicitation: str
    """The id that the server gave its question."""


LIVE_EVENTS: Final[tuple[type[Event], ...]] = (
    MessageAppended,
    MessageShown,
    AnswerPiece,
    PromptTaken,
    HookReported,
    ElicitationCompleted,
)
"""All live events."""


@final
class LiveEvents:
    """The live events of one session.

    Args:
        recorder: Gives the clock, and the place of an event among those of the journal.
        wanted: Classes of the events to make.
    """

    def __init__(self, recorder: Recorder, wanted: Collection[type[Event]]) -> None:
        self._recorder = recorder
        self.wanted = frozenset(wanted)
        """Classes of the events to make."""
        self._readers: dict[Callable[[Record], None], None] = {}
        self._early: deque[tuple[int, Record]] = deque(maxlen=MAX_EARLY)
        self._is_open = False

    def __repr__(self) -> str:
        return f"<LiveEvents: {len(self.wanted)} kinds, {len(self._readers)} readers>"

    def opened(self) -> None:
        """Stop keeping events for streams that begin at the start."""
        self._is_open = True

    def subscribe(self, reader: Callable[[Record], None]) -> Callable[[], None]:
        """Call `reader` with each event from now on; return the function that ends that."""
        self._readers[reader] = None
        return lambda: self._readers.pop(reader, None)

    def merged(self, records: list[Record]) -> Iterator[Record]:
        """Yield records of the journal, with the events from before the session was open in their places."""
        early = list(self._early)
        at = 0
        for record in records:
            while at < len(early) and early[at][0] < record[0]:
                yield early[at][1]
                at += 1
            yield record
        yield from (record for _, record in early[at:])

    def publisher(self, event_class: type[Event], publish: Callable[..., None]) -> Callable[..., None] | None:
        """Return the function that publishes events of a class; None if nobody wants them."""
        return publish if event_class in self.wanted else None

    def publish(self, event_class: type[Event], actor: str, *values: Any) -> None:
        """Pass an event on to all readers.

        Args:
            event_class: The class of the event.
            actor: The agent that it is about; empty for none.
            values: The event's own fields, in order.
        """
        record = (0, self._recorder.now(), event_class, actor, 0, 0, *values)
        if not self._is_open:
            self._early.append((self._recorder.seq, record))
        for reader in tuple(self._readers):
            reader(record)


def wire(host: Hosted, recorder: Recorder) -> tuple[LiveEvents, Hosted]:
    """Return the live events of a session, and the program's side of it with callbacks that publish them."""
    live = LiveEvents(recorder, host.live)
    publish, on_message = live.publish, host.on_message

    def heard(appended: Appended) -> None:
        publish(MessageAppended, appended.agent, appended)
        if on_message is not None:
            on_message(appended)

    wired = attrs.evolve(
        host,
        on_message=heard if MessageAppended in live.wanted else on_message,
        watch=Watch(
            on_shown=live.publisher(MessageShown, lambda appended: publish(MessageShown, appended.agent, appended)),
            on_stream=live.publisher(AnswerPiece, lambda agent, piece: publish(AnswerPiece, agent, piece)),
            on_taken=live.publisher(PromptTaken, lambda prompt: publish(PromptTaken, "", prompt)),
            on_hook=live.publisher(HookReported, lambda report: publish(HookReported, "", report)),
            on_elicited=live.publisher(
                ElicitationCompleted, lambda server, asked: publish(ElicitationCompleted, "", server, asked)
            ),
        ),
    )
    return live, wired
