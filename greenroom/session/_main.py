"""The main agent of a session that names none."""

from __future__ import annotations

from typing import Final

from greenroom.agents import AgentDefinition

MAIN: Final = AgentDefinition(
    name="main",
    system_prompt="You are a careful engineer. Answer from what you read with your tools, and say what you could not find.",
)
