"""What is decided about, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, final

import attrs

from greenroom.core import checked
from greenroom.permissions._policy import Policy
from greenroom.permissions._rules import Effect, Rule
from greenroom.permissions._traits import ToolTraits, traits_of
from greenroom.permissions._updates import Update

Reviewer: TypeAlias = Literal["person", "classifier"]


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Request:
    """One tool call that wants to run.

    Attributes:
        tool: The tool's name.
        input: Its input, as it would run: after every rewrite by hooks.
        cwd: The current folder of the agent, absolute.
        policy: What holds for that agent.
        traits: What is known about the tool; by default what its name says.
        hook: What PreToolUse hooks decided, if they did.
        links: Where paths lead that are or go through symbolic links; see `check`.
        matches: What patterns of a shell command match on the disk, by absolute pattern; None for too much. See `check`.
        programs: What the repositories of folders name that git may run, by folder. See `check`.
    """

    tool: str
    input: Mapping[str, Any]
    cwd: str
    policy: Policy
    traits: ToolTraits = attrs.Factory(lambda self: traits_of(str(self.tool)), takes_self=True)
    hook: Effect | None = None
    links: Mapping[str, str] = attrs.field(factory=dict)
    matches: Mapping[str, tuple[str, ...] | None] = attrs.field(factory=dict)
    programs: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


@final
@attrs.frozen(kw_only=True)
class Verdict:
    """What is to happen to a call.

    Attributes:
        effect: Run it, ask first, or refuse it.
        reason: Why, as one sentence for people and models.
        rule: The rule that decided, if one did.
        reviewer: Who is to be asked; `classifier` only in the mode auto.
        suggestions: Changes of settings after which the same call would run unasked; empty where none would do.
        blocked_path: The path that is in the way, if one is.
        paths: Where the files and folders lead that a file tool would open; absolute, without links. What was judged is
            what the call may reach. Two verdicts that differ in nothing else are equal.
    """

    effect: Effect
    reason: str
    rule: Rule | None = None
    reviewer: Reviewer = "person"
    suggestions: tuple[Update, ...] = ()
    blocked_path: str | None = None
    paths: tuple[str, ...] = attrs.field(default=(), eq=False)
