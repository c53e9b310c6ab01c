"""Callbacks of the program that opens a session.

A callback that watches may only store and wake; one that answers may take the time of a person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, final

import attrs

from greenroom.agents import CanUseTool, OnMessage, OnStream
from greenroom.hooks import OnHook
from greenroom.mcp import Elicit
from greenroom.tools import AskUser


@final
@attrs.frozen(kw_only=True)
class Watch:
    """Callbacks for what happens; each may only store and wake."""

    on_stream: OnStream | None = None
    """Hears of each event of the models' answers to turns of agents, with the agent's id."""
    on_shown: OnMessage | None = None
    """Hears of each message of the main agent's that hooks of `MessageDisplay` have looked at, as it is to be shown; `on_message` has
    heard of it before, as it is, with `is_shown_later`."""
    on_taken: Callable[[str], object] | None = None
    """Hears the id of each message that `session.send` has handed in, when the main agent takes it up."""
    on_hook: OnHook | None = None
    """Hears of each run of a hook's handler from its beginning to its end."""
    on_elicited: Callable[[str, str], object] | None = None
    """Hears the name of an MCP server and the id of a question of its: what a person was to do at an address is done."""


def _watch_of(watch: Watch | None) -> Watch:
    return watch or Watch()


class HostArguments(TypedDict, total=False):
    """The callbacks of the program that opens a session; further arguments of `open_session`, all of them None or False by default."""

    can_use_tool: CanUseTool | None
    """Called with each call that somebody has to decide about."""
    has_approver: bool
    """Whether such calls then wait in `session.permissions.approvals`; else they are refused."""
    ask_user: AskUser | None
    """Puts an agent's questions before a person."""
    elicit: Elicit | None
    """Puts questions of MCP servers before a person; else they are declined, unless a hook answers them."""
    on_message: OnMessage | None
    """Hears of each message of an agent in the step in which it is appended."""
    watch: Watch | None
    """Callbacks for what else happens."""


@final
@attrs.frozen(kw_only=True)
class Hosted:
    """The callbacks of the program; see `HostArguments`."""

    can_use_tool: CanUseTool | None = None
    has_approver: bool = False
    ask_user: AskUser | None = None
    elicit: Elicit | None = None
    on_message: OnMessage | None = None
    watch: Watch = attrs.field(factory=Watch, converter=_watch_of)
