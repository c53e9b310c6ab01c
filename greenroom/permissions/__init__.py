"""Permissions: modes, rules, the shell reader behind them, `decide(request) -> Verdict`, and the queue of questions to
a person.
"""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.permissions._approvals import DEADLINE_S, Allow, Answer, ApprovalQueue, Deny, Receipt, Refusals
    from greenroom.permissions._decide import check, decide, hidden_tools
    from greenroom.permissions._modes import ChildPermission, Mode, child_mode, may_do_more, parse_mode, stricter_mode
    from greenroom.permissions._place import files_hidden_from
    from greenroom.permissions._policy import PROGRAM, PermissionSettings, Policy, merge_permissions, read_permissions
    from greenroom.permissions._request import Request, Reviewer, Verdict
    from greenroom.permissions._rules import Effect, Rule, Scope, Source, parse_rule
    from greenroom.permissions._shell import parse_script
    from greenroom.permissions._shell_words import Unparsable
    from greenroom.permissions._traits import (
        BRIDGE,
        OTHER_SESSION,
        OUTSIDE,
        SOCKET,
        ToolKind,
        ToolTraits,
        canonical_name,
        traits_of,
    )
    from greenroom.permissions._updates import Update, apply_updates, read_update, updated_settings
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.permissions._approvals": (
                "DEADLINE_S",
                "Allow",
                "Answer",
                "ApprovalQueue",
                "Deny",
                "Receipt",
                "Refusals",
            ),
            "greenroom.permissions._decide": ("check", "decide", "hidden_tools"),
            "greenroom.permissions._modes": (
                "ChildPermission",
                "Mode",
                "child_mode",
                "may_do_more",
                "parse_mode",
                "stricter_mode",
            ),
            "greenroom.permissions._place": ("files_hidden_from",),
            "greenroom.permissions._policy": (
                "PROGRAM",
                "PermissionSettings",
                "Policy",
                "merge_permissions",
                "read_permissions",
            ),
            "greenroom.permissions._request": ("Request", "Reviewer", "Verdict"),
            "greenroom.permissions._rules": ("Effect", "Rule", "Scope", "Source", "parse_rule"),
            "greenroom.permissions._shell": ("parse_script",),
            "greenroom.permissions._shell_words": ("Unparsable",),
            "greenroom.permissions._traits": (
                "BRIDGE",
                "OTHER_SESSION",
                "OUTSIDE",
                "SOCKET",
                "ToolKind",
                "ToolTraits",
                "canonical_name",
                "traits_of",
            ),
            "greenroom.permissions._updates": ("Update", "apply_updates", "read_update", "updated_settings"),
        },
    )

__all__ = [
    "BRIDGE",
    "DEADLINE_S",
    "OTHER_SESSION",
    "OUTSIDE",
    "PROGRAM",
    "SOCKET",
    "Allow",
    "Answer",
    "ApprovalQueue",
    "ChildPermission",
    "Deny",
    "Effect",
    "Mode",
    "PermissionSettings",
    "Policy",
    "Receipt",
    "Refusals",
    "Request",
    "Reviewer",
    "Rule",
    "Scope",
    "Source",
    "ToolKind",
    "ToolTraits",
    "Unparsable",
    "Update",
    "Verdict",
    "apply_updates",
    "canonical_name",
    "check",
    "child_mode",
    "decide",
    "files_hidden_from",
    "hidden_tools",
    "may_do_more",
    "merge_permissions",
    "parse_mode",
    "parse_rule",
    "parse_script",
    "read_permissions",
    "read_update",
    "stricter_mode",
    "traits_of",
    "updated_settings",
]
