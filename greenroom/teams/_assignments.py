"""What a member reads when another gives it an item: a `task_assignment`, in the lane of whoever gave it. It promises nothing: the
board hands the item out when the member is free.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from greenroom.agents import Note
from greenroom.mailbox import Lane
from greenroom.teams._board import Assignment
from greenroom.teams._names import LEAD
from greenroom.teams._protocol import TaskAssignment
from greenroom.teams._roster import Roster
from greenroom.teams._wire import write_text


def tell_assignment(roster: Roster, wall: Callable[[], datetime], assignment: Assignment) -> None:
    """Tell the new owner of an item whose it is now; called in the board's step. Nobody is told who is gone."""
    member = roster.members.get(assignment.owner)
    if member is None:
        return
    item, by = assignment.item, assignment.by
    message = TaskAssignment(
        task_id=item.id,
        subject=item.subject,
        description=item.description,
        assigned_by=by,
        timestamp=wall().isoformat(),
    )
    text = write_text(message)
    member.ref.tell(Note(text, by), Lane.NEXT if by == LEAD else Lane.LATER, size_bytes=len(text))
