"""The main agent of a session: the one that a program asks for, or that of the settings."""

from __future__ import annotations

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import Definitions
from greenroom.core import UsageError
from greenroom.session.assembly._session_spec import MAIN, MainFor
from greenroom.session.settings._session_settings import SessionSettings


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
