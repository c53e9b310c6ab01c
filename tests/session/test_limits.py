"""The setting `limits` in a whole session: what the model and people are told, and what is on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.core import TurnFailed
from greenroom.models import Call, PlaybookModel, ScriptedModel
from greenroom.session import Session, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import in_order
from tests.session.scripted import said

READ = Call("Read", {"file_path": "nowhere.txt"})


def recorded(session: Session, kind: str) -> list[dict[str, Any]]:
    """Return the events of a kind in a session's journal."""
    lines = map(json.loads, (session.run_folder / "journal.jsonl").read_text().splitlines())
    return [line for line in lines if line.get("ev") == kind]


@pytest.mark.parametrize("is_aside", [False, True])
async def test_command_without_end_is_killed_and_the_model_told(project: Path, is_aside: bool) -> None:
    call = Call("Bash", {"command": "trap '' TERM; exec yes", **({"run_in_background": True} if is_aside else {})})
    async with open_session(
        model=PlaybookModel({"main": in_order(call)}),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings={"permissions": {"allow": ["Bash"]}, "limits": {"command_output_bytes": 200_000}},
    ) as session:
        await session.run("Go.")
        with trio.fail_after(30):
            for shell in session.tasks.table.running():
                await shell.wait_finished()
            await session.wait_quiet()
        told = "\n".join(str(message) for message in said(session))

    assert "printed more than 200000 bytes" in told
    (end,) = recorded(session, "task.end")
    assert (end["state"], "printed more than 200000 bytes" in end["error"]) == ("failed", True)
    outputs = [path.stat().st_size for path in (session.run_folder / "tasks").glob("*.output")]
    assert outputs == [200_000]


@pytest.mark.parametrize(
    ("settings", "times"), [({}, 10), ({"limits": {"repeated_calls_end": 4, "repeated_calls_noted": 2}}, 4)]
)
async def test_call_that_fails_in_the_same_way_ends_the_turn(
    project: Path, settings: dict[str, Any], times: int
) -> None:
    model = ScriptedModel([READ] * times + ["heard"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        with pytest.raises(TurnFailed, match=f"Read failed {times} times with the same input"):
            await session.run("Go.")
        reminders = [message.text for message in said(session) if "Do not repeat the call" in message.text]
        answer = await session.run("And now?")

    assert answer.text == "heard"
    assert len(reminders) == times - settings.get("limits", {}).get("repeated_calls_noted", 3)
    assert [event["source"] for event in recorded(session, "agent.noticed")] == ["repetition"]


async def test_limit_of_zero_never_ends_a_turn(project: Path) -> None:
    model = ScriptedModel([READ] * 30 + ["enough"])
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings={"limits": {"repeated_calls_end": 0}},
    ) as session:
        assert (await session.run("Go.")).text == "enough"
