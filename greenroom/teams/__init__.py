"""Teams: teammates with their own mailboxes, a lead, and a shared board on which claims cannot race."""

from greenroom.teams._board import Board
from greenroom.teams._board_hooks import refuse_completion, refuse_idling
from greenroom.teams._board_items import TRANSITIONS, Item, ItemStatus
from greenroom.teams._board_messages import CreateItem, EditItem
from greenroom.teams._board_state import BoardState, apply
from greenroom.teams._edits import Edit
from greenroom.teams._exchange import MailHeld
from greenroom.teams._item_events import (
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemLinked,
    ItemReleased,
)
from greenroom.teams._mail import TeamMail
from greenroom.teams._mail_events import Mail, MailQuarantined, MailRead, MailReturned, MailSent
from greenroom.teams._member_names import LEAD, free_name
from greenroom.teams._member_tools import delegate_tools, report_tool
from greenroom.teams._plan_requests import EXIT_PLAN_MODE, PlanRequests
from greenroom.teams._record import TeamRecord, records_of
from greenroom.teams._request_events import (
    PlanAnswered,
    PlanSubmitted,
    ShutdownAnswered,
    ShutdownAsked,
    ShutdownSettled,
)
from greenroom.teams._roster import Member
from greenroom.teams._shutdown_requests import Shutdowns
from greenroom.teams._team import Team, TeammateSpec, make_team
from greenroom.teams._team_settings import Conversations, TeamSettings, read_conversations, teams_from_environment
from greenroom.teams._team_tools import TeamTools
from greenroom.teams._teammate_events import (
    EVENTS,
    FOLDS,
    TeamClosed,
    TeammateIdled,
    TeammateJoined,
    TeammateLeft,
    TeammateParked,
    TeammateView,
    TeammateWoke,
    TeamOpened,
)
from greenroom.teams._teammate_status import MemberStatus

__all__ = [
    "EVENTS",
    "EXIT_PLAN_MODE",
    "FOLDS",
    "LEAD",
    "TRANSITIONS",
    "Board",
    "BoardState",
    "Conversations",
    "CreateItem",
    "Edit",
    "EditItem",
    "Item",
    "ItemAssigned",
    "ItemClaimed",
    "ItemCompleted",
    "ItemCreated",
    "ItemDeleted",
    "ItemEdited",
    "ItemLinked",
    "ItemReleased",
    "ItemStatus",
    "Mail",
    "MailHeld",
    "MailQuarantined",
    "MailRead",
    "MailReturned",
    "MailSent",
    "Member",
    "MemberStatus",
    "PlanAnswered",
    "PlanRequests",
    "PlanSubmitted",
    "ShutdownAnswered",
    "ShutdownAsked",
    "ShutdownSettled",
    "Shutdowns",
    "Team",
    "TeamClosed",
    "TeamMail",
    "TeamOpened",
    "TeamRecord",
    "TeamSettings",
    "TeamTools",
    "TeammateIdled",
    "TeammateJoined",
    "TeammateLeft",
    "TeammateParked",
    "TeammateSpec",
    "TeammateView",
    "TeammateWoke",
    "apply",
    "delegate_tools",
    "free_name",
    "make_team",
    "read_conversations",
    "records_of",
    "refuse_completion",
    "refuse_idling",
    "report_tool",
    "teams_from_environment",
]
