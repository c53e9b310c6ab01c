"""The environment variables of delegation; they go before settings files.

A switch that says nothing changes nothing. A number that is none is a mistake, and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from greenroom.agents.subagents._delegation_settings import AUTO_BACKGROUND_MS, DelegationSettings
from greenroom.core import UsageError
from greenroom.core.validation import read_switch

FORK_VARIABLE: Final = "GREENROOM_FORK_SUBAGENT"
BACKGROUND_OFF_VARIABLE: Final = "GREENROOM_DISABLE_BACKGROUND_TASKS"
TIMER_VARIABLE: Final = "GREENROOM_AUTO_BACKGROUND_TASKS"
_NUMBERS: Final[Mapping[str, tuple[str, Callable[[int], float]]]] = {
    "GREENROOM_MAX_SUBAGENT_SPAWN_DEPTH": ("max_depth", int),
    "GREENROOM_MAX_CONCURRENT_SUBAGENTS": ("max_running", int),
    "GREENROOM_SUBAGENT_BG_SHELL_MAX_MS": ("shell_max_s", lambda said: said / 1000),
    "GREENROOM_ASYNC_AGENT_STALL_TIMEOUT_MS": ("stall_s", lambda said: said / 1000),
    "GREENROOM_TASK_MAX_OUTPUT_LENGTH": ("report_chars", int),
}


def moves_calls(environ: Mapping[str, str], settings: DelegationSettings) -> bool:
    """Return True if long calls of MCP servers move to the background automatically.

    They do where a person watches; without one where the switch of the timer is on; and never where nothing may.
    """
    return settings.background and (settings.interactive or read_switch(environ, TIMER_VARIABLE) is True)


def delegation_from_environment(environ: Mapping[str, str], settings: DelegationSettings) -> DelegationSettings:
    """Return settings with what variables say.

    The switch for forks opens the older way, by leaving the type out, unless the settings have another one; off, it closes both.

    Raises:
        UsageError: One that should be a number is none, or is out of range.
    """
    said: dict[str, Any] = {}
    fork = read_switch(environ, FORK_VARIABLE)
    if fork is not None:
        opened = "when_type_omitted" if settings.fork == "off" else settings.fork
        said["fork"] = opened if fork else "off"
    if read_switch(environ, BACKGROUND_OFF_VARIABLE):
        said["background"] = False
    timer = read_switch(environ, TIMER_VARIABLE)
    if timer is not None:
        said["auto_background_ms"] = (settings.auto_background_ms or AUTO_BACKGROUND_MS) if timer else 0
    for name, (field, read) in _NUMBERS.items():
        text = environ.get(name, "").strip()
        if not text:
            continue
        if not text.isdecimal():
            raise UsageError(f"{name} is a whole number, not {text!r}")
        number: dict[str, Any] = {field: read(int(text))}
        try:
            settings = attrs.evolve(settings, **number)
        except ValueError:
            raise UsageError(f"{name} is out of range: {text}") from None
    return attrs.evolve(settings, **said) if said else settings
