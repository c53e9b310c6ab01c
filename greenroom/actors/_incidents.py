"""What a handler should not do with its end, and what the runtime says about it (kernel 9.4, 9.9).

Rule 1: nothing is claimed that was not seen: Trio does not tell a swallowed cancel from a late one. Rule 2: it is counted,
logged once a turn, and part of the turn's outcome; it changes nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs

from greenroom.actors._lifecycle import Outcome

if TYPE_CHECKING:
    from greenroom.actors._cell import Cell

_log: Final = logging.getLogger("greenroom")


def note_incident(cell: Cell[Any], outcome: Outcome, *, hidden: str) -> Outcome:
    """Return the outcome of a turn with what was seen of a swallowed cancel, or of an error that another one hides.

    Args:
        cell: Whose turn it was.
        outcome: What the table says.
        hidden: What `masked_error` says about the exception that left the turn.
    """
    where = f"turn {cell.turn} of {cell.path or cell.id}"
    if outcome.late_cancel and cell.is_told:
        cell.shared.incidents.swallowed_cancels += 1
        _log.warning("%s swallowed its cancel: it caught Cancelled and returned; let it pass", where)
        return attrs.evolve(outcome, swallowed=True)
    if hidden and (cell.abort_cause is not None or cell.kill_cause is not None):
        cell.shared.incidents.masked_errors += 1
        _log.warning("%s was being ended, and what left it hides this: %s", where, hidden)
        return attrs.evolve(outcome, masked_error=hidden)
    return outcome
