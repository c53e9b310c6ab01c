"""One agent of a run that works on a host: the wish for it, its state here, its state as an earlier process left it."""

from __future__ import annotations

from typing import Any, final

import attrs
import trio

from greenroom.models.budgets import Spent
from greenroom.remote.hosts._host_messages import LaunchAgent
from greenroom.remote.hosts._remote_record import RemoteRecord
from greenroom.tasks import Task, TaskInfo, TaskState


@final
@attrs.frozen(kw_only=True)
class RemoteOrder:
    """The wish for an agent on a host."""

    definition: dict[str, Any]
    """As a JSON object; see `LaunchAgent`."""
    description: str
    prompt: str
    model: str = ""
    owner: str
    """Id of the agent that is notified of its end."""
    tool_use_id: str = ""


@final
@attrs.frozen(kw_only=True)
class LeftRemote:
    """A remote agent of an earlier process of the run."""

    record: RemoteRecord
    info: TaskInfo
    state: TaskState
    cause: str
    """The requester of its end; empty if nobody was."""
    size: int
    """Bytes of its output that are here."""


@final
@attrs.define(eq=False, kw_only=True)
class RemoteAgent:
    """A remote agent of this process, as long as its host is to be asked or told something."""

    host: str
    task: Task
    order: LaunchAgent
    offset: int = 0
    """Bytes of its output that are here."""
    version: int = 0
    is_taken: bool = False
    """True once the host has said that it has the order."""
    is_launched: bool = False
    """True once its start was reported as a success: its end is a notice from then on."""
    is_stopping: bool = False
    """True once its end has been requested; an order that the host does not have is not sent any more."""
    following: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    """Cancelled when its task ends."""
    is_late: bool = False
    """True if its task has ended because nothing was heard from its host."""
    spent: Spent = attrs.field(factory=Spent)
    """Its usage that counts here already."""
    is_over: trio.Event = attrs.field(factory=trio.Event)
    """Set when nothing is to be said to the host any more."""
