"""Callbacks of the program that opens a session.

Callbacks that observe may only store values and wake tasks. Callbacks that answer may wait for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypedDict, final

import attrs

from greenroom.agents import CanUseTool, OnMessage, OnStream
from greenroom.core import Event
from greenroom.hooks import OnHook
from greenroom.inbox import InboxStore
from greenroom.mcp import Elicit
from greenroom.session.assembly._run_replay import RunReplay
from greenroom.tools import AskUser

if TYPE_CHECKING:  # nothing of links is loaded unless a host is there
    from greenroom.remote.hosts import PlacedHosts


@final
@attrs.frozen(kw_only=True)
class Watch:
    """Callbacks of a session besides `on_message`; they may only store values and wake tasks."""

    on_stream: OnStream | None = None
    """Called with an agent's id and each event of a model's answer in one of its turns."""
    on_shown: OnMessage | None = None
    """Called with each message of the main agent after its `MessageDisplay` hooks, as it is to be shown; `on_message`
    was called earlier with the original and `is_shown_later`."""
    on_taken: Callable[[str], object] | None = None
    """Called with the id of each message of `session.send` when the main agent starts on it."""
    on_hook: OnHook | None = None
    """Called when the handler of a hook starts, makes progress or ends."""
    on_elicited: Callable[[str, str], object] | None = None
    """Called with the name of an MCP server and the id of its question when a user has completed it at a URL."""


class HostArguments(TypedDict, total=False):
    """The callbacks of the program that opens a session; further arguments of `open_session`, all of them None or False by default."""

    can_use_tool: CanUseTool | None
    """Called with each tool call that needs a decision."""
    has_approver: bool
    """True if such calls wait in `session.permissions.approvals` for an answer; otherwise they are refused."""
    ask_user: AskUser | None
    """Asks a person an agent's questions."""
    elicit: Elicit | None
    """Asks a person the questions of MCP servers; without it they are declined, unless a hook answers them."""
    on_message: OnMessage | None
    """Called with each message of an agent in the step in which it is appended."""
    live: Collection[type[Event]]
    """Classes of `LIVE_EVENTS` that `session.events()` carries besides the journal's; none by default."""
    store: InboxStore | None
    """Keeps what waits for the main agent; by default a file of the run folder. The program opens and closes it."""
    trusts_store: bool
    """True if nobody but the program writes that store: items in it that claim to be the user's words are."""
    turn_place: Callable[[], AbstractAsyncContextManager[object]] | None
    """Returns what each turn of the main agent enters before it takes its message, and leaves at its end, such as a place among the
    turns of several sessions that may run at once. The wait can be aborted like the turn."""
    box: str
    """The box of that store; by default the id of the session, and `main` in the file of a run folder."""
    secrets: Collection[str]
    """Secrets of the program that are masked like those of the environment."""
    masks_forms: bool
    """True if text with the form of a key or a password is masked in the results of tools, whatever files it comes from."""
    files: Mapping[str, bytes]
    """Files of the program for the run folder, by name: they are there before anything is recorded."""
    invocation: str
    """The arguments that the program was started with, as text: kept in the record of effects, so that it can be started again."""
    placed_hosts: PlacedHosts | None
    """Hosts that the program has placed, beside those of the settings."""
    replay: RunReplay | None
    """The record that the session is done again from; `greenroom.rerun` makes it."""


@final
@attrs.frozen(kw_only=True)
class Hosted:
    """The callbacks of the program; see `HostArguments`."""

    can_use_tool: CanUseTool | None = None
    has_approver: bool = False
    ask_user: AskUser | None = None
    elicit: Elicit | None = None
    on_message: OnMessage | None = None
    live: Collection[type[Event]] = ()
    store: InboxStore | None = None
    trusts_store: bool = False
    box: str = ""
    secrets: Collection[str] = attrs.field(default=(), repr=False)
    masks_forms: bool = False
    files: Mapping[str, bytes] = attrs.field(factory=dict)
    turn_place: Callable[[], AbstractAsyncContextManager[object]] | None = None
    invocation: str = attrs.field(default="", repr=False)
    placed_hosts: PlacedHosts | None = None
    replay: RunReplay | None = None
    watch: Watch = attrs.field(factory=Watch)
    """Callbacks that publish the live events; made by `LiveEvents.wire`."""
