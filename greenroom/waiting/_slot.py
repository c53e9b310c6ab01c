"""The slot that an ask waits on: one shot, outside every mailbox, gone when the asker stops waiting."""

from __future__ import annotations

from typing import Any, Final, final

from trio.lowlevel import Abort, Task, current_task

from greenroom.waiting._parking import prepare, sleep, wake


class _Nothing:
    """No answer was given."""

    __slots__ = ()


NOTHING: Final = _Nothing()


@final
class ReplySlot:
    """Settles once: with a value, or with an error that is raised in the asker."""

    __slots__ = ("_error", "_is_open", "_task", "_value", "is_withdrawn")

    def __init__(self) -> None:
        self._is_open = True
        self.is_withdrawn = False
        """Whether the asker stopped waiting before it was settled."""
        self._task: Task | None = None
        self._value: Any = None
        self._error: Exception | None = None

    @property
    def is_open(self) -> bool:
        """Whether an answer would still be heard."""
        return self._is_open

    @property
    def is_waiting(self) -> bool:
        """Whether somebody sleeps on it: neither settled nor cancelled."""
        return self._task is not None

    def answer(self, value: Any) -> bool:
        """Settle with a value; False when it is too late."""
        if not self._is_open:
            return False
        self._value = value
        self._settle()
        return True

    def fail(self, error: Exception) -> bool:
        """Settle with an error; False when it is too late."""
        if not self._is_open:
            return False
        self._error = error
        self._settle()
        return True

    def close(self) -> None:
        """Stop listening; a later answer is told that it is late."""
        self.is_withdrawn = self._is_open
        self._is_open = False

    def _settle(self) -> None:
        self._is_open = False
        task, self._task = self._task, None
        if task is not None:
            wake(task)

    def _forget(self, _: object) -> Abort:
        self._task = None
        return Abort.SUCCEEDED

    async def wait(self) -> Any:
        """Return the value or raise the error; cancelled, it leaves the slot as it was."""
        if self._is_open:
            self._task = current_task()
            await sleep(prepare(self._forget))
        if self._error is not None:
            raise self._error
        return self._value
