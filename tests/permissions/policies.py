"""Helpers for the tests of permissions: a project, policies in it, and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Request,
    Scope,
    Source,
    Verdict,
    decide,
    merge_permissions,
    read_permissions,
)

CWD: Final = "/home/ann/project"
HOME: Final = "/home/ann"
PROJECT: Final = Source(scope=Scope.PROJECT, root=CWD)


def policy(
    *,
    allow: Sequence[Any] = (),
    ask: Sequence[Any] = (),
    deny: Sequence[Any] = (),
    mode: Mode = Mode.DEFAULT,
    source: Source = PROJECT,
    directories: Sequence[str] = (),
) -> Policy:
    values = {"allow": list(allow), "ask": list(ask), "deny": list(deny), "additionalDirectories": list(directories)}
    made, _ = merge_permissions([read_permissions(values, source)], cwd=CWD, home=HOME, mode=mode)
    return made


def call(
    tool: str,
    values: Mapping[str, Any],
    held: Policy,
    *,
    links: Mapping[str, str] | None = None,
    hook: Effect | None = None,
) -> Verdict:
    return decide(Request(tool=tool, input=values, cwd=CWD, policy=held, links=links or {}, hook=hook))


def bash(command: str, held: Policy) -> Verdict:
    return call("Bash", {"command": command}, held)


def effect_of(call_text: str, held: Policy) -> str:
    """Decide about `Bash: ls`, `Read: a.py`, `WebFetch: https://...`, `Agent: reviewer`: a tool and what it is about."""
    tool, _, subject = call_text.partition(": ")
    keys = {
        "Bash": "command",
        "WebFetch": "url",
        "Agent": "subagent_type",
        "Skill": "skill",
        "EnterWorktree": "path",
        "NotebookEdit": "notebook_path",
    }
    keys |= dict.fromkeys(("Grep", "Glob"), "path")
    return call(tool, {keys.get(tool, "file_path"): subject} if subject else {}, held).effect.value
