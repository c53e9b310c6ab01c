"""The events of a session on their way to a printer: the one reader of `session.events()` in a headless run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import TurnEnded
from greenroom.agents import CONTINUE, Appended
from greenroom.agents.events import (
    AgentNoticed,
    CompactBegan,
    CompactEnded,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    PermissionDenied,
)
from greenroom.core import Event
from greenroom.headless._ending import FAILED, SUCCESS, Ending
from greenroom.headless._heartbeats import Beats
from greenroom.headless._opening import opening_of
from greenroom.headless._printers import Printer
from greenroom.headless._protocol import UserSaid, elicited_line, replay_line
from greenroom.headless._silence import Silences
from greenroom.headless._stream_json import Counts, Line, hook_line
from greenroom.headless._task_lines import TaskLines
from greenroom.headless._usage_meter import Meter
from greenroom.hooks import HookEvent, HookRan
from greenroom.inbox import Origin
from greenroom.session import (
    SETTINGS_NOTICE,
    AnswerPiece,
    ElicitationCompleted,
    EventStream,
    HookReported,
    MessageAppended,
    MessageShown,
    PromptTaken,
    Session,
)
from greenroom.terminal import note, without_class

_NOTED: Final = frozenset((SETTINGS_NOTICE, HookEvent.ELICITATION.value))
"""Sources of notices that name themselves in their text."""


@final
@attrs.define(eq=False)
class AwaitedTurn:
    """A turn whose return value is awaited."""

    counts: Counts | None = None
    """The usage at the end of the turn; None until then."""
    is_printed: trio.Event = attrs.field(factory=trio.Event)


@final
@attrs.define
class _MainTurn:
    """The messages of the current turn of the main agent."""

    first: Appended | None = None
    """The message that the turn began with; None before that."""
    last_text: str = ""
    unseen: Appended | None = None
    """A message that hooks look at before it is shown, as it was appended."""
    texts: list[tuple[str, str]] = attrs.field(factory=list)
    """Texts of the agent since the last awaited turn began, each with the text that was shown."""


@final
class EventPrinter:
    """Reads the events of an open session and tells a printer of them.

    At the end of a turn whose return value is awaited it stops, until the result was printed: the stream itself keeps what comes
    behind it.

    Args:
        session: The session, just opened.
        printer: Gets everything in order.
        began_s: When the run began, on Trio's clock.
        wall: Reads the date and time.
        has_more: True if prompts may come while the run lasts.
        has_prompt: False if the run ends as its last turn does, whatever began it.
        said_of: Returns what the user said under an id of `session.send`, for a printer that repeats it; None repeats nothing.
    """

    def __init__(
        self,
        session: Session,
        printer: Printer,
        *,
        began_s: float,
        wall: Callable[[], datetime],
        has_more: bool = False,
        has_prompt: bool = True,
        said_of: Callable[[str], UserSaid | None] | None = None,
    ) -> None:
        self.ending: Ending | None = None
        """The ending of the latest turn of a prompt, or of the latest turn if there is no prompt; None if none has ended, or a request to
        terminate cut it."""
        self.noticed: list[str] = []
        """Notices that were printed; long texts only as far as they were."""
        self.meter = Meter(session.main.id)
        self.printer = printer
        self._session = session
        self._began_s = began_s
        self._wall = wall
        self._has_more, self._has_prompt = has_more, has_prompt
        self._said_of = said_of
        self._tasks = TaskLines(session.run_folder / "tasks")
        self._beats = Beats(session.main.id)
        self._silences = Silences()
        self._main = _MainTurn()
        self._turn: AwaitedTurn | None = None
        self._bad_hooks: set[tuple[str, str, str]] = set()
        """Hooks that were reported as broken; once is enough."""
        self._stream: EventStream = session.events(from_start=True, capacity=None)
        self._early = self._stream.waiting
        """Number of events to read that are from before the session was open."""

    def open(self) -> None:
        """Print the first line, and what was said before the session was open."""
        self.printer.opened(opening_of(self._session))
        self.pump()

    def close(self) -> None:
        """Read nothing more."""
        self._stream.close()
        self._stream.discard()

    # --- reading ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Print events as they come, until the stream is closed."""
        while await self._stream.wait_next():
            self.pump()
            if self._is_held and self._turn is not None:
                await self._turn.is_printed.wait()

    def pump(self) -> None:
        """Print the events that wait; never waits for more."""
        while not self._is_held and (found := self._stream.next_nowait()) is not None:
            _, t, event = found
            self._early -= 1
            live = _LIVE.get(type(event))
            if live is not None:
                live(self, event)
            else:
                self._fold(event, t)

    @property
    def _is_held(self) -> bool:
        """True if an awaited turn has ended and its result was not printed."""
        return self._turn is not None and self._turn.counts is not None

    def _fold(self, event: Event, t: float) -> None:
        """Fold an event of the journal; of what was there before the session was open, only notes are printed."""
        is_main = event.actor == self._session.main.id
        self.meter.see(event, t)
        if is_main:
            self._tell_of_main(event)
        lines = self._tasks.see(event, now_s=t, wall_ms=round(self._wall().timestamp() * 1000))
        if self._early >= 0:
            return
        now_s = trio.current_time()
        self._beats.see(event, now_s=now_s)
        if isinstance(event, PermissionDenied | ModelRetried) and not is_main:
            agent = self._tasks.agent_of(event.actor)
            if agent:
                self.printer.told(event, agent)
        if isinstance(event, ModelBegan | ModelRetried | ModelEnded):
            self._silences.see(event, now_s=now_s)
        if lines:
            self.printer.lines(lines)

    def _tell_of_main(self, event: Event) -> None:
        match event:
            case TurnEnded():
                self._turn_ended(event)
            case PermissionDenied() | CompactBegan() | CompactEnded() | ModelRetried():
                self.printer.told(event)
            case AgentNoticed(source=source, text=text):
                self._note(source, text)
            case HookRan(error=error) if error and (event.source, event.handler, error) not in self._bad_hooks:
                self._bad_hooks.add((event.source, event.handler, error))
                note(f"{event.source}: the hook {event.handler!r} of {event.event} does not work: {error}")

    def _note(self, source: str, text: str) -> None:
        """Print a notice for the user, except one that repeats the error of a hook that was reported."""
        self.noticed.append(text)
        if not any(error in text for _, _, error in self._bad_hooks):
            note(text if source in _NOTED else f"{source}: {text}")

    # --- live events -----------------------------------------------------------------------------------------------

    def _appended(self, event: MessageAppended) -> None:
        if event.appended.is_shown_later:
            self._main.unseen = event.appended
        else:
            self._say(event.appended, event.appended.message.text)

    def _shown(self, event: MessageShown) -> None:
        assert self._main.unseen is not None
        self._say(event.appended, self._main.unseen.message.text)

    def _say(self, message: Appended, original: str) -> None:
        """Print a message.

        Args:
            message: The message, as it is to be shown.
            original: Its text before hooks changed it.
        """
        if message.agent != self._session.main.id:
            call = self._tasks.call_of(message.agent)
            if call:
                self.printer.said(message, call)
            return
        if message.message.role == "assistant":
            if original:
                self._main.last_text = message.message.text
                self._main.texts.append((original, message.message.text))
        elif self._main.first is None:
            self._main.first = message
        self.printer.said(message)

    def _streamed(self, event: AnswerPiece) -> None:
        self._silences.moved(event.actor, now_s=trio.current_time())
        call = None if event.actor == self._session.main.id else self._tasks.call_of(event.actor)
        if call != "":
            self.printer.streamed(event.piece, call)

    def _hooked(self, event: HookReported) -> None:
        self.printer.lines([hook_line(event.report)])

    def _elicited(self, event: ElicitationCompleted) -> None:
        self.printer.lines([elicited_line(event.server, event.elicitation)])

    def _taken(self, event: PromptTaken) -> None:
        said = None if self._said_of is None else self._said_of(event.prompt)
        if said is not None:
            self.repeat(said)

    def repeat(self, said: UserSaid) -> None:
        """Print what the user said, if the run repeats it."""
        if self._said_of is not None:
            self.printer.lines([replay_line(said)])

    # --- turns -----------------------------------------------------------------------------------------------------

    def expect_turn(self) -> None:
        """Await the return value of the next turn that a user's message begins."""
        self.pump()
        self._turn = AwaitedTurn()
        self._main.texts.clear()

    def end_turn(self, ending: Ending) -> Ending:
        """Print the result of the awaited turn, and then what has happened since; return the result as it was printed."""
        self.pump()  # no turn may have ended: not every prompt leads to one
        turn, self._turn = self._turn, None
        assert turn is not None
        self.ending = attrs.evolve(ending, text=as_shown(ending.text, self._main.texts))
        self.printer.ended(self.ending, turn.counts or self.counts())
        turn.is_printed.set()
        self.pump()
        return self.ending

    def _turn_ended(self, event: TurnEnded) -> None:
        first, self._main.first = self._main.first, None
        origin = None if first is None else origin_of(first)
        if origin is None and self._turn is not None and self._turn.counts is None:
            self._turn.counts = self.counts()
        elif origin is not None or (first is not None and (self._has_more or not self._has_prompt)):
            stop_reason = self.meter.stop_reason or None
            ending = follow_up(event, self._main.last_text, stop_reason, self._session.structured)
            self.printer.ended(ending, self.counts(), origin=origin)
            if origin is None or not self._has_prompt:
                self.ending = ending
        self._main.last_text = ""

    # --- what is asked of it ---------------------------------------------------------------------------------------

    @property
    def is_in_turn(self) -> bool:
        """True if the main agent takes a turn, or is about to."""
        self.pump()
        is_awaited = self._turn is not None and not self._is_held
        return is_awaited or self._session.main.is_busy or bool(self._session.inbox.queued())

    def name_of(self, actor: str) -> str:
        """Return the name of an agent for people."""
        self.pump()
        return self._tasks.name_of(actor)

    def live_tasks(self) -> list[Line]:
        """Return the tasks that run in the background now."""
        self.pump()
        return self._tasks.live()

    def counts(self) -> Counts:
        """Return what was used so far."""
        return Counts(
            duration_ms=round((trio.current_time() - self._began_s) * 1000),
            api_ms=round(self.meter.api_s * 1000),
            rounds=self.meter.rounds,
            usage=self.meter.usage,
            by_model=dict(self.meter.by_model),
            cost_usd=dict(self.meter.cost_usd),
            denials=self._session.permissions.denials,
        )

    @property
    def due_s(self) -> float:
        """When there is a sign of life to print, on the run's clock; infinite if nothing runs."""
        self.pump()
        return min(self._beats.due_s, self._silences.due_s)

    def beat(self) -> None:
        """Print the signs of life that are due."""
        now_s = trio.current_time()
        for actor, quiet_s in self._silences.due(now_s):
            self.printer.waited(quiet_s, "" if actor == self._session.main.id else self.name_of(actor))
        lines = self._beats.beat(now_s)
        if lines:
            self.printer.lines(lines)


_LIVE: Final[Mapping[type[Event], Callable[[EventPrinter, Any], None]]] = {
    AnswerPiece: EventPrinter._streamed,
    ElicitationCompleted: EventPrinter._elicited,
    HookReported: EventPrinter._hooked,
    MessageAppended: EventPrinter._appended,
    MessageShown: EventPrinter._shown,
    PromptTaken: EventPrinter._taken,
}


def origin_of(first: Appended) -> Origin | None:
    """Return where the first message of a turn came from; None for a user's message."""
    origin = first.origin
    return None if origin is None or origin.is_consent or first.message.text == CONTINUE else origin


def as_shown(text: str, said: Sequence[tuple[str, str]]) -> str:
    """Return an answer as it was shown; it may have come in several messages.

    Args:
        text: The answer.
        said: The messages of the turn in order, each with what was shown of it.
    """
    for first in range(len(said) - 1, -1, -1):
        if "".join(original for original, _ in said[first:]) == text:
            return "".join(shown for _, shown in said[first:])
    return text


def follow_up(
    event: TurnEnded, text: str, stop_reason: str | None, structured: Mapping[str, Any] | None = None
) -> Ending:
    """Return the ending of a turn whose return value nobody awaits."""
    if event.state == "completed":
        return Ending(subtype=SUCCESS, text=text, reason="completed", stop_reason=stop_reason, structured=structured)
    why = without_class(event.error) or (event.cause.why if event.cause is not None else event.state)
    return Ending(subtype=FAILED, text=text, error=why)
