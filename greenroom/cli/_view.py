"""What every view of a swarm can do, and the two that write lines: for people, and as JSON.

Rule 1: a view only reads. Rule 2: a reader that went away ends the work, and nothing else does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, final

import attrs
import trio

if TYPE_CHECKING:
    from greenroom.session import EventStream, Session
    from greenroom.teams import Team


@attrs.frozen(kw_only=True)
class Opening:
    """What is known before anything starts."""

    model: str
    is_rule_based: bool
    folder: str
    task: str
    mates: int

    @property
    def text(self) -> str:
        """The first line."""
        kind = "rule-based: fixed rules, no language model" if self.is_rule_based else "through Anthropic's API"
        return f"greenroom swarm: model {self.model} ({kind})"

    @property
    def hint(self) -> str:
        """What to do for a better answer; empty where there is nothing to say."""
        return "Set ANTHROPIC_API_KEY to run the same team on Claude." if self.is_rule_based else ""


@attrs.frozen(kw_only=True)
class Summary:
    """How a swarm ended."""

    state: str
    """`done`, `incomplete`, `stopped` or `failed`."""
    report: str
    """Where the report is; empty where there is none."""
    run_folder: str
    replay: str
    """The command that replays the run."""
    items: int
    completed: int
    mates: int
    input_tokens: int
    output_tokens: int
    is_estimate: bool
    duration_s: float
    error: str = ""


class View(Protocol):
    """Shows a swarm."""

    def begin(self, opening: Opening) -> None:
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
    estimate = " (estimated)" if summary.is_estimate else ""
    heads = {"done": "Done", "incomplete": "Done, but not with everything", "stopped": "Stopped", "failed": "Failed"}
    lines = [
        f"{heads[summary.state]}: {summary.completed} of {summary.items} items by {mates} in {summary.duration_s:.1f} s",
        f"Tokens: {summary.input_tokens:,} in, {summary.output_tokens:,} out{estimate}",
    ]
    if summary.error:
        lines.append(f"Why:    {summary.error}")
    lines.append(f"Report: {summary.report}" if summary.report else "Report: none was written")
    return [*lines, f"Replay: {summary.replay}"]


@final
class LinesView:
    """One line per transition, for pipes, logs and CI: seconds, name, kind, details."""

    def begin(self, opening: Opening) -> None:
        """Print the first lines."""
        _print(opening.text)
        if opening.hint:
            _print(f"greenroom swarm: {opening.hint}")
        _print(f"greenroom swarm: {opening.mates} mates and a lead in {opening.folder}")

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Print a line for each transition."""
        from greenroom.cli._words import Narrator

        narrator = Narrator()
        narrator.introduce(session.runtime.tree())
        began = trio.current_time()
        told = 0
        while True:
            try:
                _, t, event = await stream.next_numbered()
            except StopAsyncIteration:
                return
            if stream.lost > told:
                _print(f"greenroom swarm: {stream.lost - told} events came too fast to be shown")
                told = stream.lost
            words = narrator.words(event)
            if words is not None:
                name, kind, details = words
                _print(f"{max(0.0, t - began):8.3f}  {name:<10}  {kind:<14}  {details}".rstrip())

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
        sys.stdout.flush()


@final
class JsonView:
    """One JSON object per line: what the journal holds, between a first and a last line of the command's own."""

    def begin(self, opening: Opening) -> None:
        """Print the first line."""
        _print_json({"ev": "swarm.begin", **attrs.asdict(opening)})

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Print every event."""
        from greenroom.core import field_values
        from greenroom.trace import Codec

        codec = Codec()
        began = trio.current_time()
        told = 0
        while True:
            try:
                seq, t, event = await stream.next_numbered()
            except StopAsyncIteration:
                return
            if stream.lost > told:
                _print_json({"ev": "swarm.lost", "events": stream.lost - told})
                told = stream.lost
            _print(codec.encode((seq, t, type(event), *field_values(event)), began).decode().rstrip("\n"))

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
        sys.stdout.flush()


def _print(line: str) -> None:
    print(line, flush=True)


def _print_json(value: dict[str, Any]) -> None:
    import json

    _print(json.dumps(value))
