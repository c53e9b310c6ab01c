"""The live view: a picture of the swarm, redrawn in place, with news that scroll by above it and keys that act on it.

Everything is drawn on the Trio thread, at most 8 times a second. What a key does goes through the same calls as a
program's, and is recorded as those are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, final

import trio
from rich.console import Console
from rich.live import Live
from rich.text import Text

from greenroom.swarm._controls import Controls, KeyQuestion, Target, press
from greenroom.swarm._event_reader import Reading, Waits
from greenroom.swarm._frame import MAIL_SHOWN, Frame, draw, rows_of, with_wait
from greenroom.swarm._key_actions import carry_out, question_of, targets_of
from greenroom.swarm._view import Summary, SwarmOpening, summary_lines
from greenroom.teams import MailSent
from greenroom.terminal import Keyboard, Narrator, open_keyboard, printable

if TYPE_CHECKING:
    from greenroom.session import EventStream, Session
    from greenroom.teams import Item, Team

INTERVAL_S: Final = 0.125


@final
class LiveView:
    """Draws a frame in place and lets news scroll by above it.

    Args:
        console: Where it is drawn; by default the standard output.
        has_keys: Whether keys of the terminal are read.
    """

    def __init__(self, console: Console | None = None, *, has_keys: bool = False) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._narrator = Narrator()
        self._team: Team | None = None
        self._title = "greenroom swarm"
        self._note = ""
        self._mail: deque[str] = deque(maxlen=MAIL_SHOWN)
        self._live: Live | None = None
        self._is_dirty = True
        self._controls = Controls()
        self._terminal = ExitStack()
        self._keyboard = self._terminal.enter_context(open_keyboard()) if has_keys else None

    @property
    def can_answer(self) -> bool:
        """True if somebody can say here whether a call may run."""
        return self._keyboard is not None

    def begin(self, opening: SwarmOpening) -> None:
        """Print the first line, which stays."""
        self._console.print(Text(opening.text))
        self._console.print(Text(opening.hint))
        self._title = f"{printable(opening.folder)}: {opening.mates} mates and a lead"

    def show_team(self, team: Team) -> None:
        """Take the board from this team."""
        self._team = team

    def say(self, text: str) -> None:
        """Show a line below the tree."""
        self._note = printable(text)
        self._is_dirty = True
        if self._live is None:
            self._console.print(Text(self._note))

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Draw until the session's events end."""
        began = trio.current_time()
        self._narrator.introduce(session.tree())
        with Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
            self._live = live
            try:
                async with trio.open_nursery() as nursery:
                    reading = Reading(stream)
                    nursery.start_soon(self._redraw, session, live, began, reading.waits)
                    if self._keyboard is not None:
                        nursery.start_soon(self._obey, session, self._keyboard)
                    await self._read(reading)
                    nursery.cancel_scope.cancel("the session has ended")
            finally:
                self._live = None
                self._terminal.close()

    def end(self, summary: Summary) -> None:
        """Print the last lines."""
        self._terminal.close()
        for line in summary_lines(summary):
            self._console.print(Text(line), soft_wrap=True)

    def leave(self) -> None:
        """Show the cursor again, end the frame, and leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
        self._console.show_cursor()
        self._terminal.close()

    async def _read(self, reading: Reading) -> None:
        while (found := await reading.next()) is not None:
            event = found[2]
            self._is_dirty = True
            self._narrator.words(event)
            if isinstance(event, MailSent):
                self._mail.append(f"{event.sender} to {event.to}: {event.summary}")
            news = self._narrator.news(event)
            if news is not None:
                self._console.print(Text(news), no_wrap=True, overflow="ellipsis")

    # --- keys --------------------------------------------------------------------------------------------------------

    async def _obey(self, session: Session, keyboard: Keyboard) -> None:
        while keys := await keyboard.read():
            for key in keys:
                targets, question = self._surroundings(session)
                self._controls, action = press(self._controls, key, targets, question)
                if action is not None:
                    self.say(carry_out(action, session, self._team))
            self._is_dirty = True

    def _surroundings(self, session: Session) -> tuple[Sequence[Target], KeyQuestion | None]:
        return targets_of(session, self._team), question_of(session)

    # --- frames ------------------------------------------------------------------------------------------------------

    async def _redraw(self, session: Session, live: Live, began: float, waits: Waits) -> None:
        second = -1
        while True:
            elapsed_s = trio.current_time() - began
            if self._is_dirty or int(elapsed_s) != second:
                self._is_dirty, second = False, int(elapsed_s)
                live.update(draw(self._frame(session, elapsed_s, waits), self._console), refresh=True)
            await trio.sleep(INTERVAL_S)

    def _frame(self, session: Session, elapsed_s: float, waits: Waits) -> Frame:
        now = session.now()
        agents = {agent.id: with_wait(agent, waits.waited_s(agent.id, now)) for agent in session.agents.all()}
        items: Sequence[Item] = self._team.board.items() if self._team is not None else ()
        keys, chosen = self._keys(session)
        usd = session.budget.spent.usd
        return Frame(
            title=self._title,
            elapsed_s=elapsed_s,
            rows=tuple(rows_of(session.tree(), agents)),
            completed=sum(item.status == "completed" for item in items),
            in_progress=sum(item.status == "in_progress" for item in items),
            items=len(items),
            cost=f"${usd:.2f}" if usd else "",
            mail=tuple(self._mail),
            note=self._note,
            keys=keys,
            chosen=chosen,
        )

    def _keys(self, session: Session) -> tuple[str, str]:
        """Return the line about keys, and the id of the agent that they are about."""
        if self._keyboard is None:
            return "", ""
        targets, question = self._surroundings(session)
        target = self._controls.target(targets)
        return self._controls.line(targets, question), target.id if target is not None else ""
