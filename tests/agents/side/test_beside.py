"""Beside all turns: what such a run shares with the agent, and what it leaves alone."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import ForkFailed, Note, Prompt, run_forked
from greenroom.agents._repair import faults_of
from greenroom.agents.events import ForkBegan, ForkEnded, ModelBegan, ModelEnded, ToolBegan
from greenroom.agents.events._agent_view import model_began, model_ended, tool_began
from greenroom.agents.side import SideRun, ask_aside, open_side_run
from greenroom.core import ProviderError, UsageError, event_of
from greenroom.models import Call, Say, ScriptedModel, ToolResultBlock, Usage, WrittenAnswer
from greenroom.models._scripted import ScriptStep
from greenroom.models.budgets import Budget, Limits, budgeted
from greenroom.testing import check_cache_prefixes, run_virtual
from tests.agents.pages import answers_in
from tests.agents.situations import Bytes, Stage, assert_acceptable, open_stage

USED = Usage(input_tokens=100, output_tokens=10)
LOOKS = WrittenAnswer([Say("I look."), Call("Look", {"place": "a"}), Call("Look", {"place": "b"})])


def place_of(stage: Stage) -> SideRun:
    return open_side_run(stage.home, stage.agent.id, stage.runtime.recorder.emit_fields)


def events(stage: Stage, *kinds: type[Any]) -> list[Any]:
    return [event for event in map(event_of, stage.runtime.recorder.latest()) if isinstance(event, kinds)]


async def prompt(stage: Stage, text: str) -> Any:
    return await stage.agent.ask(Prompt(text), timeout_s=math.inf)


async def test_a_run_in_the_middle_of_calls_shares_the_prefix_and_nothing_else(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """It answers before the turn ends; the turn goes on as if nothing had been."""
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel([LOOKS, WrittenAnswer([Say("Two places.")], usage=USED), "Done."])
    answers: list[Any] = []

    async with open_stage(model, open_transcript=disk.open) as stage, trio.open_nursery() as nursery:

        async def turn() -> None:
            answers.append(await prompt(stage, "Go."))

        nursery.start_soon(turn)
        await trio.sleep(0.5)  # the calls take one second
        before = (stage.messages, disk.content, stage.agent.statistics(), stage.home.activity)
        said = await ask_aside(place_of(stage), "How many?")
        assert (stage.messages, disk.content, stage.agent.statistics(), stage.home.activity) == before
        assert (said, answers) == ("Two places.", [])

    own, aside, after = model.requests
    assert check_cache_prefixes([own, aside]) == check_cache_prefixes([own, after]) == 1
    assert aside.messages[:2] == after.messages[:2]
    assert faults_of(aside.messages) == []
    results = [block for block in aside.messages[2].content if isinstance(block, ToolResultBlock)]
    assert [result.content for result in results] == ["This call is still running; it has no result yet."] * 2
    assert "How many?" in aside.messages[2].text
    assert "How many?" not in str(after.messages)
    assert b"still running" not in disk.content
    assert answers[0].usage == Usage()


async def test_it_is_on_record_beside_all_turns_and_counts_as_the_agents(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Done.", WrittenAnswer([Say("Yes.")], usage=USED)])
    budget = Budget(Limits(calls=2))
    async with open_stage(budgeted(model, budget)) as stage:
        await prompt(stage, "Go.")
        result = await run_forked(place_of(stage), "Well?", purpose="a test")
        assert (result.text, result.usage, stage.home.usage) == ("Yes.", USED, USED)
        assert budget.spent.usage == USED
        (began,), (ended,) = events(stage, ForkBegan), events(stage, ForkEnded)
        assert {(one.actor, one.inc, one.turn) for one in (began, ended)} == {(stage.agent.id, 0, 0)}
        assert (ended.state, ended.rounds, ended.tokens) == ("completed", 1, USED.total)
        assert [(event.inc, event.turn, event.round) for event in events(stage, ModelBegan)] == [(1, 1, 1), (0, 0, 2)]


def test_what_runs_beside_a_turn_is_not_what_the_agent_does() -> None:
    place: dict[str, Any] = {"actor": "a", "inc": 1, "turn": 1, "round": 1}
    aside = {**place, "inc": 0, "turn": 0}
    view = tool_began(None, ToolBegan(**place, call="c", tool="Look", summary="b"))
    view = model_began(view, ModelBegan(**aside, messages=1))
    counts: dict[str, Any] = dict.fromkeys(
        ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 1
    )
    view = model_ended(view, ModelEnded(**aside, **counts, state="completed", stop_reason="end_turn", error=""))
    assert (view.doing, view.requests, view.usage.total) == ("Look b", 1, 4)


async def test_an_agent_that_has_said_nothing_can_be_asked(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["I am a tester."])
    async with open_stage(model) as stage:
        assert await ask_aside(place_of(stage), "Who are you?") == "I am a tester."
        assert stage.messages == ()


async def test_a_model_that_only_calls_tools_fails_it_and_text_beside_calls_is_an_answer(
    autojump_clock: MockClock,
) -> None:
    calls = Call("Change", {"thing": "x"})
    model = ScriptedModel(["Done.", calls, WrittenAnswer([Say("Three."), calls])])
    async with open_stage(model) as stage:
        await prompt(stage, "Go.")
        with pytest.raises(ForkFailed):
            await ask_aside(place_of(stage), "How many?")
        assert await ask_aside(place_of(stage), "How many?") == "Three."
        assert not [record for record in stage.runtime.recorder.latest() if event_of(record).kind.startswith("tool.")]


async def test_a_blank_question_is_refused_before_anything_is_asked(autojump_clock: MockClock) -> None:
    async with open_stage(ScriptedModel([])) as stage:
        with pytest.raises(UsageError, match="blank"):
            await ask_aside(place_of(stage), " \n")
        assert events(stage, ForkBegan) == []


async def test_a_provider_that_fails_leaves_everything_as_it_was(autojump_clock: MockClock, tmp_path: Path) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel(["Done.", ProviderError("busy", kind="overloaded"), "Well."])
    async with open_stage(model, open_transcript=disk.open) as stage:
        await prompt(stage, "Go.")
        before = (stage.messages, disk.content, stage.agent.statistics())
        with pytest.raises(ProviderError):
            await ask_aside(place_of(stage), "How many?")
        assert (stage.messages, disk.content, stage.agent.statistics()) == before
        assert events(stage, ForkEnded)[0].state == "failed"
        assert (await prompt(stage, "More.")).text == "Well."


async def test_cancelled_with_whoever_asked_it_leaves_what_it_used(autojump_clock: MockClock, tmp_path: Path) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel(["Done.", ScriptStep(answer="Never heard.", wait_s=60.0), "Well."])
    async with open_stage(model, open_transcript=disk.open) as stage:
        await prompt(stage, "Go.")
        before = (stage.messages, disk.content, stage.agent.statistics())
        with trio.move_on_after(1) as scope:
            await ask_aside(place_of(stage), "How many?")
        assert scope.cancelled_caught
        assert (stage.messages, disk.content, stage.agent.statistics()) == before
        assert events(stage, ForkEnded)[0].state == "killed"
        assert (await prompt(stage, "More.")).text == "Well."


async def test_it_outlives_the_incarnation_and_the_turn(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Done.", ScriptStep(answer="Late.", wait_s=60.0)])
    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        await prompt(stage, "Go.")
        said: list[str] = []

        async def ask() -> None:
            said.append(await ask_aside(place_of(stage), "How many?"))

        nursery.start_soon(ask)
        await trio.sleep(1)
        stage.agent.kill()
        await stage.agent.wait_ended()
        nursery.cancel_scope.deadline = trio.current_time() + 100
        await trio.sleep(60)
        assert said == ["Late."]


@settings(max_examples=60, deadline=None)
@given(
    times=st.lists(st.floats(0, 12), min_size=1, max_size=6),
    rounds=st.integers(0, 3),
    abort_s=st.floats(0, 12) | st.none(),
    choices=st.integers(0, 1_000),
)
def test_at_any_moment_it_asks_what_a_provider_accepts_and_reads_what_is_cached(
    times: list[float], rounds: int, abort_s: float | None, choices: int
) -> None:
    """Whatever the turn is doing, and however it ends: the copy is sound, and the agent's own requests are as without it."""
    own: list[Any] = []
    asides: list[tuple[int, Any]] = []

    def answer(request: Any) -> Any:
        if "something aside" in request.messages[-1].text:
            asides.append((len(own), request))
            return ScriptStep(answer="Aside.", wait_s=0.7)
        own.append(request)
        asked = answers_in(request)
        return ScriptStep(answer=LOOKS if asked < rounds else "Done.", wait_s=1.0)

    async def scenario() -> None:
        model = ScriptedModel([answer] * 100)
        async with open_stage(_Unchecked(model)) as stage, trio.open_nursery() as nursery:

            async def at(after_s: float, function: Callable[[], Awaitable[Any]]) -> None:
                await trio.sleep(after_s)
                await function()

            async def abort() -> None:
                stage.agent.abort_turn()
                await trio.lowlevel.checkpoint()

            stage.agent.tell(Note("Go."))
            for time in times:
                nursery.start_soon(at, time, lambda: ask_aside(place_of(stage), "How many?"))
            if abort_s is not None:
                nursery.start_soon(at, abort_s, abort)
            await trio.sleep(30)
            assert_acceptable(stage.messages)
            assert "something aside" not in str(stage.messages)

    run_virtual(scenario, choices=choices)

    check_cache_prefixes(own)
    for count, request in asides:
        assert faults_of(request.messages) == []
        if count:
            check_cache_prefixes([own[count - 1], request])
    assert len(asides) == len(times)


class _Unchecked:
    """A scripted model of which something may be left."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self.name = model.name
        self.stream = model.stream

    def open(self) -> Any:
        return nullcontext()
