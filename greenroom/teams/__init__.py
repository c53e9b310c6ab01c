"""Teams: mates with mailboxes of their own, a lead, and a shared board whose claims cannot race."""

from greenroom.teams._board import (
    Assignment,
    Board,
    BoardHome,
    Busy,
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
from greenroom.teams._items import FOLDS, MAX_FAILURES, TRANSITIONS, Item, ItemStatus
from greenroom.teams._lifecycle import IdleReason, Idling, MemberStatus
from greenroom.teams._mate import MateAgent
from greenroom.teams._names import LEAD
from greenroom.teams._roster import Member, Roster
from greenroom.teams._settings import TeamSettings, teams_from_environment
from greenroom.teams._team import BoardHandle, Mate, MateGround, MateWish, Team, make_team
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
    "Busy",
    "CreateItem",
    "Edit",
    "EditItem",
    "Edited",
    "GiveBack",
    "HandOut",
    "Idle",
    "IdleReason",
    "Idling",
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
    "MateGround",
    "MateWish",
    "Member",
    "MemberStatus",
    "Refused",
    "ReserveId",
    "Roster",
    "Team",
    "TeamSettings",
    "TurnOver",
    "apply",
    "make_team",
    "member_tools",
    "plan_edit",
    "refuse_completion",
    "refuse_creation",
    "refuse_idling",
    "report_tool",
    "teams_from_environment",
]
