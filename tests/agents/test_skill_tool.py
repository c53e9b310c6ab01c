"""The tool Skill, and skills that an agent starts with."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Prompt, SkillTool, preload_skills
from greenroom.models import Call, ScriptedModel, ToolResultBlock
from greenroom.skills import Rendered, RenderPorts, Skill
from greenroom.skills._skill_catalog import resolve_skills
from greenroom.tools import InvalidInput, ToolContext, ToolError
from tests.agents.situations import open_stage
from tests.skills.samples import HERE, skill
from tests.tools.calls import call, context

PORTS = RenderPorts(cwd=HERE, project=HERE, is_trusted=True)
FIX = skill("Fix $ARGUMENTS.", description="Fixes.", allowed_tools=("Bash(git *)",))
USERS = skill("Deploy.", name="deploy", for_models=False)
FORK = skill("Audit.", name="audit", is_fork=True)
BROKEN = skill("!`rm`", name="broken")


def tool_for(*skills: Skill) -> SkillTool:
    found = resolve_skills(skills)
    return SkillTool(skills=lambda: found, ports=lambda _: PORTS)


async def test_the_text_of_a_skill_is_the_answer() -> None:
    tool = tool_for(FIX, USERS)

    assert tool.description.endswith("Skills:\n- fix: Fixes.")
    text = await call(tool, HERE, skill="fix", args="the parser")
    assert text == f"Base directory for this skill: {FIX.folder}\n\nFix the parser."
    assert "loaded already" in await call(tool, HERE, skill="/fix", args="the parser")
    assert (await call(tool, HERE, skill="fix")).endswith("Fix .")


async def test_what_a_skill_grants_is_handed_on_first() -> None:
    granted: list[Rendered] = []

    async def grant(rendered: Rendered) -> None:
        granted.append(rendered)

    found = resolve_skills([FIX, BROKEN])
    tool = SkillTool(skills=lambda: found, ports=lambda _: PORTS, on_invoked=grant)

    await call(tool, HERE, skill="fix")
    with pytest.raises(ToolError, match="Shell command permission check failed"):
        await call(tool, HERE, skill="broken")

    assert [(one.skill.name, one.allowed_tools) for one in granted] == [("fix", ("Bash(git *)",))]


async def test_a_skill_for_users_is_refused_to_models() -> None:
    """Behaviours (4), line 7."""
    with pytest.raises(ToolError, match="for users only"):
        await call(tool_for(USERS), HERE, skill="deploy")

    preloaded = await preload_skills(
        ["deploy", "gone", "broken", "fix", "fix"], resolve_skills([USERS, FIX, BROKEN]), PORTS
    )

    assert len(preloaded.skipped) == 3
    assert [one.skill for one in preloaded.rendered] == [FIX]
    assert str(FIX.folder) in preloaded.text, "its files can be reached"
    assert (await preload_skills([], resolve_skills([]), PORTS)).text == ""


@pytest.mark.parametrize(("name", "hint"), [("fixx", "did you mean fix?"), ("other", "there are: fix, audit")])
async def test_an_unknown_skill_is_told_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(ToolError) as caught:
        await call(tool_for(FIX, USERS, FORK), HERE, skill=name)

    assert str(caught.value).endswith(hint)


async def test_a_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInput):
        await call(tool_for(FIX), HERE, name="fix")


async def test_a_skill_that_forks_is_handed_on() -> None:
    async def fork(rendered: Rendered, ctx: ToolContext) -> str:
        return f"{ctx.tool_use_id}: {rendered.skill.agent}"

    found = resolve_skills([FORK])
    tool = SkillTool(skills=lambda: found, ports=lambda _: PORTS, fork=fork)

    assert await call(tool, HERE, skill="audit") == "toolu_1: general-purpose"
    assert tool.invoked.texts_after_compaction() == ()
    with pytest.raises(ToolError, match="no agent can be started"):
        await call(tool_for(FORK), HERE, skill="audit")


async def test_a_turn_takes_up_a_skill(autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Skill", {"skill": "fix", "args": "it"}), Call("Skill", {"skill": "deploy"}), "Done."])

    async with open_stage(model, tools=[tool_for(FIX, USERS)]) as stage:
        with trio.fail_after(60):
            answer = await stage.agent.ask(Prompt("Go."), timeout_s=math.inf)

    assert answer.text == "Done."
    results = [block for message in stage.messages for block in message.content if isinstance(block, ToolResultBlock)]
    assert [(str(result.content).endswith("Fix it."), result.is_error) for result in results] == [
        (True, False),
        (False, True),
    ]


async def test_what_it_does_is_shown() -> None:
    shown: list[str] = []

    await tool_for(FIX).call({"skill": "fix"}, context(Path("/"), shown=shown))

    assert shown == ["Taking up fix"]
