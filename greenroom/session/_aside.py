"""What a host can have done beside the turns of a session's main agent: side questions, suggestions, its notes.

Rule 1: what a host asks for, it gets as a value, or as an error; the agent never knows. Rule 2: what runs by itself after a turn
fails nothing: its failure is a notice. Rule 3: nothing of this outlives the main agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors import Down, Ref
from greenroom.agents import AgentSpoke, AgentState
from greenroom.agents.side import Beside, MemoryChanges, NoteKeeper, ask_aside, beside, quietly, suggest_prompt
from greenroom.core import CLASS, ActorEnded, Record, Recorder, event_of
from greenroom.session._recording import Recording

FINISH_S: Final = 30.0
"""So long the end of a session waits for notes that are being written."""
T = TypeVar("T")


@final
@attrs.define(kw_only=True, eq=False)
class Asides:
    """What runs beside the turns of one main agent."""

    main: Ref[Any]
    home: AgentState
    recorder: Recorder
    recording: Recording
    _start_soon: Callable[[Callable[[], Awaitable[None]]], object] | None = None
    _keeper: NoteKeeper = attrs.field(init=False)
    _wants_extraction: bool = False
    _is_extracting: bool = False
    _extracted: trio.Event = attrs.field(factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        self._keeper = NoteKeeper(self.home, self.main.id, self.recorder.emit_fields)

    async def ask(self, question: str) -> str:
        """Return the answer to a side question."""
        return await self._run(lambda: ask_aside(self._place(), question))

    async def suggest(self) -> str:
        """Return what the user may want to say next; empty where that cannot be had."""
        emit = self.recorder.emit_fields
        text = await self._run(
            lambda: quietly(self.main.id, emit, "prompt suggestion", lambda: suggest_prompt(self._place()))
        )
        return text or ""

    async def consolidate(self) -> MemoryChanges:
        """Put the notes in order."""
        return await self._run(self._keeper.consolidate)

    def extract_after_turns(self, start_soon: Callable[[Callable[[], Awaitable[None]]], object]) -> None:
        """Have noted from now on, after each turn that ends with an answer, what is worth it.

        Whoever asked for the turn does not wait for it; turns that end meanwhile are looked at once.

        Args:
            start_soon: Starts what does it, in a nursery that is there as long as the main agent.
        """
        self._start_soon = start_soon
        self.recorder.listen(self._hear)

    def _hear(self, record: Record) -> None:
        if (
            record[CLASS] is not AgentSpoke
            or event_of(record).actor != self.main.id
            or self.home.profile.memory is None
        ):
            return
        self._wants_extraction = True
        if not self._is_extracting:
            assert self._start_soon is not None
            self._is_extracting, self._extracted = True, trio.Event()
            self._start_soon(self._extract)

    async def finish(self) -> None:
        """Wait until what the last turn left to note is noted, for 30 s at most."""
        with trio.move_on_after(FINISH_S):
            while self._is_extracting:
                await self._extracted.wait()

    async def _extract(self) -> None:
        try:
            while self._wants_extraction:
                self._wants_extraction = False
                await quietly(
                    self.main.id,
                    self.recorder.emit_fields,
                    "memory extraction",
                    lambda: self._run(self._keeper.extract),
                )
        finally:
            self._is_extracting = False
            self._extracted.set()

    def _place(self) -> Beside:
        return beside(self.home, self.main.id, self.recorder.emit_fields)

    async def _run(self, run: Callable[[], Awaitable[T]]) -> T:
        """Run something that ends with the main agent, and is on record when it returns.

        Raises:
            ActorEnded: The main agent is gone.
            JournalError: It could not be put on record.
        """
        self.recording.check_open()
        downs: list[Down] = []
        with trio.CancelScope() as scope:

            def end(down: Down) -> None:
                downs.append(down)
                scope.cancel()

            watch = self.main.watch(end)
            try:
                await trio.lowlevel.checkpoint_if_cancelled()  # it may be gone already
                value = await run()
                await self.recording.commit()
                return value
            finally:
                watch.cancel()
        raise ActorEnded(self.main.id, downs[0].state.value, path=self.main.path)


class BesideTurns:
    """What a session does beside the turns of its main agent; a part of `Session`."""

    asides: Asides
    """What does it."""

    async def ask_aside(self, question: str) -> str:
        """Return the model's answer to a question about the conversation as it is now, while the turn goes on.

        One answer, without tools; neither question nor answer becomes part of the conversation. It counts as the main agent's.
        Cancelled, it leaves nothing but what it had used.

        Raises:
            UsageError: The question is blank.
            ProviderError: The model could not be asked.
            ForkFailed: The model called tools and said nothing.
            JournalError: It could not be put on record.
            ActorEnded: The main agent is gone.
        """
        return await self.asides.ask(question)

    async def suggest_prompt(self) -> str:
        """Return what the user may want to say next, in 12 words at most; empty where there is nothing to suggest.

        In the middle of a turn the model is not asked. What fails is a notice (`agent.noticed`), and nothing is suggested.

        Raises:
            JournalError: It could not be put on record.
            ActorEnded: The main agent is gone.
        """
        return await self.asides.suggest()

    async def consolidate_memory(self) -> MemoryChanges:
        """Let the model merge and prune the main agent's notes; one at a time, whichever process does it.

        It can write inside the folder of the notes, and do nothing else. Cancelled, what was written stays.

        Raises:
            UsageError: The main agent has no notes, or not the tools Read, Write and Edit.
            NotesUnavailable: The folder cannot be written, or another process is at it.
            ProviderError: The model could not be asked.
            ForkFailed: The model did not come to an end, and wrote nothing.
            JournalError: It could not be put on record.
            ActorEnded: The main agent is gone.
        """
        return await self.asides.consolidate()
