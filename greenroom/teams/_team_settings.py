"""Settings of teams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked, read_switch
from greenroom.teams._exchange import MAX_MESSAGES


class Conversations(StrEnum):
    """What the teammates of a team know of their earlier items."""

    KEEP = "keep"
    """Everything: a teammate has one conversation, which each item makes longer."""
    FRESH = "fresh"
    """Nothing: each item begins a conversation, so its description has to stand by itself."""


def read_conversations(value: Conversations | str) -> Conversations:
    """Return a mode of conversations by its name.

    Raises:
        UsageError: There is no such mode.
    """
    try:
        return Conversations(value)
    except ValueError:
        raise UsageError(
            f"conversations must be {' or '.join(map(repr, map(str, Conversations)))}, got {value!r}"
        ) from None


TEAMS: Final = "GREENROOM_EXPERIMENTAL_AGENT_TEAMS"
TEARDOWN_MS: Final = "GREENROOM_TEAM_TEARDOWN_PARK_TIMEOUT_MS"
TEARDOWN_S: Final = 10.0
SHUTDOWN_S: Final = 60.0
_LEAST_S, _MAX_S = 1.0, 60.0


def _in_range(_: object, __: object, value: float) -> None:
    if not _LEAST_S <= value <= _MAX_S:
        raise ValueError(f"must be {_LEAST_S:g} to {_MAX_S:g}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class TeamSettings:
    """Settings of teams in a session; by default, models cannot create teams."""

    enabled: bool = False
    """True if the main agent may create a team and spawn teammates; `GREENROOM_EXPERIMENTAL_AGENT_TEAMS` takes
    precedence.
    """
    implicit: bool = False
    """True if an interactive session is itself a team, so that an agent with a name joins it."""
    delegate_mode: bool = False
    """True if the lead has only the tools to spawn, message and end teammates, and to edit the board."""
    agent_busy: bool = False
    """True if a member that has an open item may not claim another one."""
    teardown_s: float = attrs.field(default=TEARDOWN_S, validator=_in_range)
    """Seconds that a team has to end when it is closed, 1 to 60; after that, its remaining members are killed."""
    shutdown_s: float = attrs.field(default=SHUTDOWN_S, validator=attrs.validators.ge(0))
    """Seconds that a teammate has to end after a shutdown request; after that, it is ended anyway. 0 for no
    deadline."""

    messages_in_a_row: int = attrs.field(default=MAX_MESSAGES, validator=attrs.validators.ge(0))
    """Maximum number of messages between teammates without any other work; further ones are refused, and the lead is
    notified. 0 for no limit.
    """

    @property
    def most_messages(self) -> float:
        """The same; infinite for no limit."""
        return self.messages_in_a_row or math.inf

    @property
    def shutdown_deadline_s(self) -> float:
        """The same; infinite for no limit."""
        return self.shutdown_s or math.inf


def teams_from_environment(environ: Mapping[str, str], settings: TeamSettings) -> TeamSettings:
    """Return settings with the environment's values, which take precedence over files.

    Raises:
        UsageError: A number is invalid or out of range.
    """
    said: dict[str, Any] = {}
    switch = read_switch(environ, TEAMS)
    if switch is not None:
        said["enabled"] = switch
    text = environ.get(TEARDOWN_MS, "").strip()
    if text:
        if not (text.isdecimal() and _LEAST_S <= int(text) / 1000 <= _MAX_S):
            raise UsageError(f"{TEARDOWN_MS} must be a number of milliseconds, 1000 to 60000, got {text!r}")
        said["teardown_s"] = int(text) / 1000
    return attrs.evolve(settings, **said) if said else settings
