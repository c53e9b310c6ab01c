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
from greenroom.teams._catalog import EVENTS, FOLDS
from greenroom.teams._edits import Edit, Refused, plan_edit
from greenroom.teams._events import (
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemEvent,
    ItemLinked,
    ItemReleased,
)
from greenroom.teams._exchange import MailHeld
from greenroom.teams._items import MAX_FAILURES, TRANSITIONS, Item, ItemStatus
from greenroom.teams._lifecycle import Idling, MemberStatus
from greenroom.teams._mail import TeamMail
from greenroom.teams._mail_events import Mail, MailQuarantined, MailRead, MailReturned, MailSent, MailState, unread
from greenroom.teams._mate import MateAgent
from greenroom.teams._mate_events import (
    MateEvent,
    MateIdled,
    MateJoined,
    MateLeft,
    MateParked,
    MateView,
    MateWoke,
    TeamClosed,
    TeamOpened,
    TeamView,
)
from greenroom.teams._names import LEAD, free_name
from greenroom.teams._plans import EXIT_PLAN_MODE, PlanRequest, Plans
from greenroom.teams._protocol import IdleReason
from greenroom.teams._record import TeamRecord, records_of
from greenroom.teams._request_events import (
    PlanAnswered,
    PlanSubmitted,
    RequestEvent,
    ShutdownAnswered,
    ShutdownAsked,
    ShutdownSettled,
)
from greenroom.teams._roster import Member, Roster
from greenroom.teams._settings import TeamSettings, teams_from_environment
from greenroom.teams._shutdown import ShutdownAsk, ShutdownOutcome, Shutdowns, ShutdownState
from greenroom.teams._team import BoardHandle, Mate, MateGround, MateWish, Team, make_team
from greenroom.teams._team_tools import TeamTools
from greenroom.teams._tools import DELEGATE_TOOLS, delegate_tools, member_tools, report_tool

__all__ = [
    "DELEGATE_TOOLS",
    "EVENTS",
    "EXIT_PLAN_MODE",
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
    "Mail",
    "MailHeld",
    "MailQuarantined",
    "MailRead",
    "MailReturned",
    "MailSent",
    "MailState",
    "Mate",
    "MateAgent",
    "MateEvent",
    "MateGround",
    "MateIdled",
    "MateJoined",
    "MateLeft",
    "MateParked",
    "MateView",
    "MateWish",
    "MateWoke",
    "Member",
    "MemberStatus",
    "PlanAnswered",
    "PlanRequest",
    "PlanSubmitted",
    "Plans",
    "Refused",
    "RequestEvent",
    "ReserveId",
    "Roster",
    "ShutdownAnswered",
    "ShutdownAsk",
    "ShutdownAsked",
    "ShutdownOutcome",
    "ShutdownSettled",
    "ShutdownState",
    "Shutdowns",
    "Team",
    "TeamClosed",
    "TeamMail",
    "TeamOpened",
    "TeamRecord",
    "TeamSettings",
    "TeamTools",
    "TeamView",
    "TurnOver",
    "apply",
    "delegate_tools",
    "free_name",
    "make_team",
    "member_tools",
    "plan_edit",
    "records_of",
    "refuse_completion",
    "refuse_creation",
    "refuse_idling",
    "report_tool",
    "teams_from_environment",
    "unread",
]
