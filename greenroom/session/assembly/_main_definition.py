"""Which agent is the main one of a session, and the one that it is where nobody names any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from greenroom.agents import MAIN_NAME, AgentDefinition
from greenroom.agents.definitions import Definitions
from greenroom.core import UsageError
from greenroom.session.settings._session_settings import SessionSettings

MainFor: TypeAlias = Callable[[Definitions, SessionSettings], AgentDefinition]
"""Picks the main agent, or makes it of one of those that there are, given the settings."""
MAIN: Final = AgentDefinition(
    name=MAIN_NAME,
    system_prompt="You are a careful engineer. Answer from what you read with your tools, and say what you could not find.",
)


def main_of_settings(found: Definitions, settings: SessionSettings) -> AgentDefinition:
    """Return the main agent of a session for which nobody named one: that of the setting `agent`, else the one without a definition.

    Raises:
        UsageError: The agent is unknown.
    """
    if not settings.agent:
        return MAIN
    try:
        return found.find(settings.agent)
    except UsageError as error:
        raise UsageError(f"the setting `agent`: {error}") from None


def chosen_main(
    main: AgentDefinition | str | MainFor, found: Definitions, settings: SessionSettings
) -> AgentDefinition:
    """Return the main agent that a program asked for; where it asked for none, that of the settings.

    Raises:
        UsageError: The agent is unknown.
    """
    if isinstance(main, AgentDefinition):
        return main if main is not MAIN else main_of_settings(found, settings)
    return found.find(main) if isinstance(main, str) else main(found, settings)
