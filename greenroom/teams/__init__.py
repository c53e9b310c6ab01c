"""Teams: mates with mailboxes of their own, a lead, and a shared board whose claims cannot race."""

from greenroom.teams._board import Board, BoardHome, CreateItem, EditItem, GiveBack, Idle
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
from greenroom.teams._items import FOLDS, MAX_RELEASES, BoardState, Edit, Item, ItemStatus, Refused, apply, plan_edit
from greenroom.teams._team import BoardHandle, Mate, MateAgent, Team, make_team
from greenroom.teams._tools import LEAD, Roster, member_tools, report_tool

__all__ = [
    "EVENTS",
    "FOLDS",
    "LEAD",
    "MAX_RELEASES",
    "Board",
    "BoardHandle",
    "BoardHome",
    "BoardState",
    "CreateItem",
    "Edit",
    "EditItem",
    "GiveBack",
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
    "apply",
    "make_team",
    "member_tools",
    "plan_edit",
    "report_tool",
]
