"""Teams: mates with mailboxes of their own, a lead, and a shared board whose claims cannot race."""

from greenroom.teams._board import (
    Assignment,
    Board,
    BoardHome,
    CreateItem,
    Edited,
    EditItem,
    GiveBack,
    HandOut,
    Idle,
    Join,
    ReserveId,
    TurnOver,
)
from greenroom.teams._board_hooks import refuse_completion, refuse_creation, refuse_idling
from greenroom.teams._board_state import BoardState, apply
from greenroom.teams._edits import Edit, Refused, plan_edit
from greenroom.teams._events import (
    EVENTS,
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemLinked,
    ItemReleased,
    MailSent,
)
from greenroom.teams._items import FOLDS, LEAD, MAX_FAILURES, TRANSITIONS, Item, ItemStatus
from greenroom.teams._roster import Roster
from greenroom.teams._team import BoardHandle, Mate, MateAgent, Team, make_team
from greenroom.teams._tools import member_tools, report_tool

__all__ = [
    "EVENTS",
    "FOLDS",
    "LEAD",
    "MAX_FAILURES",
    "TRANSITIONS",
    "Assignment",
    "Board",
    "BoardHandle",
    "BoardHome",
    "BoardState",
    "CreateItem",
    "Edit",
    "EditItem",
    "Edited",
    "GiveBack",
    "HandOut",
    "Idle",
    "Item",
    "ItemAssigned",
    "ItemClaimed",
    "ItemCompleted",
    "ItemCreated",
    "ItemDeleted",
    "ItemEdited",
    "ItemEvent",
    "ItemLinked",
    "ItemReleased",
    "ItemStatus",
    "Join",
    "MailSent",
    "Mate",
    "MateAgent",
    "Refused",
    "ReserveId",
    "Roster",
    "Team",
    "TurnOver",
    "apply",
    "make_team",
    "member_tools",
    "plan_edit",
    "refuse_completion",
    "refuse_creation",
    "refuse_idling",
    "report_tool",
]
