"""The system prompt of an agent, from its parts.

Parts that never change come first, so that prompts stay cached. A part that is empty leaves nothing behind.
"""

from __future__ import annotations

from greenroom.agents._definition import AgentDefinition


def compose_system_prompt(
    definition: AgentDefinition, *, environment: str = "", instructions: str = "", memory: str = "", skills: str = ""
) -> str:
    """Return what the model is told before the conversation.

    Args:
        definition: Of the agent; one that reads no instructions gets none.
        environment: Where it works, on what, on which day.
        instructions: What `render_instructions` made.
        memory: What `render_memory` made.
        skills: What `preload_skills` made.
    """
    wanted = instructions if definition.reads_instructions else ""
    parts = (definition.system_prompt, environment, wanted, memory, skills)
    return "\n\n".join(part.strip() for part in parts if part.strip())
