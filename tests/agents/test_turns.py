"""One turn of an agent, seen from whoever asked for it."""

from __future__ import annotations

import math

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.agents import INTERRUPTED, Answer, Note, Prompt, Work
from greenroom.agents.events import ToolEnded
from greenroom.core import ProviderError, TurnFailed, TurnKilled, event_of
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, Say, ScriptedModel, ToolResultBlock, Usage
from greenroom.models import WrittenAnswer as Scripted
from greenroom.models._scripted import ScriptStep
from greenroom.tools import tool
from tests.agents.situations import Stage, assert_acceptable, open_stage


async def ask(stage: Stage, text: str = "Go.") -> Answer:
    with trio.fail_after(1_000):
        return await stage.agent.ask(Prompt(text), timeout_s=math.inf)


def results_of(stage: Stage) -> list[ToolResultBlock]:
    return [block for message in stage.messages for block in message.content if isinstance(block, ToolResultBlock)]


async def test_a_prompt_is_answered_with_the_last_text_and_the_usage(autojump_clock: MockClock) -> None:
    """CL-06."""
    usage = Usage(input_tokens=10, output_tokens=2)
    model = ScriptedModel(
        [Scripted([Call("Look", {"place": "here"})], usage=usage), Scripted([Say("Done.")], usage=usage)]
    )

    async with open_stage(model) as stage:
        answer = await ask(stage)

    assert answer == Answer(text="Done.", usage=usage + usage, rounds=2, stop_reason="end_turn")
    assert stage.home.usage == usage + usage


async def test_each_request_has_the_one_before_as_its_prefix(autojump_clock: MockClock) -> None:
    """RC-117."""
    model = ScriptedModel([Call("Look", {"place": "a"}), Call("Look", {"place": "b"}), "Done.", "Again."])

    async with open_stage(model) as stage:
        await ask(stage)
        await ask(stage, "More.")

    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.system, later.tools) == (earlier.system, earlier.tools)


async def test_read_only_calls_run_side_by_side_and_others_in_order(autojump_clock: MockClock) -> None:
    calls = [Call("Look", {"place": str(n)}) for n in range(10)]
    changes = [Call("Change", {"thing": "x"}), Call("Change", {"thing": "y"})]
    model = ScriptedModel([[*calls, *changes], "Done."])

    async with open_stage(model) as stage:
        began = trio.current_time()
        await ask(stage)

    assert trio.current_time() - began == pytest.approx(3.0)
    assert [result.content for result in results_of(stage)] == [
        *(f"saw {n}" for n in range(10)),
        "changed x",
        "changed y",
    ]


async def test_a_failing_call_never_takes_a_result_from_its_sibling(autojump_clock: MockClock) -> None:
    """CL-29."""
    model = ScriptedModel([[Call("Look", {"place": "a"}), Call("Stumble"), Call("missing")], "Done."])

    async with open_stage(model) as stage:
        await ask(stage)

    seen, bug, unknown = results_of(stage)
    assert (seen.is_error, bug.is_error, unknown.is_error) == (False, True, True)
    assert "ZeroDivisionError" in bug.content
    assert "Look" in unknown.content
    ended = [event_of(record) for record in stage.runtime.recorder.latest() if record[2] is ToolEnded]
    assert [event.state for event in ended if isinstance(event, ToolEnded)] == ["failed", "completed", "failed"]


async def test_bad_arguments_are_explained_to_the_model(autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Look", {"palce": "a"}), "Done."])

    async with open_stage(model) as stage:
        await ask(stage)

    (result,) = results_of(stage)
    assert result.is_error
    assert "palce" in result.content


async def test_a_provider_error_fails_the_turn_and_the_next_prompt_goes_on(autojump_clock: MockClock) -> None:
    """RC-37, CL-08: the stream is cut in the middle of an answer."""
    error = ProviderError("overloaded", kind="overloaded", is_retryable=True)
    step = ScriptStep(answer="Half a sen", error=error, error_after=1)
    model = ScriptedModel([step, "Done."])

    async with open_stage(model) as stage:
        with pytest.raises(TurnFailed) as caught:
            await ask(stage)
        answer = await ask(stage, "Again.")

    assert caught.value.__cause__ is error
    assert answer.text == "Done."
    assert_acceptable(stage.messages)
    assert stage.messages[1].text, "what had come is kept"


async def test_a_turn_that_never_ends_runs_out_of_requests(autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Look", {"place": "a"})] * 3)

    async with open_stage(model, max_turns=3) as stage:
        with pytest.raises(TurnFailed, match="all of its 3 model requests"):
            await ask(stage)

    assert_acceptable(stage.messages)


async def test_notes_that_come_during_a_turn_reach_the_next_request(autojump_clock: MockClock) -> None:
    """RC-22."""
    model = ScriptedModel([Call("Look", {"place": "a"}), "Done."])

    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        nursery.start_soon(ask, stage)
        await trio.sleep(0.5)
        stage.agent.tell(Note("by the <way>", "mate"), Lane.LATER)

    last = model.requests[-1].messages[-1]
    assert [type(block).__name__ for block in last.content] == ["ToolResultBlock", "TextBlock"]
    assert last.text == '<teammate-message teammate_id="mate">\nby the <way>\n</teammate-message>'


async def test_work_and_prompts_get_turns_of_their_own(autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Look", {"place": "a"}), "One.", "Two.", "Three."])

    async with open_stage(model) as stage:
        stage.agent.tell(Note("first"))
        await trio.sleep(0.5)
        stage.agent.tell(Work("second", "1"), Lane.LATER)
        answer = await stage.agent.ask(Prompt("third"), lane=Lane.LATER)

    assert answer.text == "Three."
    assert [request.messages[-1].text for request in model.requests][2:] == ["second", "third"]


async def test_an_abort_while_the_model_answers_keeps_what_had_come(autojump_clock: MockClock) -> None:
    model = ScriptedModel([ScriptStep(answer="Never heard.", wait_s=100.0), "Done."])

    async with open_stage(model) as stage:
        async with trio.open_nursery() as nursery:

            async def expect_kill() -> None:
                with pytest.raises(TurnKilled) as caught:
                    await ask(stage)
                assert caught.value.why == "enough"

            nursery.start_soon(expect_kill)
            await trio.sleep(1)
            result = stage.agent.abort_turn(why="enough")
            assert (await result.wait_ended()).state is State.KILLED
        answer = await ask(stage, "Again.")

    assert answer.text == "Done."
    assert_acceptable(stage.messages)


async def test_an_abort_during_tools_keeps_the_results_that_were_there(autojump_clock: MockClock) -> None:
    model = ScriptedModel([[Call("Change", {"thing": "x"}), Call("Change", {"thing": "y"})], "Done."])

    async with open_stage(model) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(1.5)
        stage.agent.abort_turn()
        await ask(stage, "Again.")

    first, second = results_of(stage)
    assert (first.content, first.is_error) == ("changed x", False)
    assert (second.content, second.is_error) == (INTERRUPTED, True)


async def test_calls_of_an_answer_that_was_cut_are_closed(autojump_clock: MockClock) -> None:
    """The stream breaks behind a whole tool use: it stands in the conversation, so it needs its result. CL-29."""
    error = ProviderError("cut", kind="cut", is_retryable=True)
    step = ScriptStep(
        answer=[Call("Look", {"place": "a"}), Say("and now for a longer text")], error=error, error_after=5
    )
    model = ScriptedModel([step, "Done."])

    async with open_stage(model) as stage:
        with pytest.raises(TurnFailed):
            await ask(stage)
        assert [use.name for use in stage.messages[1].tool_uses] == ["Look"]
        assert_acceptable(stage.messages)
        await ask(stage, "Again.")


async def test_what_is_in_the_conversation_is_acknowledged_even_if_the_turn_is_aborted(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel([ScriptStep(answer="Never heard.", wait_s=100.0)])

    async with open_stage(model) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(1)
        await stage.agent.abort_turn().wait_ended()
        assert stage.agent.statistics().acked == 1
        assert stage.runtime.dead_letters.latest() == []
        model.requests.clear()


async def test_a_tool_that_swallows_the_abort_does_not_keep_the_turn_alive(autojump_clock: MockClock) -> None:
    """RC-13: the end of a turn looks for a cancel behind every batch."""

    @tool
    async def stubborn() -> str:
        """Return all the same."""
        try:
            await trio.sleep(100)
        except trio.Cancelled:  # noqa: ASYNC103 - that is its mistake
            return "ha"  # noqa: ASYNC104
        return "slept"

    model = ScriptedModel([Call("Stubborn"), "Done."])

    async with open_stage(model, tools=[stubborn]) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(1)
        outcome = await stage.agent.abort_turn().wait_ended()
        assert outcome.state is State.KILLED
        assert len(model.requests) == 1, "the model is not asked any more"
        assert [result.content for result in results_of(stage)] == ["ha"]
        await ask(stage, "Again.")


@given(after_s=st.floats(0.0, 6.0), how=st.sampled_from(["abort", "kill"]))
def test_whenever_a_turn_is_ended_the_conversation_can_be_resumed(after_s: float, how: str) -> None:
    """RC-14, CL-29."""

    async def run() -> None:
        calls: list[AnswerLike] = [
            [Say("Let me see."), *(Call("Look", {"place": str(n)}) for n in range(3))],
            Call("Change", {"thing": "x"}),
        ]
        steps = [ScriptStep(answer=call, wait_s=1.0) for call in calls]
        model = ScriptedModel([*steps, *(ScriptStep(answer="Done.", wait_s=1.0) for _ in range(4))])
        stage: Stage
        with pytest.raises(BaseException) as leftovers:  # noqa: PT011 - which of the script was not asked for does not matter
            async with open_stage(model) as stage:
                stage.agent.tell(Note("Go."))
                await trio.sleep(after_s)
                if how == "abort":
                    stage.agent.abort_turn()
                    await ask(stage, "Go on.")
                else:
                    stage.agent.kill()
                    await stage.agent.wait_ended()
                assert_acceptable(stage.messages)
                raise KeyError("the end")
        assert isinstance(leftovers.value, KeyError)

    trio.run(run, clock=MockClock(autojump_threshold=0))
