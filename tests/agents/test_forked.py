"""A run beside the conversation: it shares the prefix, is on record, and leaves nothing in the conversation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import Context
from greenroom.agents import Agent, AgentState, ForkFailed, Input, Prompt, run_forked
from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._forked import ForkedResult, RunCall
from greenroom.agents.events import ForkBegan, ForkEnded, ModelBegan
from greenroom.core import ProviderError, TurnFailed, TurnKilled, event_of
from greenroom.models import Call, Say, ScriptedModel, ToolResultBlock, ToolUseBlock, Usage, WrittenAnswer
from greenroom.testing import check_cache_prefixes
from tests.agents.situations import Bytes, Stage, open_stage

USED = Usage(input_tokens=100, output_tokens=10)


class Sider(Agent):
    """An agent that, told `aside...`, runs beside its conversation instead of taking a turn in it."""

    run_call: RunCall | None = None
    results: list[ForkedResult]

    def __init__(self, home: AgentState) -> None:
        super().__init__(home)
        self.home = home

    async def on_message(self, message: Input, ctx: Context) -> None:
        if not message.text.startswith("aside"):
            await super().on_message(message, ctx)
            return
        assert self.home.conversation is not None
        turn = AgentTurn(home=self.home, ctx=ctx, conversation=self.home.conversation)
        ctx.reply(await run_forked(turn, message.text, purpose="a test", run_call=self.run_call))


async def ask(stage: Stage, text: str) -> Any:
    return await stage.agent.ask(Prompt(text), timeout_s=math.inf)


def events(stage: Stage, *kinds: type[Any]) -> list[Any]:
    found = map(event_of, stage.runtime.recorder.latest())
    return [each_kinds for each_kinds in found if isinstance(each_kinds, kinds)]


async def test_it_begins_like_the_agents_own_requests_and_nobody_sees_it(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel(
        [[Call("Look", {"place": "a"})], "Done.", WrittenAnswer([Say("Aside.")], usage=USED), "Again."]
    )

    async with open_stage(model, kind=Sider, open_transcript=disk.open) as stage:
        await ask(stage, "Go.")
        messages, content = stage.messages, disk.content
        result = await ask(stage, "aside: what was it?")
        assert (stage.messages, disk.content) == (messages, content)
        await ask(stage, "More.")

        assert result == ForkedResult(text="Aside.", usage=USED, rounds=1, stop_reason="end_turn")
        assert stage.home.usage == USED
        (began,) = [record for record in stage.runtime.recorder.latest() if isinstance(event_of(record), ForkBegan)]
        (ended,) = events(stage, ForkEnded)
        assert (ended.purpose, ended.state, ended.rounds, ended.tokens) == ("a test", "completed", 1, USED.total)
        assert [event.parent == began[0] for event in events(stage, ModelBegan)] == [False, False, True, False]
        assert stage.home.activity == ""

    first, second, forked, after = model.requests
    assert check_cache_prefixes([first, second, forked]) == 2
    assert check_cache_prefixes([second, after]) == 1
    assert forked.messages[-1].text == "aside: what was it?"
    assert "aside" not in str(after.messages)


async def test_its_calls_are_refused_unless_the_caller_runs_them(autojump_clock: MockClock) -> None:
    seen: list[ToolUseBlock] = []

    async def run_call(call: ToolUseBlock) -> ToolResultBlock:
        seen.append(call)
        return ToolResultBlock(call.id, "run")

    class Runner(Sider):
        pass

    Runner.run_call = staticmethod(run_call)
    for kind, expected in ((Sider, True), (Runner, False)):
        model = ScriptedModel(["Done.", [Call("Change", {"thing": "x"})], "Aside."])
        async with open_stage(model, kind=kind) as stage:
            await ask(stage, "Go.")
            result = await ask(stage, "aside")
            assert (result.text, result.rounds) == ("Aside.", 2)
        (answer,) = model.requests[-1].messages[-1].content
        assert isinstance(answer, ToolResultBlock)
        assert answer.is_error is expected
    assert [call.name for call in seen] == ["Change"]


async def test_it_ends_when_it_goes_on_calling_tools(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Done.", *[[Call("Look", {"place": "a"})]] * 3, "Well."])

    async with open_stage(model, kind=Sider) as stage:
        await ask(stage, "Go.")
        messages = stage.messages
        with pytest.raises(TurnFailed) as caught:
            await ask(stage, "aside")
        assert isinstance(caught.value.__cause__, ForkFailed) or "3 requests" in str(caught.value)
        assert stage.messages == messages
        assert events(stage, ForkEnded)[0].state == "failed"
        assert (await ask(stage, "Go on.")).text == "Well."


async def test_a_provider_that_fails_fails_it_and_leaves_the_conversation(autojump_clock: MockClock) -> None:
    error = ProviderError("busy", kind="overloaded")
    model = ScriptedModel(["Done.", error, "Well."])

    async with open_stage(model, kind=Sider) as stage:
        await ask(stage, "Go.")
        messages = stage.messages
        with pytest.raises(TurnFailed):
            await ask(stage, "aside")
        assert stage.messages == messages
        assert events(stage, ForkEnded)[0].state == "failed"
        await ask(stage, "More.")


async def test_aborted_it_is_on_record_as_killed(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Done.", "Aside.", "Well."], wait_s=1.0)

    async with open_stage(model, kind=Sider) as stage, trio.open_nursery() as nursery:
        await ask(stage, "Go.")
        messages = stage.messages

        async def aside() -> None:
            with pytest.raises(TurnKilled):
                await ask(stage, "aside")

        nursery.start_soon(aside)
        await trio.sleep(0.5)
        stage.agent.abort_turn()
        await ask(stage, "More.")

        assert events(stage, ForkEnded)[0].state == "killed"
        assert stage.messages[: len(messages)] == messages
