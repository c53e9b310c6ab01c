"""Tools and models that a skill gives and takes away, through whole turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from greenroom.core import UsageError
from greenroom.models import Call, ScriptedModel
from greenroom.session import Session, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.scripted import results, said
from tests.session.skills import skill


async def turns(project: Path, script: list[Any], *prompts: str, **options: Any) -> tuple[Session, ScriptedModel]:
    model = ScriptedModel(script, keeps_requests=True)
    settings = options.pop("settings", {"permissions": {"allow": ["Skill"]}})
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        sources=["project"],
        is_trusted=True,
        settings=settings,
        **options,
    ) as session:
        for prompt in prompts:
            await session.run(prompt)
    return session, model


WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
TAKE_UP = Call("Skill", {"skill": "release"})


async def test_what_a_skill_allows_runs_unasked_in_that_turn_and_not_in_the_next(project: Path) -> None:
    """Behaviours (4), line 3. Mechanism: `Guard` decides by the policy with the turn's grants."""
    skill(project, "release", "allowed-tools: Write\n")
    other = Call("Write", {"file_path": "b.txt", "content": "b"})
    session, _ = await turns(project, [TAKE_UP, WRITE, "one", other, "two"], "Release.", "And on.")
    assert [result.is_error for result in results(session)] == [False, False, True]


async def test_what_a_skill_takes_away_is_refused_until_the_user_says_something(project: Path) -> None:
    """The list of tools stays as it is."""
    skill(project, "release", "disallowed-tools: Bash\n")
    bash = Call("Bash", {"command": "echo a"})
    session, model = await turns(project, [TAKE_UP, bash, "one", bash, "two"], "Release.", "And on.")
    assert [result.is_error for result in results(session)] == [False, True, False]
    assert "the skill release takes it away" in results(session)[1].content
    assert len({tuple(tool.name for tool in request.tools) for request in model.requests}) == 1


async def test_a_skill_chooses_model_and_effort_for_the_rest_of_the_turn(project: Path) -> None:
    skill(project, "release", "model: haiku\neffort: low\n")
    _, model = await turns(project, [TAKE_UP, "one", "two"], "Release.", "And on.")
    first, second, third = model.requests
    assert (first.model, first.effort) == ("", None)
    assert "haiku" in second.model
    assert second.effort == "low"
    assert (third.model, third.effort) == ("", None)


async def test_hooks_of_a_skill_run_from_then_on(project: Path) -> None:
    hooks = 'hooks: {PreToolUse: [{matcher: Write, hooks: [{type: command, command: "echo no >&2; exit 2"}]}]}\n'
    skill(project, "release", hooks)
    settings = {"permissions": {"allow": ["Skill", "Write"]}}
    script = [WRITE, TAKE_UP, WRITE, "one", WRITE, "two"]
    session, _ = await turns(project, script, "Release.", "And on.", settings=settings)
    assert [result.is_error for result in results(session)] == [False, False, True, True]


async def test_a_user_calls_a_skill_by_its_name(project: Path) -> None:
    """The text takes the place of what was typed, and its grants hold in that turn."""
    skill(project, "fix", "allowed-tools: Write\n", "Fix $0|$1|$2|$ARGUMENTS.")
    session, _ = await turns(project, [WRITE, "done"], '/fix 12 "a b"')
    assert 'Fix 12|a b|$2|12 "a b".' in said(session)[0].text
    assert [result.is_error for result in results(session)] == [False]


@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        ("user-invocable: false\n", "Do it.", "for models only"),
        ("context: fork\nagent: nobody\n", "Do it.", "nobody"),
        ("", "!`exit 3`", "/fix: "),
    ],
)
async def test_a_skill_that_cannot_be_taken_up_is_one_line_for_the_user(
    project: Path, head: str, body: str, words: str
) -> None:
    skill(project, "fix", head, body)
    with pytest.raises(UsageError, match=words):
        await turns(project, [], "/fix it")


async def test_what_looks_like_a_path_is_no_skill(project: Path) -> None:
    session, _ = await turns(project, ["done"], "/usr/bin is full")
    assert said(session)[0].text == "/usr/bin is full"
