"""An agent that starts one in the background, which starts another one and waits for it."""

from __future__ import annotations

from pathlib import Path

from greenroom.models import AnswerLike, Call, ModelRequest
from tests.session.teamwork import open_teamwork


def lead(request: ModelRequest) -> AnswerLike:
    said = sum(message.role == "assistant" for message in request.messages)
    if said == 0:
        return Call("Agent", {"description": "go", "prompt": "Find out.", "run_in_background": True})
    if said == 1:
        return Call("Bash", {"command": "true", "run_in_background": False})
    return f"Heard {sum('task-notification' in message.text for message in request.messages)}."


def child(request: ModelRequest) -> AnswerLike:
    said = sum(message.role == "assistant" for message in request.messages)
    if "Deeper" in request.messages[0].text:
        return Call("Glob", {"pattern": f"*.{said}"}) if said < 2 else "The ground."
    if said < 3:
        return Call("Glob", {"pattern": f"*.{said}"})
    if said == 3:
        return Call("Agent", {"description": "deeper", "prompt": "Deeper.", "run_in_background": False})
    return "Found."


async def record_nested(folder: Path) -> Path:
    """Run the agents in a folder, and return the run folder."""
    async with open_teamwork(folder, lead, pages={"general-purpose": child}) as session:
        await session.run("Begin.")
        await session.wait_quiet()
    return session.run_folder
