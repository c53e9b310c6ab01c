"""The interface of all views of a swarm, and the two views that print lines: for people, and as JSON.

A view only reads. A reader that went away ends the work, and nothing else does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, final

import attrs
import trio

from greenroom.swarm._event_reader import Reading
from greenroom.terminal import Narrator, flush_output, for_reader, json_for_reader, printable

if TYPE_CHECKING:
    from greenroom.session import EventStream, Session
    from greenroom.teams import Team

LOOK_S: Final = 1.0
"""Seconds between two looks at who waits for a model."""


@attrs.frozen(kw_only=True)
class SwarmOpening:
    """The facts known before anything starts."""

    model: str
    is_rule_based: bool
    folder: str
    task: str
    mates: int
    estimate: str = ""
    """The expected cost; empty for the rules, and for a run that is resumed."""

    @property
    def text(self) -> str:
        """The first line."""
        kind = "rule-based: fixed rules, no language model" if self.is_rule_based else "through Anthropic's API"
        return f"greenroom swarm: model {self.model} ({kind})"

    @property
    def hint(self) -> str:
        """The second line: what to do for a better answer, or what this one costs."""
        if self.is_rule_based:
            return "Set ANTHROPIC_API_KEY to run the same team on Claude."
        return f"Tokens are billed to your key{f': {self.estimate}' if self.estimate else '; their total is shown at the end.'}"


@attrs.frozen(kw_only=True)
class Summary:
    """The ending of a swarm."""

    state: str
    """`done`, `incomplete`, `stopped` or `failed`."""
    report: str
    """The path of the report; empty if there is none."""
    run_folder: str
    replay: str
    """The command that replays the run."""
    items: int
    completed: int
    mates: int
    input_tokens: int
    """All that was read, from the cache too."""
    cached_tokens: int = 0
    """Those of it that came from the cache."""
    output_tokens: int
    usd: float | None = None
    """Cost in US dollars, of earlier processes too; None if a model without a price was asked."""
    requests: int = 0
    cost: str = ""
    """The cost in words: dollars, requests, tokens; see `SwarmCost.text`."""
    duration_s: float
    error: str = ""
    had_nothing: bool = False
    """The folder held nothing to survey, so there were no items."""


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

    def say(self, text: str) -> None:
        """Show a line that comes from the command itself."""
        ...

    def end(self, summary: Summary) -> None:
        """Show how it ended."""
        ...

    def leave(self) -> None:
        """Put the terminal in order; the process exits next."""
        ...


def summary_lines(summary: Summary) -> list[str]:
    """Return the last lines for people."""
    mates = f"{summary.mates} {'mate' if summary.mates == 1 else 'mates'}"
    heads = {"done": "Done", "incomplete": "Done, but not with everything", "stopped": "Stopped", "failed": "Failed"}
    work = f"{summary.completed} of {summary.items} items by {mates}"
    if summary.had_nothing:
        work = "there was nothing to survey"
    lines = [
        f"{heads[summary.state]}: {work} in {summary.duration_s:.1f} s",
        f"Cost:   {summary.cost}",
    ]
    if summary.error:
        lines.append(f"Why:    {summary.error}")
    lines.append(f"Report: {summary.report}" if summary.report else "Report: none was written")
    return [*lines, f"Replay: {summary.replay}"]


@final
class LinesView:
    """One line per transition, for pipes, logs and CI: seconds, name, kind, details."""

    can_answer = False

    def begin(self, opening: SwarmOpening) -> None:
        """Print the first lines."""
        _print(opening.text)
        _print(f"greenroom swarm: {opening.hint}")
        _print(f"greenroom swarm: {opening.mates} mates and a lead in {printable(opening.folder, 4_096)}")

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Print a line for each transition, and one now and then while a model lets an agent wait."""
        narrator, reading = Narrator(), Reading(stream)
        narrator.introduce(session.tree())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_waits, session, reading, narrator)
            while (found := await reading.next()) is not None:
                _, t, event = found
                if reading.newly_lost:
                    _print(f"greenroom swarm: {reading.newly_lost} events came too fast to be shown")
                words = narrator.words(event)
                if words is not None:
                    _print_transition(reading.since_began(t), *words)
            nursery.cancel_scope.cancel("the session has ended")

    async def _tell_waits(self, session: Session, reading: Reading, narrator: Narrator) -> None:
        while True:
            await trio.sleep(LOOK_S)
            now = session.now()
            for actor, waited_s in reading.waits.remarks(now):
                _print_transition(
                    reading.since_began(now), narrator.name_of(actor), "model.waiting", f"thinking for {waited_s:.0f} s"
                )

    def show_team(self, team: Team) -> None:
        """Nothing: the board's own events tell."""

    def say(self, text: str) -> None:
        """Print a line."""
        _print(f"greenroom swarm: {text}")

    def end(self, summary: Summary) -> None:
        """Print the last lines."""
        for line in summary_lines(summary):
            _print(line)

    def leave(self) -> None:
        """Write out what is still held back."""
        flush_output()


@final
class JsonView:
    """One JSON object per line: what the journal holds, between a first and a last line of the command's own."""

    can_answer = False

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
            if reading.newly_lost:
                _print_json({"ev": "swarm.lost", "events": reading.newly_lost})
            record = (seq, reading.since_began(t), type(event), *field_values(event))
            _print(json_for_reader(codec.encode(record, 0.0).decode().rstrip("\n")))

    def show_team(self, team: Team) -> None:
        """Nothing: the board's own events tell."""

    def say(self, text: str) -> None:
        """Print a line."""
        _print_json({"ev": "swarm.note", "text": text})

    def end(self, summary: Summary) -> None:
        """Print the last line."""
        _print_json({"ev": "swarm.end", **attrs.asdict(summary)})

    def leave(self) -> None:
        """Write out what is still held back."""
        flush_output()


def _print(line: str) -> None:
    print(for_reader(line), flush=True)


def _print_transition(t_s: float, name: str, kind: str, details: str) -> None:
    _print(f"{t_s:8.3f}  {name:<10}  {kind:<14}  {details}".rstrip())


def _print_json(value: dict[str, Any]) -> None:
    """Print an object in the form that events have."""
    import json

    _print(json_for_reader(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
