"""Answers of people, outcomes of hooks and results of commands come from the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom import rerun
from greenroom.agents import PermissionQuestion
from greenroom.hooks import HookEvent, HookOutcome, Permission, read_outcome
from greenroom.hooks._outcomes import ElicitationReply, Extras, PermissionDecision, ReplyAction
from greenroom.models import AnswerLike, Call, Model, ModelRequest, PlaybookModel
from greenroom.permissions import Allow, Deny
from greenroom.session import open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.reruns.recorded_team import asking

PRE = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "Mind the gap."}}


def work(request: ModelRequest) -> AnswerLike:
    """Run two commands, write a file, and end."""
    steps = (
        [Call("Bash", {"command": "echo one; echo two"}), Call("Bash", {"command": "false"})],
        Call("Write", {"file_path": "new.txt", "content": "new\n"}),
        "Done.",
    )
    return steps[len(request.messages) // 2]


async def record(model: Model, folder: Path, answers: Mapping[str, Allow | Deny]) -> Path:
    hook = {"hooks": [{"type": "command", "command": f"echo '{json.dumps(PRE)}'"}]}

    async def can_use_tool(question: PermissionQuestion) -> Allow | Deny:
        return answers[question.tool]

    settings = {"record": "effects", "hooks": {"PreToolUse": [hook]}}
    with trio.fail_after(60):
        async with open_session(
            model=model,
            cwd=folder,
            runs=folder / "runs",
            tools=STANDARD_TOOLS,
            settings=settings,
            is_trusted=True,
            can_use_tool=can_use_tool,
        ) as session:
            await session.run("Begin.")
    return session.run_folder


@pytest.mark.parametrize("write", [Allow(), Deny(message="not that file"), Deny(message="stop", interrupts=False)])
def test_answers_commands_and_hooks_are_served(tmp_path: Path, write: Allow | Deny) -> None:
    """Nobody is asked, and no command or hook runs: the hooks of today are other ones, and the folder is empty."""
    answers = {"Bash": Allow(), "Write": write}
    run = trio.run(record, PlaybookModel({"main": work}), tmp_path, answers)
    lines = [json.loads(line) for line in (run / "effects.jsonl").read_text().splitlines() if line]
    assert {"answer", "hook", "tool"} <= {line.get("of") for line in lines}
    (tmp_path / "new.txt").unlink(missing_ok=True)
    mark = tmp_path / "ran"
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}

    again = rerun(run, asking("Begin."), tools=STANDARD_TOOLS, settings={"hooks": hooks}, is_trusted=True)

    assert again.difference is None
    assert not mark.exists()
    assert not (tmp_path / "new.txt").exists()


def test_an_outcome_of_hooks_survives_its_record() -> None:
    outcome = HookOutcome(
        event=HookEvent.PRE_TOOL_USE,
        block_reasons=("a", "b"),
        permission=Permission.ASK,
        updated_input={"x": [1]},
        contexts=("c",),
        decision=PermissionDecision(is_allowed=True, updated_permissions=({"type": "x"},)),
        extras=Extras(watch_paths=("p",), reply=ElicitationReply(action=ReplyAction.ACCEPT, content={"a": 1})),
    )

    plain: dict[str, Any] = json.loads(json.dumps(attrs.asdict(outcome)))
    assert read_outcome(plain) == outcome
