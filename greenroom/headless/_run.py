"""One headless run over an open session: the turns of its prompts, the turns that background tasks lead to, the end.

A turn that nobody asked for has a result of its own, which says where it came from. After the answer, background tasks are awaited;
a task that is given up makes the run an error. An interrupt ends the turn and is a result; a request to terminate leaves the turn
unfinished and is none.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Final, final

import trio

from greenroom.actors import AbortStatus
from greenroom.core import GreenroomError, TurnFailed, TurnKilled, UsageError
from greenroom.headless._background_wait import AWAITED, END_S, wait_background, wait_turns
from greenroom.headless._control import Host
from greenroom.headless._ending import FAILED, SUCCESS, Ending, compacted, ended_badly, ended_well, folder_added
from greenroom.headless._event_printer import EventPrinter
from greenroom.headless._slash_commands import COMPACT, OwnCall, own_call
from greenroom.headless._stream_json import Abandoned, abandoned_text
from greenroom.session import Session
from greenroom.tasks import TERMINAL
from greenroom.terminal import EXIT_CODES, complain

_LOOK_S: Final = 5.0
"""Seconds after which a run looks again whether a sign of life will be due."""
_TERMINATED: Final = EXIT_CODES[signal.SIGTERM]


@final
class HeadlessRun:
    """A run over an open session.

    Args:
        session: The session.
        events: Prints the session's events; already open.
        host: The program that sends prompts while the run lasts; None if there is none.
        exit_code: Returns the exit code that a signal has decided; None if there was none.
        ceiling_s: Seconds for which agents in the background are awaited after the answer.
        resumes_cut_turn: True if a turn that an earlier process left unfinished is resumed also where prompts may come.
    """

    def __init__(
        self,
        session: Session,
        events: EventPrinter,
        *,
        host: Host | None = None,
        exit_code: Callable[[], int | None] = lambda: None,
        ceiling_s: float,
        resumes_cut_turn: bool = False,
    ) -> None:
        self.abandoned: tuple[Abandoned, ...] = ()
        """Tasks that were given up because they took too long."""
        self._session = session
        self._events = events
        self._host = host
        self._exit_code = exit_code
        self._ceiling_s = ceiling_s
        self._resumes_cut_turn = resumes_cut_turn
        self._drain = trio.CancelScope()

    async def work(self, prompt: str, hosted: Sequence[str] = ()) -> None:
        """Take the turn of each prompt, print its result, and wait for background tasks; when it returns, all is printed.

        Args:
            prompt: The first prompt; empty to resume a turn that was cut or to read what waits, or to wait for those of the host.
            hosted: Names of the MCP servers that live in the host.
        """
        session, events, host = self._session, self._events, self._host
        said = [part for part in (session.inbox.initial_message, prompt) if part.strip()]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(events.run, name="greenroom events")
            if host is not None:
                await host.open_servers(hosted, session)
                nursery.start_soon(host.listen, session, events, name="greenroom input")
            nursery.start_soon(self._beat, name="greenroom signs of life")
            try:
                if prompt or host is None or (self._resumes_cut_turn and session.was_cut):
                    await self._ready()
                    if prompt or session.was_cut:
                        await self._take_turn("\n\n".join(said) if prompt else "")
                    else:
                        await wait_turns(session)
                    said = []
                while host is not None and self._exit_code() is None:
                    try:
                        following = await host.prompts.receive()
                    except trio.EndOfChannel:
                        break
                    await self._ready()
                    events.pump()
                    events.repeat(following)
                    said.append(following.text)
                    await self._take_turn("\n\n".join(said), message_id=following.uuid)
                    said = []
                if self._exit_code() != _TERMINATED:
                    await self._wait_tasks()
                    self._end_without_turn()
            finally:
                events.pump()
                events.close()
                events.printer.closed(self.abandoned, events.counts())
            nursery.cancel_scope.cancel("the work is done")

    async def _ready(self) -> None:
        """Wait for what a turn needs: the MCP servers of the host."""
        if self._host is None:
            await trio.lowlevel.checkpoint()
        else:
            await self._host.wait_servers()

    async def _beat(self) -> None:
        """Print signs of life of calls and requests that take long; never returns."""
        while True:
            await trio.sleep_until(min(self._events.due_s, trio.current_time() + _LOOK_S))
            self._events.beat()

    async def _take_turn(self, text: str, *, message_id: str = "") -> None:
        """Take the turn of a prompt, or resume one that was cut, and print its result."""
        session, events = self._session, self._events
        events.expect_turn()
        try:
            called = own_call(text, session)
            if called is not None:
                ending = await _carry_out(session, called)
            else:
                answer = await (session.run(text, message_id=message_id) if text else session.resume_turn())
                ending = ended_well(answer)
        except (TurnFailed, TurnKilled) as error:
            events.pump()
            meter = events.meter
            ending = ended_badly(error, was_in_tools=meter.was_in_tools, stop_reason=meter.stop_reason or None)
        except GreenroomError as error:
            ending = Ending(subtype=FAILED, error=str(error))
        if self._exit_code() == _TERMINATED:
            events.pump()
            events.close()
            return
        ending = events.end_turn(ending)
        if ending.deferred is not None and not ending.is_error:
            complain(
                f"a hook has deferred {ending.deferred.name}; resume with: greenroom run --resume {session.id}",
                code=0,
            )

    async def _wait_tasks(self) -> None:
        with self._drain:  # cancelled already if a signal came before
            await wait_background(self._session, ceiling_s=self._ceiling_s)
        left = [task for task in self._session.tasks.all() if task.state not in TERMINAL]
        self.abandoned = tuple(
            Abandoned(task_id=task.id, task_type=task.kind, description=task.description)
            for task in left
            if task.kind in AWAITED and task.is_background
        )
        if self.abandoned:
            complain(abandoned_text(self.abandoned), code=0)
            await self._session.tasks.abandon("the run came to its end", within_s=END_S)

    def _end_without_turn(self) -> None:
        """Print an empty result if what waited, such as a letter that has expired, began no turn after all."""
        self._events.pump()
        if self._host is None and self._events.ending is None and self._exit_code() is None:
            self._events.expect_turn()
            self._events.end_turn(Ending(subtype=SUCCESS, reason="completed"))

    def stop(self, why: str) -> None:
        """Carry out a first signal: a request to terminate ends everything now, an interrupt only the turn."""
        self._drain.cancel()
        if self._host is not None:
            self._host.close()
        if self._exit_code() == _TERMINATED:
            self._session.kill(why)
        elif self._session.interrupt(why).status is not AbortStatus.ABORTED:
            self._session.stop(why)


async def _carry_out(session: Session, called: OwnCall) -> Ending:
    """Carry out a prompt that calls a command of our own in place of a turn of the agent.

    Raises:
        UsageError: The folder is missing or cannot be added, or compaction is switched off.
        TurnFailed: The conversation was not compacted.
    """
    if called.name == COMPACT:
        return compacted(await session.compact(called.said))
    if not called.said:
        raise UsageError(f"/{called.name} needs a folder: say which one agents may work in")
    return folder_added(await session.files.add_folder(called.path, source="slash_command"))
