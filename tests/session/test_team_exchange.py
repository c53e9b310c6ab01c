"""Two teammates that only answer each other: bounded, and the lead hears of it once."""

from __future__ import annotations

from pathlib import Path

from greenroom.agents import AgentDefinition
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import open_session
from greenroom.trace import find_run

LIMIT = 6


def lead(request: ModelRequest) -> AnswerLike:
    return Call("SendMessage", {"to": "ann", "message": "Greet bob."}) if len(request.messages) == 1 else "ok"


def chat(name: str, other: str) -> object:
    def say(request: ModelRequest) -> AnswerLike:
        last = request.messages[-1]
        if last.role == "user" and not any(hasattr(block, "tool_use_id") for block in last.content):
            return Call("SendMessage", {"to": other, "message": f"Hello from {name}."})
        return "Said."

    return say


async def test_endless_exchange_of_teammates_ends_and_is_told_once(tmp_path: Path) -> None:
    model = PlaybookModel({"lead": lead, "ann": chat("ann", "bob"), "bob": chat("bob", "ann")})  # type: ignore[dict-item]
    async with open_session(
        model=model,
        cwd=tmp_path,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="lead"),
        permission_mode="bypassPermissions",
        settings={"teams": {"messages_in_a_row": LIMIT}},
    ) as session:
        async with session.open_team("t") as team:
            for name in ("ann", "bob"):
                await team.spawn(name, definition=AgentDefinition(name=name))
            await session.run("Go.")
            await session.wait_quiet()

    lines = (find_run("last", tmp_path / "runs")).read_text(encoding="utf-8").splitlines()
    between = [line for line in lines if '"mail.sent"' in line and '"sender":"team-lead"' not in line]
    assert len(between) == LIMIT
    assert sum('"mail.held"' in line for line in lines) == 1
    transcript = next((tmp_path / "runs").glob("2*/transcripts/main.jsonl")).read_text(encoding="utf-8")
    assert transcript.count("without any other work") == 1
