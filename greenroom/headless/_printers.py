"""Printers of headless runs: text, one JSON object, or a stream of JSON objects.

Lines are put into a queue and written by one task: the agents never wait for a slow reader, and a reader that has gone ends
the run. Text and JSON print the answer to the prompt and nothing else on standard output; without a prompt, the answer is what the
last turn said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, final

import attrs
import trio

from greenroom.agents import Appended
from greenroom.agents.events import ModelRetried
from greenroom.core.ports import Ports
from greenroom.headless._ending import Ending
from greenroom.headless._stream_json import (
    Abandoned,
    Counts,
    Line,
    Opening,
    Told,
    event_lines,
    failure_line,
    init_line,
    message_lines,
    result_line,
    stream_line,
)
from greenroom.inbox import TASK_NOTIFICATION, Origin
from greenroom.models import failure_words
from greenroom.store import encode_line, new_uuid
from greenroom.terminal import complain, for_reader, is_terminal, json_for_reader, note

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


@final
class Writer:
    """Writes what it is given to standard output, in order; see Rule 1."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._put, self._get = trio.open_memory_channel[bytes](float("inf"))

    def put_text(self, text: str) -> None:
        """Queue a text, without control characters where a person reads it on a terminal; never waits."""
        self._put.send_nowait(for_reader(text).encode("utf-8", "replace"))

    def put_line(self, line: Line) -> None:
        """Queue a JSON object as a line of its own; never waits."""
        content = encode_line(line)
        self._put.send_nowait(json_for_reader(content.decode()).encode() if is_terminal() else content)

    def close(self) -> None:
        """Take nothing more; `run` returns when all is written."""
        self._put.close()

    async def run(self) -> None:
        """Write until closed.

        Raises:
            OSError: Standard output cannot be written.
        """
        async with self._get:
            async for content in self._get:
                await self._ports.blocking.run(_write, content)


def _write(content: bytes) -> None:
    if sys.stdout is None:
        return
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # what takes the place of it in a test
        sys.stdout.write(content.decode("utf-8", "replace"))
    else:
        stream.write(content)
    sys.stdout.flush()


class Printer(Protocol):
    """The receiver of the output of a run."""

    def opened(self, opening: Opening) -> None:
        """The session is open."""
        ...

    def show_text(self) -> None:
        """Show what sub-agents say and think, from now on."""
        ...

    def said(self, message: Appended, parent: str | None = None) -> None:
        """A conversation has one more message; `parent` is the call that started the agent, None for the main one."""
        ...

    def told(self, event: Told, agent: str = "") -> None:
        """A call was refused or a request is tried again, or, of the main agent, a conversation compacted; `agent` is an id, empty for that."""
        ...

    def waited(self, quiet_s: float, agent: str = "") -> None:
        """A request has had no answer for some time; `agent` as in `told`."""
        ...

    def streamed(self, event: Mapping[str, Any], parent: str | None = None) -> None:
        """More has come of a model's answer; `parent` as in `said`."""
        ...

    def lines(self, lines: Sequence[Line]) -> None:
        """Something happened that only a stream has a line for; the lines lack `session_id`, and a `uuid` unless they keep one."""
        ...

    def ended(self, ending: Ending, counts: Counts, *, origin: Origin | None = None) -> None:
        """A turn has ended; `origin` is None for the one of the prompt."""
        ...

    def closed(self, abandoned: Sequence[Abandoned], counts: Counts) -> None:
        """Nothing more comes; some tasks were given up."""
        ...


def note_retry(event: Told, agent: str) -> None:
    """Say that a request is tried again, which attempt it is, and when; nothing of other events."""
    if isinstance(event, ModelRetried):
        attempts = f" of {event.attempts}" if event.attempts else ""
        what = failure_words(event.error, event.status)
        note(f"{_named(agent)}{what}; attempt {event.attempt}{attempts} in {event.delay_s:.1f} s")


def note_silence(quiet_s: float, agent: str) -> None:
    """Say that an answer is waited for."""
    note(f"{_named(agent)}the model has sent nothing for {quiet_s:.0f} s; still waiting")


def note_ending(ending: Ending) -> None:
    """Say what went wrong in a turn, or that it ended without an answer."""
    if ending.is_error:
        complain(ending.error, code=ending.exit_code)
    elif ending.is_empty:
        note("the model ended its turn without an answer")


def note_passed(ending: Ending | None) -> None:
    """Say what went wrong in a turn that is not the last one."""
    if ending is not None and ending.is_error:
        note_ending(ending)


def _named(agent: str) -> str:
    return f"agent {agent}: " if agent else ""


@final
class TextPrinter:
    """Prints the answer; what went wrong goes to standard error.

    Args:
        writer: Takes the answer.
        has_prompt: False if the last turn is printed, whatever began it.
    """

    def __init__(self, writer: Writer, *, has_prompt: bool = True) -> None:
        self._writer = writer
        self._has_prompt = has_prompt
        self._held: Ending | None = None

    def opened(self, opening: Opening) -> None:
        """Print nothing."""

    def show_text(self) -> None:
        """Print nothing more than before."""

    def said(self, message: Appended, parent: str | None = None) -> None:
        """Print nothing."""

    def told(self, event: Told, agent: str = "") -> None:
        """Say on standard error that a request is tried again."""
        note_retry(event, agent)

    def waited(self, quiet_s: float, agent: str = "") -> None:
        """Say on standard error how long there was nothing."""
        note_silence(quiet_s, agent)

    def streamed(self, event: Mapping[str, Any], parent: str | None = None) -> None:
        """Print nothing."""

    def lines(self, lines: Sequence[Line]) -> None:
        """Print nothing."""

    def ended(self, ending: Ending, counts: Counts, *, origin: Origin | None = None) -> None:
        """Print what the agent said, also what it had said before an error; of several turns, the last is printed in the end."""
        if not self._has_prompt:
            note_passed(self._held)
            self._held = ending
        elif origin is None:
            self._print(ending)

    def closed(self, abandoned: Sequence[Abandoned], counts: Counts) -> None:
        """Print the last turn if there was no prompt."""
        if self._held is not None:
            self._print(self._held)

    def _print(self, ending: Ending) -> None:
        if ending.text.strip():
            self._writer.put_text(ending.text.rstrip("\n") + "\n")
        note_ending(ending)


@final
class JsonPrinter:
    """Prints one `result` object.

    Args:
        writer: Takes the object.
        new_id: Makes its id.
        has_prompt: False if the last turn is printed, whatever began it.
    """

    def __init__(self, writer: Writer, new_id: Callable[[], str], *, has_prompt: bool = True) -> None:
        self._writer = writer
        self._new_id = new_id
        self._has_prompt = has_prompt
        self._session = ""
        self._held: tuple[Ending, Counts] | None = None

    def opened(self, opening: Opening) -> None:
        """Print nothing."""
        self._session = opening.session

    def show_text(self) -> None:
        """Print nothing more than before."""

    def said(self, message: Appended, parent: str | None = None) -> None:
        """Print nothing."""

    def told(self, event: Told, agent: str = "") -> None:
        """Say on standard error that a request is tried again."""
        note_retry(event, agent)

    def waited(self, quiet_s: float, agent: str = "") -> None:
        """Say on standard error how long there was nothing."""
        note_silence(quiet_s, agent)

    def streamed(self, event: Mapping[str, Any], parent: str | None = None) -> None:
        """Print nothing."""

    def lines(self, lines: Sequence[Line]) -> None:
        """Print nothing."""

    def ended(self, ending: Ending, counts: Counts, *, origin: Origin | None = None) -> None:
        """Keep the result until it is known what becomes of the tasks that it left."""
        if not self._has_prompt and self._held is not None:
            note_passed(self._held[0])
        if origin is None or not self._has_prompt:
            self._held = ending, counts

    def closed(self, abandoned: Sequence[Abandoned], counts: Counts) -> None:
        """Print the result."""
        if self._held is None:
            return
        ending, before = self._held
        if ending.is_empty:
            note_ending(ending)
        used = attrs.evolve(before, by_model=counts.by_model, cost_usd=counts.cost_usd)
        line = result_line(ending, used, session=self._session, uuid=self._new_id(), abandoned=abandoned)
        self._writer.put_line(line)


@final
class StreamPrinter:
    """Prints one object a line, as it happens.

    Args:
        writer: Takes the lines.
        new_id: Makes their ids.
        with_text: Whether sub-agents are shown with what they say and think.
    """

    def __init__(self, writer: Writer, new_id: Callable[[], str], *, with_text: bool = False) -> None:
        self._writer = writer
        self._new_id = new_id
        self._with_text = with_text
        self._session = ""
        self._answered: Ending | None = None

    def show_text(self) -> None:
        """Print what sub-agents say and think, from now on."""
        self._with_text = True

    def opened(self, opening: Opening) -> None:
        """Print what is known before the first turn."""
        self._session = opening.session
        self._print(init_line(opening, uuid=self._new_id()))

    def said(self, message: Appended, parent: str | None = None) -> None:
        """Print a message, if it is one that the stream shows."""
        for line in message_lines(
            message, session=self._session, new_id=self._new_id, parent=parent, with_text=self._with_text
        ):
            self._print(line)

    def told(self, event: Told, agent: str = "") -> None:
        """Print that a call was refused, the conversation is compacted, or a request of the main agent tried again."""
        if not (agent and isinstance(event, ModelRetried)):
            self.lines(event_lines(event, agent=agent))

    def waited(self, quiet_s: float, agent: str = "") -> None:
        """Print nothing: who reads the stream sees that nothing comes."""

    def streamed(self, event: Mapping[str, Any], parent: str | None = None) -> None:
        """Print a piece of an answer, of sub-agents only where they are shown with what they say."""
        if parent is None or self._with_text:
            self._print(stream_line(event, session=self._session, uuid=self._new_id(), parent=parent))

    def lines(self, lines: Sequence[Line]) -> None:
        """Print them."""
        for line in lines:
            self._print({**line, "session_id": self._session, "uuid": line.get("uuid") or self._new_id()})

    def ended(self, ending: Ending, counts: Counts, *, origin: Origin | None = None) -> None:
        """Print how a turn ended."""
        if origin is None:
            self._answered = ending
        if ending.category:
            self._print(failure_line(ending.error, ending.category, session=self._session, uuid=self._new_id()))
        self._print(result_line(ending, counts, session=self._session, uuid=self._new_id(), origin=origin))

    def closed(self, abandoned: Sequence[Abandoned], counts: Counts) -> None:
        """Print a last result if tasks were given up: the answer again, and that it is not all."""
        if abandoned and self._answered is not None:
            about = {"session": self._session, "uuid": self._new_id()}
            self._print(result_line(self._answered, counts, **about, origin=TASK_NOTIFICATION, abandoned=abandoned))

    def _print(self, line: Line) -> None:
        self._writer.put_line(line)


def make_printer(
    output_format: OutputFormat, writer: Writer, ports: Ports, *, with_text: bool = False, has_prompt: bool = True
) -> Printer:
    """Return the printer of a format."""

    def new_id() -> str:
        return new_uuid(ports.ids)

    match output_format:
        case "text":
            return TextPrinter(writer, has_prompt=has_prompt)
        case "json":
            return JsonPrinter(writer, new_id, has_prompt=has_prompt)
        case "stream-json":
            return StreamPrinter(writer, new_id, with_text=with_text)
