"""A small team on a playbook: a lead that puts items on the board, mates that look something up and report."""

from __future__ import annotations

from pathlib import Path

from greenroom.agents import AgentDefinition
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import Session
from greenroom.teams import ItemStatus

LEAD = AgentDefinition(name="lead", system_prompt="You lead.")
MATE = AgentDefinition(name="mate", system_prompt="You help.")
ITEMS = 6


def lead(request: ModelRequest) -> AnswerLike:
    if not any(message.role == "assistant" for message in request.messages):
        return [Call("TaskCreate", {"subject": f"item {n}", "description": "look"}) for n in range(ITEMS)]
    if f"All {ITEMS} tasks" in request.messages[-1].text:
        found = [message.text for message in request.messages if "teammate-message" in message.text]
        return Call("WriteReport", {"content": f"# {len(found)} messages\n"})
    return "I wait."


def mate(request: ModelRequest) -> AnswerLike:
    if request.messages[-1].text.startswith("Task #"):
        return Call("Glob", {"pattern": "*.txt"})
    item = [message.text for message in request.messages if message.text.startswith("Task #")][-1].split()[1][1:]
    last = request.messages[-2].tool_uses
    if last and last[0].name == "Glob":
        return Call("TaskUpdate", {"taskId": item, "status": "completed"})
    if last and last[0].name == "TaskUpdate":
        return Call("SendMessage", {"to": "lead", "message": f"item {item}: one file"})
    return "I am done."


def playbook(*, wait_s: float = 0.0) -> PlaybookModel:
    return PlaybookModel({"lead": lead, "mate": mate}, wait_s=wait_s)


def make_folder(path: Path) -> Path:
    path.mkdir()
    (path / "a.txt").write_text("a\n")
    return path


async def survey(session: Session, *, mates: int = 3) -> tuple[ItemStatus, ...]:
    """Run a team until it is quiet; return the states of its items."""
    async with session.open_team("survey") as team:
        for number in range(mates):
            await team.spawn(f"mate-{number}", definition=MATE)
        await session.run("Survey the folder.")
        await session.wait_quiet()
        return tuple(item.status for item in team.board.items())
