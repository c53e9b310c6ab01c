"""The way back of the result of a skill that runs as an agent of its own.

Without a person who could be told later, a skill is waited for. An assistant waits for nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias, final

import attrs

SkillForkSetting: TypeAlias = Literal["wait", "background"]
"""The setting `skill_fork`: whether a skill with `context: fork` is waited for unless it says otherwise."""


class Carrier(StrEnum):
    """The carrier of a result."""

    OUTPUT = "output"
    """The command's output, or the result of the call: it is waited for."""
    NOTICE = "notice"
    """A notice to the caller; nobody waits."""
    HIDDEN_PROMPT = "hidden prompt"
    """A prompt that is handed in for the session and shown to nobody; nobody waits."""


@final
@attrs.frozen(kw_only=True)
class SkillSituation:
    """The facts that decide how the result of a skill comes back."""

    setting: SkillForkSetting = "wait"
    background_enabled: bool = True
    """True if agents may run in the background at all."""
    is_interactive: bool = False
    """True if a person watches."""
    is_assistant: bool = False
    is_main: bool = True
    """True if the session's own agent calls, or the user."""
    runs_already: bool = False
    """True if the same skill runs."""
    is_scheduled: bool = False
    """True if a schedule began the turn that calls."""


def choose_carrier(is_background: bool | None, situation: SkillSituation) -> Carrier:  # noqa: FBT001 - what the skill says
    """Return how the result of a skill comes back.

    Args:
        is_background: What the skill says; None for nothing.
        situation: The rest.
    """
    if not situation.background_enabled:
        return Carrier.OUTPUT
    if situation.is_assistant:
        return Carrier.HIDDEN_PROMPT if situation.is_main else Carrier.NOTICE
    is_wanted = situation.setting == "background" if is_background is None else is_background
    is_held = situation.runs_already or situation.is_scheduled or not situation.is_interactive
    return Carrier.NOTICE if is_wanted and not is_held else Carrier.OUTPUT
