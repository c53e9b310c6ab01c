"""Teams: teammates with their own mailboxes, a lead, and a shared board on which claims cannot race."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.teams._board": ("Board",),
            "greenroom.teams._board_hooks": ("refuse_completion", "refuse_idling"),
            "greenroom.teams._board_items": ("TRANSITIONS", "Item", "ItemStatus"),
            "greenroom.teams._board_messages": ("CreateItem", "EditItem"),
            "greenroom.teams._board_state": ("BoardState", "apply"),
            "greenroom.teams._edits": ("Edit",),
            "greenroom.teams._exchange": ("MailHeld",),
            "greenroom.teams._item_events": (
                "ItemAssigned",
                "ItemClaimed",
                "ItemCompleted",
                "ItemCreated",
                "ItemDeleted",
                "ItemEdited",
                "ItemLinked",
                "ItemReleased",
            ),
            "greenroom.teams._mail": ("TeamMail",),
            "greenroom.teams._mail_events": ("Mail", "MailQuarantined", "MailRead", "MailReturned", "MailSent"),
            "greenroom.teams._member_names": ("LEAD", "free_name"),
            "greenroom.teams._member_tools": ("delegate_tools", "report_tool"),
            "greenroom.teams._plan_requests": ("EXIT_PLAN_MODE", "PlanRequests"),
            "greenroom.teams._record": ("TeamRecord", "records_of"),
            "greenroom.teams._request_events": (
                "PlanAnswered",
                "PlanSubmitted",
                "ShutdownAnswered",
                "ShutdownAsked",
                "ShutdownSettled",
            ),
            "greenroom.teams._roster": ("Member",),
            "greenroom.teams._shutdown_requests": ("Shutdowns",),
            "greenroom.teams._team": ("Team", "TeammateSpec", "make_team"),
            "greenroom.teams._team_settings": (
                "Conversations",
                "TeamSettings",
                "read_conversations",
                "teams_from_environment",
            ),
            "greenroom.teams._team_tools": ("TeamTools",),
            "greenroom.teams._teammate_events": (
                "EVENTS",
                "FOLDS",
                "TeamClosed",
                "TeammateIdled",
                "TeammateJoined",
                "TeammateLeft",
                "TeammateParked",
                "TeammateView",
                "TeammateWoke",
                "TeamOpened",
            ),
            "greenroom.teams._teammate_status": ("MemberStatus",),
        },
    )

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
