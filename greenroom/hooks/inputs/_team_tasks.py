"""Inputs of the events of a team and its task board."""

from __future__ import annotations

from typing import ClassVar, final

import attrs

from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput


@attrs.frozen(kw_only=True)
class _TaskInput(HookInput):
    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


@final
@attrs.frozen(kw_only=True)
class TaskCreatedInput(_TaskInput):
    """An item was added to the board."""

    event: ClassVar[HookEvent] = HookEvent.TASK_CREATED


@final
@attrs.frozen(kw_only=True)
class TaskCompletedInput(_TaskInput):
    """An item is about to be completed, by a call or because its owner ended a turn."""

    event: ClassVar[HookEvent] = HookEvent.TASK_COMPLETED

    on_idle: bool = attrs.field(default=False, metadata={"is_encoded": False})
    """True if a teammate's turn ended: a refusal of a prompt then ends the teammate. Not part of the JSON."""


@final
@attrs.frozen(kw_only=True)
class TeammateIdleInput(HookInput):
    """A teammate is about to wait for mail."""

    event: ClassVar[HookEvent] = HookEvent.TEAMMATE_IDLE

    teammate_name: str
    team_name: str
