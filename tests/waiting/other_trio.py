"""A pytest plugin that stands for a Trio of another make: the shortcuts of `greenroom.waiting` have to stay off.

python -m pytest -p tests.waiting.other_trio tests/waiting tests/actors tests/mailbox
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio.lowlevel

if TYPE_CHECKING:
    from collections.abc import Callable

documented = trio.lowlevel.wait_task_rescheduled


async def wait_task_rescheduled(abort: Callable[[Any], trio.lowlevel.Abort]) -> Any:
    """Do what is documented; what Trio is handed inside is another function than the one given."""

    def another(raise_cancel: Any) -> trio.lowlevel.Abort:
        return abort(raise_cancel)

    return await documented(another)


trio.lowlevel.wait_task_rescheduled = wait_task_rescheduled  # type: ignore[assignment]

from greenroom.waiting._parking import SHORTCUTS  # noqa: E402 - Trio is changed first

assert not SHORTCUTS
