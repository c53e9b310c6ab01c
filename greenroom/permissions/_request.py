"""Requests for tool calls, and the verdicts about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, final

import attrs

from greenroom.core.validation import checked
from greenroom.permissions._policy import Policy
from greenroom.permissions._rules import Effect, Rule
from greenroom.permissions._traits import ToolTraits, traits_of
from greenroom.permissions._updates import Update

Reviewer: TypeAlias = Literal["person", "classifier"]


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Request:
    """One tool call that is about to run.

    Attributes:
        tool: The tool's name.
        input: Its final input, after every rewrite by hooks.
        cwd: The current folder of the agent, absolute.
        policy: The agent's policy.
        traits: The known traits of the tool; by default those of its name.
        hook: The decision of PreToolUse hooks, if any.
        links: Targets of paths that are or go through symbolic links; see `check`.
        matches: Matches of shell patterns on the disk, by absolute pattern; None for too many. See `check`.
        own_programs: Programs that lie in a working directory, by name and by whether the script changes folders. See
            `check`.
        programs: The programs that the repositories of folders name for git, by folder. See `check`.
    """

    tool: str
    input: Mapping[str, Any]
    cwd: str
    policy: Policy
    traits: ToolTraits = attrs.Factory(lambda self: traits_of(str(self.tool)), takes_self=True)
    hook: Effect | None = None
    links: Mapping[str, str] = attrs.field(factory=dict)
    matches: Mapping[str, tuple[str, ...] | None] = attrs.field(factory=dict)
    own_programs: Mapping[tuple[str, bool], str] = attrs.field(factory=dict)
    programs: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


@final
@attrs.frozen(kw_only=True)
class Verdict:
    """The decision about a call.

    Attributes:
        effect: Run it, ask first, or refuse it.
        reason: The reason, as one sentence for people and models.
        rule: The rule that decided, if any.
        reviewer: Who is asked; `classifier` only in mode auto.
        suggestions: Changes of settings after which the same call would run unasked; empty if none would help.
        blocked_path: The path that prevents it, if any.
        paths: The targets of the files and folders that a file tool would open; absolute, without links. The call may
            reach
            only these. They do not count when verdicts are compared.
    """

    effect: Effect
    reason: str
    rule: Rule | None = None
    reviewer: Reviewer = "person"
    suggestions: tuple[Update, ...] = ()
    blocked_path: str | None = None
    paths: tuple[str, ...] = attrs.field(default=(), eq=False)
