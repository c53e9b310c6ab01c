"""Requests beside the turns of a session's main agent: side questions, suggestions, its notes.

A request of the program returns a value or raises; the agent does not notice. A failure of what runs by itself after a turn is only a
notice. Nothing of this outlives the main agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, final

import trio

from greenroom.actors import Down
from greenroom.agents import AgentState
from greenroom.agents.events import AgentSpoke
from greenroom.agents.side import MemoryChanges, NoteKeeper, SideRun, ask_aside, open_side_run, quietly, suggest_prompt
from greenroom.agents.subagents import MainAgent
from greenroom.core import CLASS, ActorEnded, Record, Recorder, event_of
from greenroom.trace import Journal

FINISH_S: Final = 30.0
"""Seconds for which the end of a session waits for notes that are being written."""
T = TypeVar("T")


@final
class Asides:
    """Requests beside the turns of the main agent, of the program or of the session itself; `session.asides`.

    Args:
        main: The main agent.
        recorder: Records what is asked.
        recording: The session's journal.
    """

    def __init__(self, main: MainAgent, *, recorder: Recorder, recording: Journal) -> None:
        self._main = main
        self._recorder = recorder
        self._recording = recording
        self._start_soon: Callable[[Callable[[], Awaitable[None]]], object] | None = None
        self._notes: NoteKeeper | None = None
        self._wants_extraction = self._is_extracting = False
        self._extracted = trio.Event()

    async def ask(self, question: str) -> str:
        """Return the model's answer to a question about the conversation as it is now, while the turn continues.

        One answer, without tools; neither question nor answer becomes part of the conversation. Its usage counts as the main
        agent's. Cancelled, it leaves nothing but the tokens that it used.

        Raises:
            UsageError: The question is blank.
            ProviderError: The model could not be asked.
            ForkFailed: The model called tools and said nothing.
            JournalError: It could not be recorded.
            ActorEnded: The main agent has ended.
        """
        return await self._run(lambda: ask_aside(self._place(), question))

    async def suggest_prompt(self) -> str:
        """Return a suggestion for the user's next prompt, of at most 12 words; empty if there is none.

        In the middle of a turn the model is not asked. A failure is a notice (`agent.noticed`), and nothing is suggested.

        Raises:
            JournalError: It could not be recorded.
            ActorEnded: The main agent has ended.
        """
        actor, emit = self._main.ref.id, self._recorder.emit_fields
        text = await self._run(lambda: quietly(actor, emit, "prompt suggestion", lambda: suggest_prompt(self._place())))
        return text or ""

    async def consolidate_memory(self) -> MemoryChanges:
        """Merge and prune the main agent's notes with the model; one run at a time, across processes.

        It can write inside the folder of the notes, and do nothing else. Cancelled, what was written stays.

        Raises:
            UsageError: The main agent has no notes, or lacks one of the tools Read, Write and Edit.
            NotesUnavailable: The folder cannot be written, or another process is working on it.
            ProviderError: The model could not be asked.
            ForkFailed: The model did not finish, and wrote nothing.
            JournalError: It could not be recorded.
            ActorEnded: The main agent has ended.
        """
        return await self._run(self._keeper.consolidate)

    @property
    def _home(self) -> AgentState:
        assert self._main.home is not None
        return self._main.home

    @property
    def _keeper(self) -> NoteKeeper:
        if self._notes is None:
            self._notes = NoteKeeper(self._home, self._main.ref.id, self._recorder.emit_fields)
        return self._notes

    def extract_after_turns(self, start_soon: Callable[[Callable[[], Awaitable[None]]], object]) -> None:
        """Extract notes from now on after each turn that ends with an answer.

        The caller of the turn does not wait for it; turns that end meanwhile are processed together.

        Args:
            start_soon: Starts a task in a nursery that lives as long as the main agent.
        """
        self._start_soon = start_soon
        self._recorder.listen(self._note)

    def _note(self, record: Record) -> None:
        if (
            record[CLASS] is not AgentSpoke
            or event_of(record).actor != self._main.ref.id
            or self._home.profile.memory is None
        ):
            return
        self._wants_extraction = True
        if not self._is_extracting:
            assert self._start_soon is not None
            self._is_extracting, self._extracted = True, trio.Event()
            self._start_soon(self._extract)

    async def finish(self) -> None:
        """Wait for at most 30 s until the notes of the last turn are written."""
        with trio.move_on_after(FINISH_S):
            while self._is_extracting:
                await self._extracted.wait()

    async def _extract(self) -> None:
        try:
            while self._wants_extraction:
                self._wants_extraction = False
                await quietly(
                    self._main.ref.id,
                    self._recorder.emit_fields,
                    "memory extraction",
                    lambda: self._run(self._keeper.extract),
                )
        finally:
            self._is_extracting = False
            self._extracted.set()

    def _place(self) -> SideRun:
        return open_side_run(self._home, self._main.ref.id, self._recorder.emit_fields)

    async def _run(self, run: Callable[[], Awaitable[T]]) -> T:
        """Run something that ends with the main agent, and is recorded when it returns.

        Raises:
            ActorEnded: The main agent is gone.
            JournalError: It could not be recorded.
        """
        self._recording.check_open()
        downs: list[Down] = []
        with trio.CancelScope() as scope:

            def end(down: Down) -> None:
                downs.append(down)
                scope.cancel()

            watch = self._main.ref.watch(end)
            try:
                await trio.lowlevel.checkpoint_if_cancelled()  # it may be gone already
                value = await run()
                await self._recording.commit()
                return value
            finally:
                watch.cancel()
        raise ActorEnded(self._main.ref.id, downs[0].state.value, path=self._main.ref.path)
