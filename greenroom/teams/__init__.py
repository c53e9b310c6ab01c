"""Teams: mates with mailboxes of their own, a lead, and a shared board whose claims cannot race."""

from greenroom.teams._board import Board, BoardHome, CreateItem, EditItem, GiveBack, HandOut, Idle, TurnOver
from greenroom.teams._events import (
    EVENTS,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemReleased,
    MailSent,
)
from greenroom.teams._items import (
    FOLDS,
    LEAD,
    MAX_FAILURES,
    BoardState,
    Edit,
    Item,
    ItemStatus,
    Refused,
    apply,
    plan_edit,
)
from greenroom.teams._roster import Roster
from greenroom.teams._team import BoardHandle, Mate, MateAgent, Team, make_team
from greenroom.teams._tools import member_tools, report_tool

__all__ = [
    "EVENTS",
    "FOLDS",
    "LEAD",
    "MAX_FAILURES",
    "Board",
    "BoardHandle",
    "BoardHome",
    "BoardState",
    "CreateItem",
    "Edit",
    "EditItem",
    "GiveBack",
    "HandOut",
    "Idle",
    "Item",
    "ItemClaimed",
    "ItemCompleted",
    "ItemCreated",
    "ItemDeleted",
    "ItemEdited",
    "ItemEvent",
    "ItemReleased",
    "ItemStatus",
    "MailSent",
    "Mate",
    "MateAgent",
    "Refused",
    "Roster",
    "Team",
    "TurnOver",
    "apply",
    "make_team",
    "member_tools",
    "plan_edit",
    "report_tool",
]
