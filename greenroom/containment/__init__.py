"""Containment of programs that greenroom starts: their environment, git's settings, the sandbox."""

from greenroom.containment._environment import ChildKind, child_environment, withheld_names
from greenroom.containment._git_calls import GitCall, GitCalls, GitTooOld, run_git
from greenroom.containment._repository import repository_programs
from greenroom.containment._sandbox import Sandbox, SandboxSettings, read_their_sandbox
from greenroom.containment._secrets import MaskedDisk, Secrets

__all__ = [
    "ChildKind",
    "GitCall",
    "GitCalls",
    "GitTooOld",
    "MaskedDisk",
    "Sandbox",
    "SandboxSettings",
    "Secrets",
    "child_environment",
    "read_their_sandbox",
    "repository_programs",
    "run_git",
    "withheld_names",
]
