"""How teams work in a session. Must not know: files, sessions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError, checked, read_switch
from greenroom.teams._exchange import MAX_MESSAGES

TEAMS: Final = "GREENROOM_EXPERIMENTAL_AGENT_TEAMS"
TEARDOWN_MS: Final = "GREENROOM_TEAM_TEARDOWN_PARK_TIMEOUT_MS"
TEARDOWN_S: Final = 10.0
SHUTDOWN_S: Final = 60.0
_LEAST_S, _MAX_S = 1.0, 60.0


def _in_range(_: object, __: object, value: float) -> None:
    if not _LEAST_S <= value <= _MAX_S:
        raise ValueError(f"has to be {_LEAST_S:g} to {_MAX_S:g}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class TeamSettings:
    """How teams work in a session; without a word of anybody, models make none."""

    enabled: bool = False
    """Whether the main agent may make a team and let teammates join; `GREENROOM_EXPERIMENTAL_AGENT_TEAMS` goes before this."""
    implicit: bool = False
    """Whether an interactive session is a team by itself, so that an agent that is given a name joins it (agents 7.3)."""
    delegate_mode: bool = False
    """Whether a lead keeps only the tools to spawn, write, end and work on the board (agents 7.97)."""
    agent_busy: bool = False
    """Whether a member that has an open item may not claim another one (agents 7.75)."""
    teardown_s: float = attrs.field(default=TEARDOWN_S, validator=_in_range)
    """Seconds that a team gets to end when it is closed, 1 to 60; then whoever is left is killed."""
    shutdown_s: float = attrs.field(default=SHUTDOWN_S, validator=attrs.validators.ge(0))
    """Seconds that a mate has that was asked to end; then it is ended whatever it says. 0: its word is waited for."""

    messages_in_a_row: int = attrs.field(default=MAX_MESSAGES, validator=attrs.validators.ge(0))
    """Messages that teammates may send each other without any other work; further ones are refused, and the lead is told. 0 for no limit."""

    @property
    def most_messages(self) -> float:
        """The same; infinite for none."""
        return self.messages_in_a_row or math.inf

    @property
    def shutdown_deadline_s(self) -> float:
        """The same; infinite for none."""
        return self.shutdown_s or math.inf


def teams_from_environment(environ: Mapping[str, str], settings: TeamSettings) -> TeamSettings:
    """Return settings with what variables say: they come before files.

    Raises:
        UsageError: One that should be a number is none, or is out of range.
    """
    said: dict[str, Any] = {}
    switch = read_switch(environ, TEAMS)
    if switch is not None:
        said["enabled"] = switch
    text = environ.get(TEARDOWN_MS, "").strip()
    if text:
        if not (text.isdecimal() and _LEAST_S <= int(text) / 1000 <= _MAX_S):
            raise UsageError(f"{TEARDOWN_MS} is a number of milliseconds, 1000 to 60000, not {text!r}")
        said["teardown_s"] = int(text) / 1000
    return attrs.evolve(settings, **said) if said else settings
