"""Teams: teammates with their own mailboxes, a lead, and a shared board on which claims cannot race."""

from greenroom.teams._board import Board, BoardHome
from greenroom.teams._board_hooks import refuse_completion, refuse_creation, refuse_idling
from greenroom.teams._board_messages import (
    CreateItem,
    Edited,
    EditItem,
    GiveBack,
    HandOut,
    Idle,
    ItemAssignment,
    Join,
    Occupied,
    ReserveId,
    TurnOver,
)
from greenroom.teams._board_state import BoardState, apply
from greenroom.teams._edits import Edit, EditRefused, plan_edit
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
from greenroom.teams._member_names import LEAD, free_name
from greenroom.teams._member_tools import DELEGATE_TOOLS, delegate_tools, member_tools, report_tool
from greenroom.teams._plan_requests import EXIT_PLAN_MODE, PlanRequest, PlanRequests
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
from greenroom.teams._shutdown_requests import ShutdownAsk, ShutdownOutcome, Shutdowns, ShutdownState
from greenroom.teams._team import Team, TeammatePort, TeammateSpec, make_team
from greenroom.teams._team_handles import BoardHandle, Teammate
from greenroom.teams._team_tools import TeamTools
from greenroom.teams._teammate import TeammateAgent
from greenroom.teams._teammate_events import (
    EVENTS,
    FOLDS,
    TeamClosed,
    TeammateEvent,
    TeammateIdled,
    TeammateJoined,
    TeammateLeft,
    TeammateParked,
    TeammateView,
    TeammateWoke,
    TeamOpened,
    TeamView,
)

__all__ = [
    "DELEGATE_TOOLS",
    "EVENTS",
    "EXIT_PLAN_MODE",
    "FOLDS",
    "LEAD",
    "MAX_FAILURES",
    "TRANSITIONS",
    "Board",
    "BoardHandle",
    "BoardHome",
    "BoardState",
    "CreateItem",
    "Edit",
    "EditItem",
    "EditRefused",
    "Edited",
    "GiveBack",
    "HandOut",
    "Idle",
    "IdleReason",
    "Idling",
    "Item",
    "ItemAssigned",
    "ItemAssignment",
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
    "Member",
    "MemberStatus",
    "Occupied",
    "PlanAnswered",
    "PlanRequest",
    "PlanRequests",
    "PlanSubmitted",
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
    "Teammate",
    "TeammateAgent",
    "TeammateEvent",
    "TeammateIdled",
    "TeammateJoined",
    "TeammateLeft",
    "TeammateParked",
    "TeammatePort",
    "TeammateSpec",
    "TeammateView",
    "TeammateWoke",
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
