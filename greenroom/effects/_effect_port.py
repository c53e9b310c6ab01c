"""The port through which agents take results from outside: they are recorded, or served from a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Effects(Protocol):
    """The effects of a run: results of tools, outcomes of hooks, answers of people.

    The caller first asks `served`. If that returns None, the caller does the work and hands the result to `note`.
    """

    @property
    def is_served(self) -> bool:
        """True if results come from a record, so that nothing outside may be done."""
        ...

    async def served(
        self, of: str, agent: str, key: str, asked: Mapping[str, Any], *, may_miss: bool = False
    ) -> Mapping[str, Any] | None:
        """Return the recorded result, at its recorded place; None if the work is to be done now.

        Args:
            of: The kind of effect: `tool`, `hook`, `answer`, `command` (of a skill), `task` or `server`.
            agent: Id of the agent that wants it.
            key: Its name within the agent, such as the id of a call; a name that is used again counts on.
            asked: The input, as JSON values.
            may_miss: True for what comes by itself: if the record has no more of it, wait until cancelled.

        Cancelled, it is as if the recorded work had been cancelled.
        """
        ...

    def note(self, of: str, agent: str, key: str, asked: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        """Record a result, as JSON values, before it is used; never waits."""
        ...

    def reading(self, of: str, owner: str, value: float) -> float:
        """Record a value that was just read, such as the time, and return it; in a re-run, return the recorded one.

        Args:
            of: What was read: `wall`, seconds since 1970; or `took`, milliseconds.
            owner: Who reads, such as the path of an actor.
            value: What was read.
        """
        ...

    async def wait_edge(self, actor: str) -> None:
        """Return when the actor may read its mailbox: when all messages that the record has before this step have been put."""
        ...
