"""A recorded run, or one of another process, as the screen of a swarm shows it at any moment.

Rule 1: every picture is the fold of the events before the position. Rule 2: the run is read in slices, so that keys are obeyed meanwhile;
a position that is not folded yet is shown when it is. Rule 3: nothing is written, and a run that vanishes stays as far as it is known.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.core import JournalError, UsageError
from greenroom.replay._played_talk import PlayedTalk
from greenroom.replay._playhead import Playhead
from greenroom.replay._run_cost import RULES, request_usd
from greenroom.session import EVENTS, SessionBegan
from greenroom.terminal.screen import (
    ChangeSpeed,
    GoTo,
    Quit,
    ScreenAction,
    ScreenControls,
    ScreenSize,
    StepEvents,
    StepFailure,
    SwarmPicture,
    SwarmStory,
    TimePosition,
    TogglePlay,
    talk_shown,
)
from greenroom.trace import TRANSCRIPTS, Entry, FileState, LockState, Moments, RunIndex, read_end, read_lock

POLL_S: Final = 0.02
"""Seconds between two looks at a run that grows."""
LOCK_S: Final = 1.0
"""Seconds between two looks at the lock of a run without news."""
MAX_MARKS: Final = 1_000
"""Failures on the time line; of more, some."""
LATEST: Final = 2_000
"""Events shown of a long run that is followed, until the events before them are folded."""


@final
class PlayedStory:
    """The fold of the events, for `Moments`."""

    def __init__(self, story: SwarmStory) -> None:
        self.story = story

    def apply(self, entry: Entry) -> None:
        """Take the next event."""
        self.story.take(entry.seq, entry.t, entry.event)

    def copy(self) -> PlayedStory:
        """Return an independent copy."""
        return PlayedStory(self.story.copy())

    def copied_bytes(self) -> int:
        """Return about how many bytes a copy takes."""
        return self.story.copied_bytes()


@final
class PlayedRun:
    """The picture of a run at a position that keys move.

    Attributes:
        head: The position.
        has_quit: True once somebody has asked to leave.

    Args:
        journal: The journal of a session.
        is_followed: True to begin at the end, and to follow it.

    Raises:
        JournalError: It cannot be read, is not a journal, or is of a newer format.
        UsageError: It is the journal of a gateway.
    """

    def __init__(self, journal: Path, *, is_followed: bool) -> None:
        self._journal = journal
        self.index = RunIndex(journal, EVENTS)
        self.index.grow()
        if self.index.header is None:
            raise JournalError(str(journal), "not a journal: it has no whole header line")
        first = next((entry for entry in self.index.entries(0, 1)), None)
        if first is not None and first.kind.startswith("gateway."):
            raise UsageError("this is the journal of a gateway; name one of its sessions: STATE/ID")
        self._started = _started(self.index.header.started)
        self._story = _new_story(self.index.header.run, first)
        self._moments = Moments(self.index.entries, PlayedStory(self._story.copy()))
        self._latest = self._story_of_latest() if is_followed else None
        self._talk = PlayedTalk(journal.parent / TRANSCRIPTS)
        self._count = 0
        """Number of events that `_story` has seen."""
        self._remarks = 0
        self._remark = ""
        self._marks: tuple[int, tuple[float, ...]] = (0, ())
        self._lock_s = -LOCK_S
        self._is_written = True
        self._quit = trio.Event()
        self.head = Playhead(self.index, is_at_end=is_followed)

    def __repr__(self) -> str:
        return f"<PlayedRun {str(self._journal)!r}: {self.head!r}>"

    def version(self) -> object:
        """Return a value that changes with the position, and with what is known of the run."""
        head = self.head
        return (
            head.count,
            head.is_playing and int(head.t_s * 8),
            head.speed,
            self._known,
            self._remarks,
            self._is_written,
        )

    @property
    def _known(self) -> int:
        return min(self.head.count, self._moments.folded)

    def close(self) -> None:
        """Close the files."""
        self.index.close()
        self._talk.close()

    async def wait_quit(self) -> None:
        """Wait until somebody asks to leave."""
        await self._quit.wait()

    # --- the picture ------------------------------------------------------------------------------------------------------

    def picture(self, controls: ScreenControls, size: ScreenSize) -> SwarmPicture:
        """Return the picture at the position."""
        story = self.story()
        picture = story.picture(self.head.t_s)
        talk_of = talk_shown(picture, controls, size)
        transcript = story.transcript(talk_of) if talk_of else ""
        return attrs.evolve(
            picture,
            title=f"{picture.title}{self._hint()}",
            state=self._standing(picture.state),
            talk=self._talk.parts(transcript, self._moment()) if transcript and self._started is not None else (),
            time=self._position(),
        )

    def story(self) -> SwarmStory:
        """Return the fold of the events before the position, as far as they are folded; it must not be changed."""
        if self._latest is not None and self.head.is_live and self._moments.folded < len(self.index):
            return self._latest
        wanted = self._known
        if wanted < self._count or wanted - self._count > self._moments.spacing:
            self._story = self._moments.at(wanted).story
        else:  # a few events on
            for entry in self.index.entries(self._count, wanted):
                self._story.take(entry.seq, entry.t, entry.event)
        self._count = wanted
        return self._story

    def _story_of_latest(self) -> SwarmStory:
        """Return the fold of the last events alone, read from behind."""
        story = self._story.copy()
        for entry in read_end(self._journal, EVENTS, count=LATEST).entries:
            story.take(entry.seq, entry.t, entry.event)
        return story

    def _hint(self) -> str:
        """Return what there is to say of the reading, behind the title."""
        said = [self._remark] if self._remark else []
        if not (self.head.count or self.head.is_playing or said):
            said.append("Space plays it, g goes to a moment")
        if self._moments.folded < min(self.head.count, len(self.index)) or (
            self._latest is not None and self._moments.folded < len(self.index)
        ):
            said.append(f"read {self._moments.folded:,} of {len(self.index):,} events")
        if self.index.damaged_lines:
            said.append(f"{self.index.damaged_lines:,} damaged lines left out ({self.index.damage})")
        if self.index.state is not FileState.SAME:
            said.append(f"the journal has {'vanished' if self.index.state is FileState.VANISHED else 'been replaced'}")
        return f" ({'; '.join(said)})" if said else ""

    def _standing(self, state: str) -> str:
        is_cut = state == "running" and not self._is_written and self.head.count == len(self.index)
        return "broken off" if is_cut else state

    def _moment(self) -> datetime:
        """Return the date and time of the position; transcripts round down to milliseconds."""
        first_s = self.index.time_s(0) if len(self.index) else 0.0
        assert self._started is not None
        return self._started + timedelta(seconds=min(max(first_s + self.head.t_s + 0.001, 0.0), 1e9))

    def _position(self) -> TimePosition:
        index, head = self.index, self.head
        if len(index.failures) != self._marks[0]:
            every = -(-len(index.failures) // MAX_MARKS)
            marks = tuple(index.time_s(place) - index.time_s(0) for place in index.failures[::every])
            self._marks = (len(index.failures), marks)
        return TimePosition(
            t_s=head.t_s,
            end_s=index.time_s(len(index) - 1) - index.time_s(0) if len(index) else 0.0,
            event=index.seq(head.count - 1) if head.count else 0,
            events=index.seq(len(index) - 1) if len(index) else 0,
            failures=self._marks[1],
            speed=head.speed if head.is_playing else 0.0,
            is_growing=self._is_written and self._story.state == "running" and head.is_live,
        )

    # --- what moves it ----------------------------------------------------------------------------------------------------

    def act(self, action: ScreenAction) -> None:
        """Do what a key asks for."""
        said = ""
        match action:
            case Quit():
                self._quit.set()
            case StepEvents(count=count):
                self.head.step(count)
            case StepFailure(direction=direction):
                said = self.head.step_failure(direction)
            case TogglePlay():
                self.head.toggle()
            case ChangeSpeed(direction=direction):
                self.head.change_speed(direction)
            case GoTo(text=text):
                said = self.head.go_to(text)
        self._remark = said
        self._remarks += 1

    async def read_on(self) -> None:
        """Read, fold and play on, until it is cancelled."""
        before_s = trio.current_time()
        while True:
            is_more = self.index.grow() or self._moments.fold_on(len(self.index))
            now_s = trio.current_time()
            self.head.advance(now_s - before_s)
            before_s = now_s
            if is_more:
                await trio.lowlevel.checkpoint()
                continue
            self._latest = None
            if now_s - self._lock_s >= LOCK_S:
                self._lock_s = now_s
                self._is_written = read_lock(self._journal.parent)[0] is not LockState.FREE
            await trio.sleep(POLL_S)


def _new_story(run: str, first: Entry | None) -> SwarmStory:
    title, is_priced = f"run {run}", True
    if first is not None and isinstance(first.event, SessionBegan):
        title = f"{title} in {Path(first.event.cwd).name or first.event.cwd}"
        is_priced = first.event.model != RULES
    return SwarmStory(title, is_priced=is_priced, usd_of=request_usd)


def _started(text: str | None) -> datetime | None:
    try:
        started = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return started if started.tzinfo is not None else started.replace(tzinfo=UTC)
