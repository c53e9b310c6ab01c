"""What programs that greenroom starts get to see and may do: their environment, git's settings, the sandbox."""

from greenroom.containment._environment import (
    HARMLESS,
    SECRET_PREFIXES,
    SECRET_WORDS,
    SERVER_VARIABLES,
    ChildKind,
    child_environment,
    holds_secret,
)
from greenroom.containment._git import Git, GitCall, GitTooOld, clean_environment, run_git

__all__ = [
    "HARMLESS",
    "SECRET_PREFIXES",
    "SECRET_WORDS",
    "SERVER_VARIABLES",
    "ChildKind",
    "Git",
    "GitCall",
    "GitTooOld",
    "child_environment",
    "clean_environment",
    "holds_secret",
    "run_git",
]
