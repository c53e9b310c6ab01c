"""The expected end of a remote agent for each death, each loss of the link and each stop: data, derived from what links and tasks promise.

A tell or an order that a dead process or a lost link may have lost is sent again under its id, and is one. A process that died ends its running
work as lost; what it had on disk it tells. A host that is silent for longer than `unreachable_s` ends the task here, and a result that
comes later is one message more. A stop counts here after 10 s, and there as soon as the host hears of it.
"""

from __future__ import annotations

from typing import Final, final

import attrs

MOMENTS: Final = ("order on record", "order taken", "running", "end decided", "end recorded", "notice read")
"""The order is on disk here, and not sent; on disk there, and not answered; followed; its end is on disk there; here; and read."""


@final
@attrs.frozen
class Seen:
    """The end of a remote agent, as its run sees it."""

    state: str
    cause: str = ""
    notices: int = 1
    """Number of times that a model reads it."""
    late: int = 0
    """Number of late results that a model reads."""


DONE: Final = Seen("completed")
LOST: Final = Seen("failed", "lost")
REFUSED: Final = Seen("failed", notices=0)
"""The call that starts it says so."""
UNREACHABLE: Final = Seen("failed", "unreachable", late=1)
STOPPED: Final = Seen("killed", "host")


def _row(*seen: Seen) -> dict[str, Seen]:
    return dict(zip(MOMENTS, seen, strict=True))


EXPECTED: Final = {
    # A later process of the run sends the order again, and follows the agent.
    "launcher killed": _row(DONE, DONE, DONE, DONE, DONE, DONE),
    # An order that no connection had is an error of the call; an agent of a dead process is lost; an end on disk is told.
    "host killed": _row(REFUSED, LOST, LOST, DONE, DONE, DONE),
    "both killed": _row(DONE, LOST, LOST, DONE, DONE, DONE),
    # The link is resumed: nobody notices.
    "link cut": _row(DONE, DONE, DONE, DONE, DONE, DONE),
    # Lost for good, and another one 30 s later.
    "link lost": _row(REFUSED, DONE, DONE, DONE, DONE, DONE),
    # No link for 1,000 s; the agent ends meanwhile.
    "host unreachable": _row(REFUSED, UNREACHABLE, UNREACHABLE, UNREACHABLE, DONE, DONE),
}

STOPS: Final = {
    "link up": STOPPED,
    "link lost": STOPPED,
    "host killed": STOPPED,
    "launcher killed": STOPPED,
    "both killed": STOPPED,
}
"""The end of an agent that is stopped while it runs, and what happens at that moment; the host runs nothing afterwards."""
