"""The interface of all views of a swarm, and the two views that print lines: for people, and as JSON.

A view only reads. A reader that went away ends the work, and nothing else does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, final

import attrs
import trio

from greenroom.swarm._event_reader import Reading, fold_earlier
from greenroom.swarm._swarm_summary import Summary, SwarmOpening, summary_lines
from greenroom.terminal import Narrator, complain, flush_output, for_reader, json_for_reader, printable
from greenroom.terminal.screen import SwarmStory, short_duration

if TYPE_CHECKING:
    from greenroom.session import EventStream, Session
    from greenroom.teams import Team

LOOK_S: Final = 1.0
"""Seconds between two looks at who waits for a model."""


class View(Protocol):
    """Shows a swarm."""

    @property
    def can_answer(self) -> bool:
        """True if somebody can say here whether a call may run."""
        ...

    def begin(self, opening: SwarmOpening) -> None:
        """Show what is known before anything starts."""
        ...

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Show the session until its events end."""
        ...

    def show_team(self, team: Team) -> None:
        """Take note of the team whose board is to be shown."""
        ...

    def show_page(self, address: str) -> None:
        """Show the address of the run's page."""
        ...

    def say(self, text: str) -> None:
        """Show a line that comes from the command itself."""
        ...

    def end(self, summary: Summary) -> None:
        """Show how it ended."""
        ...

    def leave(self) -> None:
        """Put the terminal in order; the process exits next."""
        ...


@final
class LinesView:
    """The lines that matter, for pipes, logs and CI: those that the screen shows as events."""

    can_answer = False

    def __init__(self) -> None:
        self._story = SwarmStory()

    def begin(self, opening: SwarmOpening) -> None:
        """Print the first lines."""
        _print(opening.text)
        _print(f"greenroom swarm: {opening.hint}")
        kept = "; the run folder keeps all that was read and said" if opening.is_recorded else ""
        _print(f"greenroom swarm: {opening.team} in {printable(opening.folder, 4_096)}{kept}")

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Print a line for each event that matters, and one now and then while a model lets an agent wait."""
        story, reading, names = self._story, Reading(stream), Narrator()
        names.introduce(session.tree())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_waits, session, reading, names)
            while (found := await reading.next()) is not None:
                if reading.newly_lost:
                    _print(f"greenroom swarm: {reading.newly_lost} events came too fast to be shown")
                await fold_earlier(story, session.run_folder, *found[:2])
                made = story.notes_made
                names.words(found[2])
                story.take(*found)
                for note in story.notes_since(made):
                    _print_note(note.t_s, note.text)
            nursery.cancel_scope.cancel("the session has ended")

    async def _tell_waits(self, session: Session, reading: Reading, names: Narrator) -> None:
        while True:
            await trio.sleep(LOOK_S)
            now = session.now()
            for actor, waited_s in reading.waits.remarks(now):
                _print_note(now - (self._story.began_t or now), f"{names.name_of(actor)} thinking for {waited_s:.0f} s")

    def show_team(self, team: Team) -> None:
        """Nothing: the board's own events tell."""

    def show_page(self, address: str) -> None:
        """Print the address on standard error: it holds a token, and what is printed may be kept."""
        complain(f"page: {address}", code=0)

    def say(self, text: str) -> None:
        """Print a line."""
        _print(f"greenroom swarm: {text}")

    def end(self, summary: Summary) -> None:
        """Print the last lines."""
        for line in summary_lines(with_survived(summary, self._story)):
            _print(line)

    def leave(self) -> None:
        """Write out what is still held back."""
        flush_output()


@final
class JsonView:
    """One JSON object per line: what the journal holds, between a first and a last line of the command's own."""

    can_answer = False

    def __init__(self) -> None:
        self._story = SwarmStory()

    def begin(self, opening: SwarmOpening) -> None:
        """Print the first line."""
        _print_json({"ev": "swarm.begin", **attrs.asdict(opening)})

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Print every event."""
        from greenroom.core import field_values
        from greenroom.trace import Codec

        codec, reading = Codec(), Reading(stream)
        while (found := await reading.next()) is not None:
            seq, t, event = found
            await fold_earlier(self._story, session.run_folder, seq, t)
            self._story.take(seq, t, event)
            if reading.newly_lost:
                _print_json({"ev": "swarm.lost", "events": reading.newly_lost})
            record = (seq, reading.since_began(t), type(event), *field_values(event))
            _print(json_for_reader(codec.encode(record, 0.0).decode().rstrip("\n")))

    def show_team(self, team: Team) -> None:
        """Nothing: the board's own events tell."""

    def show_page(self, address: str) -> None:
        """Print the address on standard error: it holds a token, and programs read the rest."""
        complain(f"page: {address}", code=0)

    def say(self, text: str) -> None:
        """Print a line."""
        _print_json({"ev": "swarm.note", "text": text})

    def end(self, summary: Summary) -> None:
        """Print the last line."""
        _print_json({"ev": "swarm.end", **attrs.asdict(with_survived(summary, self._story))})

    def leave(self) -> None:
        """Write out what is still held back."""
        flush_output()


def with_survived(summary: Summary, story: SwarmStory) -> Summary:
    """Return a summary with the faults that the events tell of."""
    return attrs.evolve(summary, survived=story.picture().totals.survived)


def _print(line: str) -> None:
    print(for_reader(line), flush=True)


def _print_note(t_s: float, text: str) -> None:
    _print(f"{short_duration(t_s):>5}  {printable(text)}")


def _print_json(value: dict[str, Any]) -> None:
    """Print an object in the form that events have."""
    import json

    _print(json_for_reader(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
