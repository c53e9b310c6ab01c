"""The live view: the screen of the run, fed from the session's events, with keys that act on it.

Everything is drawn on the Trio thread and never waits for the terminal. Keys go through the same calls as a program's, and
are recorded as those are. If the screen fails, or its terminal goes away, the run goes on without it.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import attrs
import trio

from greenroom.core.texts import printable_text
from greenroom.swarm._event_reader import Reading, fold_earlier
from greenroom.swarm._key_actions import carry_out, questions_of
from greenroom.swarm._live_talk import LiveTalk
from greenroom.swarm._swarm_summary import Summary, SwarmOpening, folded, styled_summary
from greenroom.swarm._view import with_survived
from greenroom.terminal import Keyboard, open_keyboard, printable
from greenroom.terminal.screen import (
    PictureSource,
    ScreenAction,
    ScreenControls,
    ScreenLook,
    ScreenLoop,
    ScreenSize,
    SwarmPicture,
    SwarmStory,
    look_of,
    open_screen,
    talk_shown,
)

if TYPE_CHECKING:
    from greenroom.session import EventStream, Session
    from greenroom.teams import Team

TRANSCRIPTS: Final = "transcripts"


def open_live_view() -> LiveView | None:
    """Return a view on the terminal of this process; None if there is none that is ours."""
    terminal = ExitStack()
    keyboard = terminal.enter_context(open_keyboard())
    if keyboard is None:
        return None
    return LiveView(keyboard, terminal, look_of(os.environ, encoding=sys.stdout.encoding))


@final
class LiveSource:
    """The picture of a session now."""

    def __init__(self, session: Session, story: SwarmStory) -> None:
        self._session = session
        self._story = story
        self._talk = LiveTalk(session.run_folder / TRANSCRIPTS)

    def version(self) -> object:
        """Return a value that changes with every event, note and question."""
        return self._story.last_event, self._story.notes_made, len(self._session.permissions.approvals.waiting())

    def picture(self, controls: ScreenControls, size: ScreenSize) -> SwarmPicture:
        """Return the picture now."""
        session, story = self._session, self._story
        began_t = story.began_t if story.began_t is not None else session.now()
        picture = story.picture(session.now() - began_t)
        spent, is_ending = session.budget.spent, session.was_stopped or session.was_killed
        totals = picture.totals
        if totals.is_priced and not spent.unpriced_calls and spent.usd:
            totals = attrs.evolve(totals, usd=float(spent.usd))
        talk_of = talk_shown(picture, controls, size)
        return attrs.evolve(
            picture,
            state="stopping" if is_ending and picture.state == "running" else picture.state,
            questions=questions_of(session),
            totals=totals,
            talk=self._talk.parts(story.transcript(talk_of)) if talk_of else (),
        )


@final
class LiveView:
    """The screen of a swarm.

    Args:
        keyboard: The terminal.
        terminal: Puts it in order when it is closed.
        look: Colors and signs.
    """

    can_answer = True

    def __init__(self, keyboard: Keyboard, terminal: ExitStack, look: ScreenLook) -> None:
        self._keyboard = keyboard
        self._terminal = terminal
        self._look = look
        self._story = SwarmStory()
        self._team: Team | None = None
        self._is_open = False

    def begin(self, opening: SwarmOpening) -> None:
        """Print the first line, which stays below the prompt, and take note of the rest."""
        print(printable(opening.text), flush=True)
        kind = "rules, no language model" if opening.is_rule_based else opening.model
        self._story = SwarmStory(
            f"{printable(Path(opening.folder).name or opening.folder)}: {opening.team} ({kind})",
            is_priced=not opening.is_rule_based,
        )
        self._story.note(opening.hint)

    def show_team(self, team: Team) -> None:
        """Take note of the team that keys are about."""
        self._team = team

    def show_page(self, address: str) -> None:
        """Print the address, and keep it in the head of the screen."""
        print(f"page: {printable(address)}", flush=True)
        self._story.page = address

    def say(self, text: str) -> None:
        """Show a line among the events; print it where there is no screen."""
        self._story.note(printable(text))
        if not self._is_open:
            with suppress(OSError):  # the terminal was closed
                print(printable(text), flush=True)

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Show the session until its events end."""
        live = LiveSource(session, self._story)
        source = PictureSource(live.picture, live.version)

        def act(action: ScreenAction) -> None:
            said = carry_out(action, session, self._team)
            if said:
                self.say(said)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._show, source, act, name="greenroom screen")
            reading = Reading(stream)
            while (found := await reading.next()) is not None:
                await fold_earlier(self._story, session.run_folder, *found[:2])
                self._story.take(*found)
            nursery.cancel_scope.cancel("the session has ended")

    async def _show(self, source: PictureSource, act: Callable[[ScreenAction], None]) -> None:
        """Draw until the terminal goes away; a failure of the screen ends the screen and nothing else."""
        try:
            with open_screen(self._keyboard.descriptor, self._look) as screen, self._logged():
                self._is_open = True
                self._terminal.callback(screen.close)
                await ScreenLoop(screen, self._keyboard, source, act, ScreenControls()).run()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run does not end by it
            self._is_open = False
            self.say(f"the screen failed ({type(error).__name__}: {error}); the run goes on without it")
        finally:
            self._is_open = False

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Show what the runtime logs among the events: on standard error it would tear the screen."""
        handler = _LogHandler(self.say)
        log = logging.getLogger("greenroom")
        log.addHandler(handler)
        try:
            yield
        finally:
            log.removeHandler(handler)

    def end(self, summary: Summary) -> None:
        """Print how it ended, in place of the screen."""
        self._terminal.close()
        with suppress(OSError):  # the terminal was closed
            width = shutil.get_terminal_size().columns
            for text, style in styled_summary(with_survived(summary, self._story)):
                for line in folded(printable_text(text), width):
                    print(self._look.styled(line, style), flush=True)

    def leave(self) -> None:
        """Leave the terminal as it was."""
        self._terminal.close()


@final
class _LogHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())
