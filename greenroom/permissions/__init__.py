"""Who may do what: modes, rules, the shell reader behind them, `decide(request) -> Verdict`, and what waits for a person."""

from greenroom.permissions._approvals import (
    DEADLINE_S,
    Allow,
    Answer,
    Approval,
    ApprovalQueue,
    ApprovalState,
    ApprovalStatistics,
    Deny,
    Receipt,
)
from greenroom.permissions._decide import check, decide, hidden_tools, paths_of
from greenroom.permissions._look import real_paths
from greenroom.permissions._modes import ChildPermission, Mode, child_mode, may_do_more, parse_mode
from greenroom.permissions._place import files_hidden_from
from greenroom.permissions._policy import PROGRAM, PermissionSettings, Policy, merge_permissions, read_permissions
from greenroom.permissions._refusals import Refusals
from greenroom.permissions._request import Request, Reviewer, Verdict
from greenroom.permissions._rules import Diagnostic, Effect, Rule, Scope, Source, parse_rule
from greenroom.permissions._shell import parse_script
from greenroom.permissions._shell_words import Command, Redirect, Unparsable, Word
from greenroom.permissions._traits import OTHER_SESSION, ToolKind, ToolTraits, canonical_name, traits_of
from greenroom.permissions._updates import Update, apply_updates, read_update, updated_settings

__all__ = [
    "DEADLINE_S",
    "OTHER_SESSION",
    "PROGRAM",
    "Allow",
    "Answer",
    "Approval",
    "ApprovalQueue",
    "ApprovalState",
    "ApprovalStatistics",
    "ChildPermission",
    "Command",
    "Deny",
    "Diagnostic",
    "Effect",
    "Mode",
    "PermissionSettings",
    "Policy",
    "Receipt",
    "Redirect",
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
    "Word",
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
    "paths_of",
    "read_permissions",
    "read_update",
    "real_paths",
    "traits_of",
    "updated_settings",
]
