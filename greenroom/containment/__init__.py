"""Containment of programs that greenroom starts: their environment, git's settings, the sandbox."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.containment._environment import ChildKind, child_environment, withheld_names
    from greenroom.containment._git_calls import GitCall, GitCalls, GitTooOld, run_git
    from greenroom.containment._repository import repository_programs
    from greenroom.containment._sandbox import Sandbox, SandboxSettings, read_their_sandbox
    from greenroom.containment._secret_forms import (
        COARSE_PATTERN,
        FORM_NAMES,
        find_secrets,
        is_secret_value,
        mask_forms,
    )
    from greenroom.containment._secrets import MaskedDisk, Secrets
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.containment._environment": ("ChildKind", "child_environment", "withheld_names"),
            "greenroom.containment._git_calls": ("GitCall", "GitCalls", "GitTooOld", "run_git"),
            "greenroom.containment._repository": ("repository_programs",),
            "greenroom.containment._sandbox": ("Sandbox", "SandboxSettings", "read_their_sandbox"),
            "greenroom.containment._secret_forms": (
                "COARSE_PATTERN",
                "FORM_NAMES",
                "find_secrets",
                "is_secret_value",
                "mask_forms",
            ),
            "greenroom.containment._secrets": ("MaskedDisk", "Secrets"),
        },
    )

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
