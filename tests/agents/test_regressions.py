"""Failures of agents elsewhere that cannot happen here; each test names its row of `tests/regressions.py`."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import Ref, State
from greenroom.agents import Agent, AgentProfile, AgentState, Note, Prompt, Work
from greenroom.agents._repair import faults_of
from greenroom.core import ProviderError, TurnFailed
from greenroom.mailbox import Lane
from greenroom.models import (
    AnswerLike,
    Call,
    Model,
    ModelRequest,
    PlaybookModel,
    ScriptedModel,
    ToolResultBlock,
    retrying,
)
from greenroom.models._scripted import ScriptStep
from greenroom.supervisor import ChildSpec, Restart
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolSet, tool
from tests.agents.situations import open_stage


async def test_rc_12_a_tool_sees_the_cancel_before_its_turn_ends(autojump_clock: MockClock) -> None:
    """Mechanism: calls run in a nursery of the turn; its clean-up is part of the turn."""
    happened: list[str] = []

    @tool
    async def linger() -> str:
        """Wait, and take a second to tidy up."""
        try:
            await trio.sleep_forever()
        finally:
            happened.append("tool")
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            happened.append("tidy")
        return ""

    async with open_stage(ScriptedModel([Call("Linger")]), tools=[linger]) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(1)
        assert (await stage.agent.abort_turn().wait_ended()).state is State.KILLED
        happened.append("turn")

    assert happened == ["tool", "tidy", "turn"]


async def test_rc_34_a_prompt_goes_before_the_notices_that_wait(autojump_clock: MockClock) -> None:
    """Mechanism: prompts come in the lane `next`, notices in `later`."""
    model = ScriptedModel([ScriptStep(answer="Busy.", wait_s=5.0), "Heard."])

    async with open_stage(model) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(1)
        for number in range(5):
            stage.agent.tell(Note(f"notice {number}"), Lane.LATER)
        answer = await stage.agent.ask(Prompt("What is it?"))
        await trio.sleep(60)

    said = "\n".join(message.text for message in stage.messages)
    assert answer.text == "Heard."
    assert said.index("Busy.") < said.index("What is it?") < said.index("notice 0") < said.index("notice 4")


@given(
    st.lists(
        st.tuples(
            st.floats(0, 3),
            st.sampled_from(["note", "work", "prompt", "abort"]),
            st.sampled_from([Lane.NOW, Lane.NEXT, Lane.LATER]),
        ),
        max_size=8,
    )
)
def test_rc_35_an_agent_that_is_idle_has_no_mail(steps: list[tuple[float, str, Lane]]) -> None:
    """Mechanism: a put wakes whoever waits for mail, also while a turn ends or is ended."""

    def answer(request: ModelRequest) -> AnswerLike:
        return (
            "Yes."
            if request.messages[-1].role == "user" and len(request.messages) % 3
            else Call("Look", {"place": "a"})
        )

    async def run() -> None:
        async with open_stage(PlaybookModel({"tester": answer}, wait_s=1.0)) as stage:
            for number, (after_s, what, lane) in enumerate(steps):
                await trio.sleep(after_s)
                if what == "abort":
                    stage.agent.abort_turn()
                elif what == "work":
                    stage.agent.tell(Work(f"work {number}", str(number)), lane)
                else:
                    stage.agent.tell(Note(f"note {number}") if what == "note" else Prompt(f"prompt {number}"), lane)
            await trio.sleep(500)
            counted = stage.agent.statistics()
            assert not stage.agent.is_busy
            assert (counted.now, counted.next, counted.later) == (0, 0, 0)
            said = "\n".join(message.text for message in stage.messages)
            kept = [f"{what} {number}" for number, (_, what, _) in enumerate(steps) if what != "abort"]
            dead = len(stage.runtime.dead_letters.latest())
            assert sum(one in said for one in kept) + dead == len(kept)

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def test_rc_42_an_error_that_passes_repeats_no_step(autojump_clock: MockClock) -> None:
    """A refusal at the seventh request of ten. Mechanism: only the request is sent again, not the turn."""
    overloaded = ProviderError("overloaded", kind="overloaded", status=529, is_retryable=True)
    calls = [Call("Look", {"place": str(n)}) for n in range(9)]
    scripted = ScriptedModel([*calls[:6], overloaded, *calls[6:], "Done."])
    model: Model = retrying(scripted)

    async with open_stage(model) as stage:
        answer = await stage.agent.ask(Prompt("Go."), timeout_s=1_000)

    assert (answer.text, answer.rounds) == ("Done.", 10)
    blocks = [block for message in stage.messages for block in message.content]
    assert [block.content for block in blocks if isinstance(block, ToolResultBlock)] == [f"saw {n}" for n in range(9)]
    assert len(scripted.requests) == 11


async def test_cl_09_error_before_any_text_is_a_failure(autojump_clock: MockClock) -> None:
    """Mechanism: the stream raises, and the prompt is answered only by a round that came to its end."""
    error = ProviderError("cut", kind="cut")

    async with open_stage(ScriptedModel([ScriptStep(answer="Lost.", error=error, error_after=0)])) as stage:
        with pytest.raises(TurnFailed) as caught:
            await stage.agent.ask(Prompt("Go."))

    assert caught.value.__cause__ is error
    assert faults_of(stage.messages) == []


async def test_rc_110_nothing_holds_an_agent_that_has_ended(autojump_clock: MockClock) -> None:
    """Mechanism: the runtime forgets an actor with its end, and its record drops the factory, so a ref is only an address."""
    async with open_stage(PlaybookModel({"tester": lambda _: "Yes."})) as stage:
        held: list[weakref.ref[AgentState]] = []
        refs: list[Ref[Any]] = []
        for _ in range(20):
            home = AgentState(
                ports=BareAgentPorts(),
                profile=AgentProfile(definition=stage.home.profile.definition, tools=ToolSet()),
                services=stage.home.services,
            )
            agent = await stage.runtime.spawn(Agent, home, spec=ChildSpec(restart=Restart.TEMPORARY))
            held.append(weakref.ref(home))
            refs.append(agent)
            await agent.ask(Prompt("Go."))
            agent.kill()
            await agent.wait_ended()
            del home, agent
        await trio.sleep(1)
        gc.collect()

        assert [one() for one in held if one() is not None] == []
        assert all(ref.is_gone for ref in refs)
