"""One headless run over an open session: the turn of the prompt, the turns that its background tasks lead to, the end.

Rule 1: the first line is printed before anything that an agent says. Rule 2 (agents 13.16): a turn that nobody asked for has
a result of its own, which says where it came from. Rule 3 (RC-36): after the answer, background tasks are waited for; what
they say is heard, and what is given up makes the run an error. Rule 4 (agents 13.3): an interrupt ends the turn and is a result; a request to terminate
leaves the turn unfinished and is none.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import AbortStatus, TurnEnded
from greenroom.agents import (
    CONTINUE,
    AgentNoticed,
    Appended,
    CompactBegan,
    CompactEnded,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    PermissionDenied,
)
from greenroom.core import CLASS, SEQ, Event, GreenroomError, Record, TurnFailed, TurnKilled, UsageError, event_of
from greenroom.headless._background_wait import AWAITED, give_up, wait_background
from greenroom.headless._ending import FAILED, SUCCESS, Ending, compacted, ended_badly, ended_well, folder_added
from greenroom.headless._heartbeats import Beats
from greenroom.headless._opening import opening_of
from greenroom.headless._printers import Printer
from greenroom.headless._protocol import UserSaid, elicited_line, replay_line
from greenroom.headless._silence import Silences
from greenroom.headless._slash_commands import COMPACT, OwnCall, own_call
from greenroom.headless._stream_json import Abandoned, Counts, Line, abandoned_text, hook_line
from greenroom.headless._task_lines import TaskLines
from greenroom.headless._usage_meter import Meter
from greenroom.hooks import HookEvent, HookRan, HookUpdate
from greenroom.inbox import Origin
from greenroom.session import SETTINGS_NOTICE, Session
from greenroom.terminal import EXIT_CODES, complain, note, without_class

_LOOK_S: Final = 5.0
"""Seconds after which it is looked whether a call runs that will have to be spoken of."""
_NOTED: Final = frozenset((SETTINGS_NOTICE, HookEvent.ELICITATION.value))
"""Sources of notices that people are told of on standard error."""
_OF_OTHERS: Final = frozenset((PermissionDenied, ModelRetried))
"""Events that are told of sub-agents too."""
_REQUESTS: Final = frozenset((ModelBegan, ModelRetried, ModelEnded))
_TERMINATED: Final = EXIT_CODES[signal.SIGTERM]


@final
class Run:
    """What is known of a run while it lasts.

    Args:
        printer: Told of everything in order.
        began_s: When it began, on Trio's clock.
        wall: Reads the date and time.
        ceiling_s: How long agents in the background are waited for.
    """

    def __init__(self, printer: Printer, began_s: float, *, wall: Callable[[], datetime], ceiling_s: float) -> None:
        self.ending: Ending | None = None
        """How the turn of the prompt ended; None: it has not, or a request to terminate cut it."""
        self.abandoned: tuple[Abandoned, ...] = ()
        """What was given up because it took too long."""
        self.hang_up: Callable[[], None] = lambda: None
        """Takes no more prompts; set by whoever gives some."""
        self._printer = printer
        self._began_s = began_s
        self._session: Session | None = None
        self._wall = wall
        self._ceiling_s = ceiling_s
        self._meter = Meter("")
        self._tasks = TaskLines(Path())
        self._beats = Beats("")
        self._silences = Silences()
        self._held: list[Callable[[], None]] = []
        """What was to be printed before the session is open."""
        self._drain = trio.CancelScope()
        self._first: Appended | None = None
        """What the main agent's current turn began with; None before that."""
        self._last_text = ""
        self._unseen: Appended | None = None
        """The message that hooks look at before it is shown, as it is."""
        self._texts: list[tuple[str, str]] = []
        """What the main agent said since the last turn that was awaited had begun, and what was shown of it."""
        self._is_over = False
        """Whether the last line was printed."""
        self.repeats = False
        """Whether messages of the user are repeated where they are taken up."""
        self.goes_on = False
        """Whether a turn that an earlier process did not bring to its end is gone on with also where prompts may come."""
        self._has_more = False
        """Whether prompts may come while it lasts."""
        self._is_awaited = False
        """Whether a turn runs that `work` waits for."""
        self._later: list[Callable[[], None]] | None = None
        """What happened since that turn ended; it is printed behind its result, which has to be on record first."""
        self._counted: Counts | None = None
        """What was used when that turn ended."""
        self.noticed: list[str] = []
        """What people were told of the session while it lasts; long texts only as far as they were told."""
        self._bad_hooks: set[tuple[str, str, str]] = set()
        """Those that were said to be; once is enough."""

    # --- what happens ----------------------------------------------------------------------------------------------

    def open(self, session: Session, prompt: str, *, more_come: bool = False) -> Callable[[], None]:
        """Begin with an open session: print the first line and what was said before it; return what stops counting.

        Raises:
            UsageError: There is no prompt, none comes, and there is nothing to go on with.
        """
        if not prompt and not more_come and not session.was_cut:
            raise UsageError(f"the last turn of {session.id} came to its end; give a prompt to go on with")
        self._session = session
        session.let_hooks_defer()
        self._meter = Meter(session.main.id, on_event=self._told)
        self._tasks = TaskLines(session.run_folder / "tasks")
        self._beats = Beats(session.main.id)
        recorder = session.runtime.recorder
        for record in recorder.latest():
            self._meter.see(record)
            self._lines_of(record)  # nothing at the start (agents 6.39)
        self._printer.opened(opening_of(session))
        held, self._held = self._held, []
        for say in held:
            say()
        return recorder.listen(self._seen)

    def heard(self, message: Appended) -> None:
        """Print a message, unless hooks look at it first; what is said before the session is open waits."""
        if message.is_shown_later:
            self._unseen = message
        else:
            self._say(message, message.message.text)

    def shown(self, message: Appended) -> None:
        """Print a message as hooks of `MessageDisplay` want it shown."""
        assert self._unseen is not None
        self._say(message, self._unseen.message.text)

    def _say(self, message: Appended, original: str) -> None:
        if self._session is None:
            self._held.append(partial(self._say, message, original))
        elif message.agent == self._session.main.id:
            if message.message.role == "assistant":
                if original:
                    self._last_text = message.message.text
                    self._texts.append((original, self._last_text))
            elif self._first is None:
                self._first = message
            self._print(partial(self._printer.said, message))
        else:
            call = self._tasks.call_of(message.agent)
            if call:
                self._print(partial(self._printer.said, message, call))

    def streamed(self, agent: str, event: Mapping[str, Any]) -> None:
        """Print an event of a model's answer; what comes before the session is open waits."""
        if self._session is None:
            self._held.append(partial(self.streamed, agent, event))
            return
        call = None if agent == self._session.main.id else self._tasks.call_of(agent)
        if call != "":
            self._print(partial(self._printer.streamed, event, call))

    def hooked(self, news: HookUpdate) -> None:
        """Print what becomes of a hook; what it does before the session is open waits, and behind the last result it is left out."""
        if self._session is None:
            self._held.append(partial(self.hooked, news))
        elif not self._is_over:
            self._print(partial(self._printer.lines, [hook_line(news)]))

    def elicited(self, server: str, asked: str) -> None:
        """Print that what a person was to do at an address is done; what comes before the session is open waits."""
        if self._session is None:
            self._held.append(partial(self.elicited, server, asked))
        elif not self._is_over:
            self._print(partial(self._printer.lines, [elicited_line(server, asked)]))

    def repeat(self, said: UserSaid) -> None:
        """Repeat what a person said, where that is wanted."""
        if self.repeats:
            self._print(partial(self._printer.lines, [replay_line(said)]))

    def _print(self, printing: Callable[[], None]) -> None:
        if self._later is None:
            printing()
        else:
            self._later.append(printing)

    def _seen(self, record: Record) -> None:
        self._meter.see(record)
        if Beats.is_about(record[CLASS]):
            self._beats.see(event_of(record), now_s=trio.current_time())
        if record[SEQ] > 0 and record[CLASS] in _OF_OTHERS:
            self._told_of_other(event_of(record))
        if record[CLASS] in _REQUESTS:
            self._silences.see(event_of(record), now_s=trio.current_time())
        lines = self._lines_of(record)
        if lines:
            self._print(partial(self._printer.lines, lines))

    def _told_of_other(self, event: Event) -> None:
        """Print that a call of another agent than the main one was refused, or its request tried again."""
        agent = self._tasks.agent_of(event.actor or "")
        is_main = self._session is None or event.actor == self._session.main.id
        if isinstance(event, PermissionDenied | ModelRetried) and agent and not is_main:
            self._print(partial(self._printer.told, event, agent))

    def name_of(self, actor: str) -> str:
        """Return what people know an agent by."""
        return self._tasks.name_of(actor)

    def moved(self, agent: str, event: Mapping[str, Any]) -> None:
        """Note that more of an agent's answer has come."""
        self._silences.moved(agent, now_s=trio.current_time())

    def _lines_of(self, record: Record) -> list[Line]:
        seq, t, kind, *_ = record
        if seq < 1 or not TaskLines.is_about(kind):
            return []
        return self._tasks.see(event_of(record), now_s=t, wall_ms=round(self._wall().timestamp() * 1000))

    def _told(self, event: Event) -> None:
        match event:
            case TurnEnded():
                self._turn_ended(event)
            case PermissionDenied() | CompactBegan() | CompactEnded() | ModelRetried():
                self._print(partial(self._printer.told, event))
            case AgentNoticed(source=source, text=text):
                self._noticed(source, text)
            case HookRan(error=error) if error and (event.source, event.handler, error) not in self._bad_hooks:
                self._bad_hooks.add((event.source, event.handler, error))
                note(f"{event.source}: the hook {event.handler!r} of {event.event} does not work: {error}")

    def _noticed(self, source: str, text: str) -> None:
        """Say what people are told of the main agent, save what was said of a hook that does not work."""
        self.noticed.append(text)
        if not any(error in text for _, _, error in self._bad_hooks):
            note(text if source in _NOTED else f"{source}: {text}")

    def _turn_ended(self, event: TurnEnded) -> None:
        first, self._first = self._first, None
        origin = None if first is None else origin_of(first)
        if origin is None and self._is_awaited:
            self._is_awaited, self._later, self._counted = False, [], self.counts()
        elif origin is not None or (first is not None and self._has_more):
            structured = None if self._session is None else self._session.structured
            ending = follow_up(event, self._last_text, self._meter.stop_reason or None, structured)
            self._print(partial(self._printer.ended, ending, self.counts(), origin=origin))
            if origin is None:
                self.ending = ending
        self._last_text = ""

    @property
    def has_begun(self) -> bool:
        """Whether the session was opened."""
        return self._session is not None

    def was_said(self, problem: str) -> bool:
        """Whether the prompt's turn ended with a problem, which was told with its result."""
        return self.ending is not None and self.ending.error == problem

    @property
    def is_in_turn(self) -> bool:
        """Whether the main agent takes a turn, or is about to."""
        session = self._session
        return self._is_awaited or (session is not None and (session.main.is_busy or bool(session.queued())))

    def show_text(self) -> None:
        """Show what sub-agents say and think, from now on."""
        self._printer.show_text()

    def live_tasks(self) -> list[Line]:
        """Return what runs in the background now."""
        return self._tasks.live()

    def counts(self) -> Counts:
        """Return what was used so far."""
        meter = self._meter
        return Counts(
            duration_ms=round((trio.current_time() - self._began_s) * 1000),
            api_ms=round(meter.api_s * 1000),
            rounds=meter.rounds,
            usage=meter.usage,
            by_model=dict(meter.by_model),
            cost_usd=dict(meter.cost_usd),
            denials=() if self._session is None else self._session.denials,
        )

    # --- what is done ----------------------------------------------------------------------------------------------

    async def work(
        self,
        session: Session,
        prompt: str,
        exit_code: Callable[[], int | None],
        more: trio.MemoryReceiveChannel[UserSaid] | None = None,
        ready: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint,
    ) -> None:
        """Take the turn of each prompt, print its result, and hear what background tasks have to say; then all is printed.

        Args:
            session: The one that was opened.
            prompt: What the agent is asked; empty to go on with a turn that was cut, or to wait for what comes.
            exit_code: Returns what a signal makes of the exit code, None if there was none.
            more: Further prompts.
            ready: Waits for what a turn needs; awaited before each.
        """
        self._has_more = more is not None
        said = [part for part in (session.initial_message, prompt) if part.strip()]
        try:
            if prompt or more is None or (self.goes_on and session.was_cut):
                await ready()
                await self._take_turn(session, "\n\n".join(said) if prompt else "", exit_code)
                said = []
            while more is not None and exit_code() is None:
                try:
                    one = await more.receive()
                except trio.EndOfChannel:
                    break
                await ready()
                self.repeat(one)
                said.append(one.text)
                await self._take_turn(session, "\n\n".join(said), exit_code, message_id=one.uuid)
                said = []
            if exit_code() != _TERMINATED:
                await self._hear_tasks(session)
        finally:
            self._is_over = True
            self._printer.closed(self.abandoned, self.counts())

    async def beat(self) -> None:
        """Print signs of life of the main agent's calls; never returns."""
        while True:
            await trio.sleep_until(min(self._beats.due_s, self._silences.due_s, trio.current_time() + _LOOK_S))
            for actor, quiet_s in self._silences.due(trio.current_time()):
                is_main = self._session is None or actor == self._session.main.id
                self._printer.waited(quiet_s, "" if is_main else self.name_of(actor))
            lines = self._beats.beat(trio.current_time())
            if lines:
                self._print(partial(self._printer.lines, lines))

    async def _take_turn(
        self, session: Session, text: str, exit_code: Callable[[], int | None], *, message_id: str = ""
    ) -> None:
        """Take the turn of a prompt, or go on with one that was cut, and print its result."""
        self._is_awaited, self._counted = True, None
        self._texts.clear()
        try:
            called = own_call(text, session)
            if called is not None:
                ending = await _carry_out(session, called)
            else:
                answer = await (session.run(text, message_id=message_id) if text else session.go_on())
                ending = ended_well(answer)
        except (TurnFailed, TurnKilled) as error:
            stop_reason = self._meter.stop_reason or None
            ending = ended_badly(error, was_in_tools=self._meter.was_in_tools, stop_reason=stop_reason)
        except GreenroomError as error:
            ending = Ending(subtype=FAILED, error=str(error))
        if exit_code() == _TERMINATED:
            return
        ending = self.ending = attrs.evolve(ending, text=as_shown(ending.text, self._texts))
        self._print_awaited(ending)
        if ending.deferred is not None and not ending.is_error:
            complain(
                f"a hook has put off {ending.deferred.name}: `greenroom run --resume {session.id}` goes on with it",
                code=0,
            )

    def _print_awaited(self, ending: Ending) -> None:
        """Print how the awaited turn ended, and then what has happened since."""
        self._is_awaited = False
        self._printer.ended(ending, self._counted or self.counts())
        later, self._later = self._later or [], None
        for printing in later:
            printing()

    async def _hear_tasks(self, session: Session) -> None:
        with self._drain:  # cancelled already, where a signal came before
            await wait_background(session, ceiling_s=self._ceiling_s)
        left = session.delegation.tasks.running()
        agents = tuple(one for one in left if one.info.kind in AWAITED and one.is_background)
        self.abandoned = tuple(
            Abandoned(task_id=one.info.id, task_type=one.info.kind, description=one.info.description) for one in agents
        )
        if agents:
            complain(abandoned_text(self.abandoned), code=0)
            await give_up(left)

    def stop(self, session: Session, why: str, exit_code: int | None) -> None:
        """Take a first signal: a request to terminate ends everything now, an interrupt only the turn."""
        self._drain.cancel()
        self.hang_up()
        if exit_code == _TERMINATED:
            session.kill(why)
        elif session.interrupt(why).status is not AbortStatus.ABORTED:
            session.stop(why)


async def _carry_out(session: Session, called: OwnCall) -> Ending:
    """Do what a prompt called that is no turn of the agent's.

    Raises:
        UsageError: There is no such folder, or it cannot be added; or compaction is switched off.
        TurnFailed: The conversation was not compacted.
    """
    if called.name == COMPACT:
        return compacted(await session.compact(called.said))
    if not called.said:
        raise UsageError(f"/{called.name} needs a folder: say which one agents may work in")
    return folder_added(await session.add_folder(called.path, source="slash_command"))


# --- pure pieces --------------------------------------------------------------------------------------------------------


def origin_of(first: Appended) -> Origin | None:
    """Return what led to a turn, by its first message; None for what a person said (agents 13.16)."""
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
    """Return how a turn ended that nobody asked for."""
    if event.state == "completed":
        return Ending(subtype=SUCCESS, text=text, reason="completed", stop_reason=stop_reason, structured=structured)
    why = without_class(event.error) or (event.cause.why if event.cause is not None else event.state)
    return Ending(subtype=FAILED, text=text, error=why)


def unknown_tools(rules: Sequence[str], tools: Sequence[str]) -> list[str]:
    """Return the tools that rules name and that there are not; those of MCP servers may come later."""
    names = [rule.partition("(")[0].strip() for rule in rules]
    known = {name.lower() for name in tools}
    return [name for name in names if name.lower() not in known and "*" not in name and not name.startswith("mcp__")]
