"""One headless run over an open session: the turn of the prompt, the turns that its background tasks lead to, the end.

Rule 1: the first line is printed before anything that an agent says. Rule 2 (agents 13.16): a turn that nobody asked for has
a result of its own, which says where it came from. Rule 3 (agents 6.70): after the answer, background tasks get a few
seconds; what they say is heard. Rule 4 (agents 13.3): an interrupt ends the turn and is a result; a request to terminate
leaves the turn unfinished and is none.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Final, final

import trio

from greenroom._version import __version__
from greenroom.actors import AbortStatus, TurnEnded
from greenroom.agents import CONTINUE, Appended, CompactEnded, PermissionDenied
from greenroom.cli._output import note
from greenroom.cli._run_ending import FAILED, SUCCESS, Ending, ended_badly, ended_well
from greenroom.cli._run_lines import Counts, Opening
from greenroom.cli._run_meter import Meter
from greenroom.cli._run_model import key_source
from greenroom.cli._run_output import Printer
from greenroom.cli._signals import EXIT_CODES
from greenroom.core import Event, GreenroomError, Record, TurnFailed, TurnKilled, UsageError
from greenroom.hooks import HookRan
from greenroom.inbox import Origin
from greenroom.session import Session

BACKGROUND_GRACE_S: Final = 5.0
"""So long background tasks may go on after the answer."""
_TERMINATED: Final = EXIT_CODES[signal.SIGTERM]


@final
class Run:
    """What is known of a run while it lasts.

    Args:
        printer: Told of everything in order.
        began_s: When it began, on Trio's clock.
    """

    def __init__(self, printer: Printer, began_s: float) -> None:
        self.ending: Ending | None = None
        """How the turn of the prompt ended; None: it has not, or a request to terminate cut it."""
        self._printer = printer
        self._began_s = began_s
        self._session: Session | None = None
        self._meter = Meter("")
        self._held: list[Appended] = []
        self._drain = trio.CancelScope()
        self._first: Appended | None = None
        """What the main agent's current turn began with; None before that."""
        self._last_text = ""
        self._bad_hooks: set[tuple[str, str, str]] = set()
        """Those that were said to be; once is enough."""

    # --- what happens ----------------------------------------------------------------------------------------------

    def open(self, session: Session, prompt: str) -> Callable[[], None]:
        """Begin with an open session: print the first line and what was said before it; return what stops counting.

        Raises:
            UsageError: There is no prompt, and nothing to go on with.
        """
        if not prompt and not session.was_cut:
            raise UsageError(f"the last turn of {session.id} came to its end; give a prompt to go on with")
        self._session = session
        self._meter = Meter(session.main.id, on_event=self._told)
        recorder = session.runtime.recorder
        for record in recorder.latest():
            self._meter.see(record)
        self._printer.opened(opening_of(session))
        held, self._held = self._held, []
        for message in held:
            self.heard(message)
        return recorder.listen(self._meter.see)

    def heard(self, message: Appended) -> None:
        """Print a message of the main agent; what is said before the session is open waits."""
        if self._session is None:
            self._held.append(message)
        elif message.agent == self._session.main.id:
            if message.message.role == "assistant":
                self._last_text = message.message.text or self._last_text
            elif self._first is None:
                self._first = message
            self._printer.said(message)

    def _told(self, event: Event) -> None:
        match event:
            case TurnEnded():
                self._turn_ended(event)
            case PermissionDenied() | CompactEnded():
                self._printer.told(event)
            case HookRan(error=error) if error and (event.source, event.handler, error) not in self._bad_hooks:
                self._bad_hooks.add((event.source, event.handler, error))
                note(f"{event.source}: the hook {event.handler!r} of {event.event} does not work: {error}")

    def _turn_ended(self, event: TurnEnded) -> None:
        first, self._first = self._first, None
        origin = None if first is None else origin_of(first)
        if origin is not None:
            stop_reason = self._meter.stop_reason or None
            self._printer.ended(follow_up(event, self._last_text, stop_reason), self.counts(), origin=origin)
        self._last_text = ""

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

    async def work(self, session: Session, prompt: str, exit_code: Callable[[], int | None]) -> None:
        """Take the turn of the prompt, print its result, and hear what background tasks have to say.

        Args:
            session: The one that was opened.
            prompt: What the agent is asked; empty to go on with a turn that was cut.
            exit_code: Returns what a signal makes of the exit code, None if there was none.
        """
        text = "\n\n".join(part for part in (session.initial_message, prompt) if part.strip())
        try:
            answer = await (session.run(text) if prompt else session.go_on())
            ending = ended_well(answer)
        except (TurnFailed, TurnKilled) as error:
            ending = ended_badly(error, was_in_tools=self._meter.was_in_tools)
        except GreenroomError as error:
            ending = Ending(subtype=FAILED, error=str(error))
        if exit_code() == _TERMINATED:
            return
        self.ending = ending
        self._printer.ended(ending, self.counts())
        if exit_code() is None:
            await self._hear_tasks(session)

    async def _hear_tasks(self, session: Session) -> None:
        deadline = trio.current_time() + BACKGROUND_GRACE_S
        with self._drain:
            await session.wait_quiet()
            while self._meter.tasks and trio.current_time() < deadline:
                with trio.move_on_at(deadline):
                    await self._wait_task_ended(session)
                await session.wait_quiet()

    async def _wait_task_ended(self, session: Session) -> None:
        """Return when a task has ended, or nothing runs."""
        before, changed = set(self._meter.tasks), trio.Event()

        def look(_: Record) -> None:
            if before - self._meter.tasks:
                changed.set()

        stop_listening = session.runtime.recorder.listen(look)
        try:
            await changed.wait()
        finally:
            stop_listening()

    def stop(self, session: Session, why: str, exit_code: int | None) -> None:
        """Take a first signal: a request to terminate ends everything now, an interrupt only the turn."""
        self._drain.cancel()
        if exit_code == _TERMINATED:
            session.kill(why)
        elif session.interrupt(why).status is not AbortStatus.ABORTED:
            session.stop(why)


# --- pure pieces --------------------------------------------------------------------------------------------------------


def opening_of(session: Session) -> Opening:
    """Return what is known of a session before its first turn."""
    return Opening(
        session=session.id,
        cwd=str(session.cwd),
        model=session.model,
        permission_mode=session.permission_mode,
        version=__version__,
        api_key_source=key_source(),
        tools=session.tools,
        commands=[one.name for one in session.skills.values() if one.for_users],
        agents=list(session.definitions),
        skills=[one.name for one in session.skills.values() if one.for_models],
        servers=[(one.name, one.status.value) for one in session.servers.states()],
    )


def origin_of(first: Appended) -> Origin | None:
    """Return what led to a turn, by its first message; None for what a person said (agents 13.16)."""
    origin = first.origin
    return None if origin is None or origin.is_consent or first.message.text == CONTINUE else origin


def follow_up(event: TurnEnded, text: str, stop_reason: str | None) -> Ending:
    """Return how a turn ended that nobody asked for."""
    if event.state == "completed":
        return Ending(subtype=SUCCESS, text=text, reason="completed", stop_reason=stop_reason)
    why = event.error or (event.cause.why if event.cause is not None else event.state)
    return Ending(subtype=FAILED, text=text, error=why)


def unknown_tools(rules: Sequence[str], tools: Sequence[str]) -> list[str]:
    """Return the tools that rules name and that there are not; those of MCP servers may come later."""
    names = [rule.partition("(")[0].strip() for rule in rules]
    known = {name.lower() for name in tools}
    return [name for name in names if name.lower() not in known and "*" not in name and not name.startswith("mcp__")]
