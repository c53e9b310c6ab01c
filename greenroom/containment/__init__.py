"""What programs that greenroom starts get to see and may do: their environment, git's settings, the sandbox."""

from greenroom.containment._environment import (
    HARMLESS,
    SECRET_ENDS,
    SECRET_PREFIXES,
    SECRET_TAILS,
    SECRET_WORDS,
    SERVER_VARIABLES,
    ChildKind,
    child_environment,
    holds_secret,
)
from greenroom.containment._git import Git, GitCall, GitTooOld, clean_environment, run_git
from greenroom.containment._masked_disk import MaskedDisk
from greenroom.containment._repository import repository_programs
from greenroom.containment._sandbox import Sandbox, SandboxSettings, read_their_sandbox
from greenroom.containment._secrets import Secrets

__all__ = [
    "HARMLESS",
    "SECRET_ENDS",
    "SECRET_PREFIXES",
    "SECRET_TAILS",
    "SECRET_WORDS",
    "SERVER_VARIABLES",
    "ChildKind",
    "Git",
    "GitCall",
    "GitTooOld",
    "MaskedDisk",
    "Sandbox",
    "SandboxSettings",
    "Secrets",
    "child_environment",
    "clean_environment",
    "holds_secret",
    "read_their_sandbox",
    "repository_programs",
    "run_git",
]
