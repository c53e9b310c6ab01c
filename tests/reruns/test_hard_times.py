"""Runs in which something went wrong, and runs that wait for somebody, are done again in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom import AGENT_TOOLS, rerun, tool
from greenroom.agents import PermissionQuestion
from greenroom.core import TurnKilled
from greenroom.effects import Difference
from greenroom.models import Call, Model, PlaybookModel, ScriptedModel, ScriptStep
from greenroom.permissions import Allow
from greenroom.session import MAIN, SCHEDULE_TOOLS, Session, open_session
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import QuestionAnswers, QuestionRequest
from greenroom.tools.builtin import READ_ONLY_TOOLS, STANDARD_TOOLS
from tests.agents.pages import in_order, kind
from tests.models.situations import provider_error
from tests.reruns.outside import watched_outside
from tests.reruns.recorded_team import SlowModel
from tests.teams.plans import PLAN, deciding, write

pytestmark = pytest.mark.promise("RR-2")

Program = Callable[[Session], Awaitable[None]]
LOOK = Call("Glob", {"pattern": "*"})


def difference(folder: Path, model: Model, program: Program, **opening: Any) -> Difference | None:
    """Record a session in virtual time, do it again, and return the difference."""
    folder.mkdir(exist_ok=True)
    settings = {"record": "effects", **opening.pop("settings", {})}

    async def record() -> Path:
        async with open_session(
            model=model, cwd=folder, runs=folder / "runs", ports=virtual_ports(), settings=settings, **opening
        ) as session:
            await program(session)
        return session.run_folder

    run = run_virtual(record).result
    with watched_outside() as outside:
        again = rerun(run, program, settings=settings, **opening)
    assert outside == []
    assert again.tokens == 0
    return again.difference


async def begin(session: Session) -> None:
    await session.run("Begin.")


def test_a_storm_of_refusals_and_a_cut_answer(tmp_path: Path) -> None:
    overloaded = [provider_error("overloaded")] * 4
    cut = ScriptStep(answer="Half an answer, and more.", error=provider_error("server_error"), error_after=1)
    script: list[Any] = [*overloaded, [LOOK], cut, provider_error("overloaded"), "Done."]
    settings = {"models": {"retries": {"attempts": 9}}}

    assert difference(tmp_path / "p", ScriptedModel(script), begin, settings=settings) is None


@tool(read_only=True)
async def slow(within_s: float) -> str:
    """Take ten seconds, or fail before."""
    with trio.fail_after(within_s):
        await trio.sleep(10)
    return "done"


def test_a_tool_that_times_out(tmp_path: Path) -> None:
    calls = [Call("Slow", {"within_s": 3}), Call("Slow", {"within_s": 30})]
    model = PlaybookModel({"main": in_order(calls, "Done.")})
    opening = {"tools": (slow,), "settings": {"permissions": {"allow": ["Slow"]}}}

    assert difference(tmp_path / "p", model, begin, **opening) is None


@pytest.mark.parametrize("after_s", [0.5, 2.0, 6.0])
def test_a_turn_that_is_aborted(tmp_path: Path, after_s: float) -> None:
    """In the middle of an answer, or of a batch of calls; the next turn knows of it."""
    calls = [Call("Slow", {"within_s": 2}), Call("Slow", {"within_s": 30})]
    model = PlaybookModel({"main": in_order(calls, "Done.", "Again.")}, wait_s=1)
    opening = {"tools": (slow,), "settings": {"permissions": {"allow": ["Slow"]}}}

    async def program(session: Session) -> None:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with pytest.raises(TurnKilled):
                    await session.run("Begin.")

            nursery.start_soon(run)
            await trio.sleep(after_s)
            session.interrupt("enough")
        await session.run("Go on.")

    assert difference(tmp_path / "p", model, program, **opening) is None


def test_agents_below_agents_of_which_one_fails(tmp_path: Path) -> None:
    def ask(prompt: str, *, aside: bool = False) -> Call:
        return Call(
            "Agent", {"description": prompt, "prompt": prompt, "subagent_type": "m", "run_in_background": aside}
        )

    middle = in_order([LOOK, Call("Agent", {"description": "l", "prompt": "deep", "subagent_type": "l"})], "Middle.")
    pages = {"main": in_order([ask("one"), ask("two", aside=True)], "Waiting."), "m": middle, "l": in_order(LOOK, "")}
    agents = {name: {"description": name, "prompt": name} for name in ("m", "l")}

    async def program(session: Session) -> None:
        await begin(session)
        await session.wait_quiet()

    opening = {"tools": (*READ_ONLY_TOOLS, *AGENT_TOOLS), "agents": agents}
    assert difference(tmp_path / "p", PlaybookModel(pages, wait_s=0.5), program, **opening) is None


def test_a_plan_of_a_teammate_that_is_refused_and_approved(tmp_path: Path) -> None:
    ann = in_order(
        write("before.txt"),
        Call("ExitPlanMode", {"plan": PLAN}),
        "I wait.",
        Call("ExitPlanMode", {"plan": PLAN}),
        "I wait.",
        LOOK,
        "Done.",
    )
    model = SlowModel(PlaybookModel({"main": deciding(False, True), "ann": ann}), seed=1)

    async def program(session: Session) -> None:
        async with session.open_team("t") as team:
            definition = kind("ann", tools=("Write", "Read", "Glob"))
            await team.spawn("ann", definition=definition, prompt="Plan.", plan_required=True)
            await session.wait_quiet()

    opening = {"tools": STANDARD_TOOLS, "main": MAIN, "permission_mode": "acceptEdits"}
    assert difference(tmp_path / "p", model, program, **opening) is None


def test_questions_to_a_person(tmp_path: Path) -> None:
    question = {
        "question": "Which?",
        "header": "h",
        "options": [{"label": "A", "description": "d"}, {"label": "B", "description": "d"}],
        "multiSelect": False,
    }
    model = PlaybookModel({"main": in_order(Call("AskUserQuestion", {"questions": [question]}), "Done.")})
    asked: list[QuestionRequest] = []

    async def ask_user(request: QuestionRequest) -> QuestionAnswers:
        asked.append(request)
        await trio.sleep(40)
        return QuestionAnswers(answers=(("B",),))

    async def can_use_tool(_: PermissionQuestion) -> Allow:
        await trio.sleep(5)
        return Allow()

    opening = {"tools": STANDARD_TOOLS, "ask_user": ask_user, "can_use_tool": can_use_tool}
    assert difference(tmp_path / "p", model, begin, **opening) is None
    assert len(asked) == 1


def test_schedules(tmp_path: Path) -> None:
    wake = Call("ScheduleWakeup", {"delaySeconds": 90, "prompt": "Go on.", "reason": "the build"})
    cron = Call("CronCreate", {"cron": "*/2 * * * *", "prompt": "Look at the mail."})
    model = PlaybookModel({"main": in_order([wake, cron], Call("CronList", {}), "Later.")}, wait_s=0.5)

    async def program(session: Session) -> None:
        await begin(session)
        await trio.sleep(400)

    opening = {"tools": (*READ_ONLY_TOOLS, *SCHEDULE_TOOLS)}
    assert difference(tmp_path / "p", model, program, **opening) is None
