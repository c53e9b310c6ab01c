"""The main agent of a session that names none."""

from __future__ import annotations

from typing import Final

from greenroom.agents import MAIN_NAME, AgentDefinition

MAIN: Final = AgentDefinition(
    name=MAIN_NAME,
    system_prompt="You are a careful engineer. Answer from what you read with your tools, and say what you could not find.",
)
