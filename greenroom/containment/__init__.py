"""Containment of programs that greenroom starts: their environment, git's settings, the sandbox."""

from greenroom.containment._environment import ChildKind, child_environment, withheld_names
from greenroom.containment._git_calls import GitCall, GitCalls, GitTooOld, run_git
from greenroom.containment._repository import repository_programs
from greenroom.containment._sandbox import Sandbox, SandboxSettings, read_their_sandbox
from greenroom.containment._secret_forms import COARSE_PATTERN, FORM_NAMES, find_secrets, is_secret_value, mask_forms
from greenroom.containment._secrets import MaskedDisk, Secrets

__all__ = [
    "COARSE_PATTERN",
    "FORM_NAMES",
    "ChildKind",
    "GitCall",
    "GitCalls",
    "GitTooOld",
    "MaskedDisk",
    "Sandbox",
    "SandboxSettings",
    "Secrets",
    "child_environment",
    "find_secrets",
    "is_secret_value",
    "mask_forms",
    "read_their_sandbox",
    "repository_programs",
    "run_git",
    "withheld_names",
]
