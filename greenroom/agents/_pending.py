"""Texts and notices that wait to be read with the next message of an agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import attrs
import trio

from greenroom.agents._inputs import Note
from greenroom.tasks import TaskNotice


@final
@attrs.define(eq=False)
class PendingTexts:
    """Texts that an agent's model is to read with the next message.

    Empty collections are tuples, which all agents share: the garbage collector looks at what each has of its own.
    """

    openings: tuple[str, ...] = ()
    """Texts in front of the message."""
    reminders: tuple[str, ...] = ()
    """Texts behind it."""
    quiet: tuple[Note, ...] = ()
    """Notices that begin no turn."""
    unread: dict[str, TaskNotice] = attrs.field(factory=dict)
    """Notices that a sub-agent was handed and has not read, by their ids."""

    def open_with(self, texts: Iterable[str]) -> None:
        """Add texts in front of the next message."""
        self.openings += tuple(texts)

    def take_openings(self) -> tuple[str, ...]:
        """Return the texts in front of the next message, and forget them."""
        taken, self.openings = self.openings, ()
        return taken

    def remind(self, *texts: str) -> None:
        """Add texts behind the next message."""
        self.reminders += texts

    def take_reminders(self) -> tuple[str, ...]:
        """Return the texts behind the next message, and forget them."""
        taken, self.reminders = self.reminders, ()
        return taken

    def add_quiet(self, note: Note) -> None:
        """Keep a notice that begins no turn."""
        self.quiet += (note,)

    def take_quiet(self) -> list[Note]:
        """Return the notices that begin no turn and still count, as read, and forget them."""
        if not self.quiet:
            return []
        now_s = trio.current_time()
        taken, self.quiet = [note for note in self.quiet if not note.is_expired(now_s)], ()
        for note in taken:
            self.unread.pop(note.notice, None)
        return taken

    def add_unread(self, notice: TaskNotice) -> None:
        """Note that a notice was handed to the agent."""
        self.unread[notice.id] = notice

    def note_read(self, notice: str) -> None:
        """Note that the agent has read a notice."""
        self.unread.pop(notice, None)

    def take_unread(self) -> tuple[TaskNotice, ...]:
        """Return the notices that were not read and still have to be, and forget all of them: the run has ended.

        A notice that starts no turn is included only if it is still waiting.
        """
        quiet = {note.notice for note in self.quiet}
        taken = tuple(notice for notice in self.unread.values() if notice.wakes or notice.id in quiet)
        self.quiet = tuple([note for note in self.quiet if note.notice not in self.unread])
        self.unread = {}
        return taken
