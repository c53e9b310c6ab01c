"""Mail that comes while an agent waits to ask its model again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.actors import State
from greenroom.agents import Note, Prompt, Work
from greenroom.agents.events import ModelBegan, ModelEnded, ModelRetried
from greenroom.core import Event, ProviderError, TurnFailed, event_of
from greenroom.mailbox import Lane
from greenroom.models import (
    AnswerLike,
    Model,
    ModelRequest,
    PlaybookModel,
    RetryBudget,
    RetryPolicy,
    Say,
    ScriptedModel,
    Usage,
    WrittenAnswer,
    retrying,
)
from greenroom.models._retry import KindPolicy
from greenroom.models._scripted import ScriptEntry, ScriptStep
from greenroom.models.recordings import RecordedModel, read_recording, recording
from tests.agents.situations import Stage, assert_acceptable, open_stage

POLICY = RetryPolicy(
    attempts=6, first_wait_s=10.0, longest_wait_s=10.0, jitter=0.0, by_kind={"cut": KindPolicy(attempts=6)}
)
E = TypeVar("E", bound=Event)


@attrs.define
class Outage:
    """A provider that refuses its first requests and then says `Done.`; notes when each came, and what it said."""

    failures: int
    retry_after_s: float | None = None
    requests: list[tuple[float, str]] = attrs.field(factory=list)

    def model(self, budget: RetryBudget | None = None) -> Model:
        return retrying(PlaybookModel({"tester": self._answer}), POLICY, budget=budget)

    def _answer(self, request: ModelRequest) -> AnswerLike:
        self.requests.append((trio.current_time(), "\n".join(message.text for message in request.messages)))
        if len(self.requests) <= self.failures:
            raise ProviderError(
                "busy", kind="overloaded", status=529, is_retryable=True, retry_after_s=self.retry_after_s
            )
        return "Done."

    @property
    def times(self) -> list[float]:
        return [round(at_s - self.requests[0][0], 3) for at_s, _ in self.requests]


def events(stage: Stage, kind: type[E]) -> list[E]:
    return [event for event in map(event_of, stage.runtime.recorder.latest()) if isinstance(event, kind)]


@given(
    st.integers(0, 5),
    st.lists(st.tuples(st.floats(0, 15), st.sampled_from(list(Lane)), st.booleans()), max_size=10),
    st.none() | st.integers(1, 30),
)
def test_mail_goes_into_the_next_attempt_and_adds_none(
    failures: int, letters: list[tuple[float, Lane, bool]], retry_after_s: int | None
) -> None:
    """Each attempt holds all that may join and had come; there are as many as without mail; each letter is read once."""
    outage = Outage(failures, retry_after_s)
    put_at: dict[str, float] = {}

    async def run() -> None:
        async with open_stage(outage.model()) as stage:
            stage.agent.tell(Note("<start>"))
            for number, (after_s, lane, joins) in enumerate(letters):
                await trio.sleep(after_s)
                stage.agent.tell(Note(f"<{number}>") if joins else Work(f"<{number}>", "w"), lane)
                if joins and not any(one is lane for _, one, may in letters[:number] if not may):
                    put_at[f"<{number}>"] = trio.current_time()  # else it waits behind work in its lane
            await trio.sleep(1_000)

            said = "\n".join(message.text for message in stage.messages)
            assert [said.count(f"<{number}>") for number in range(len(letters))] == [1] * len(letters)
            assert_acceptable(stage.messages)
            assert len(events(stage, ModelBegan)) == len(events(stage, ModelEnded))
            assert len(events(stage, ModelRetried)) == failures

    trio.run(run, clock=MockClock(autojump_threshold=0))

    attempts = outage.requests[: failures + 1]
    for (before_s, _), (at_s, text) in pairwise(attempts):
        assert (retry_after_s or 0) - 1e-6 <= at_s - before_s <= (retry_after_s or POLICY.longest_wait_s) + 1e-6
        assert all(mark in text for mark, put_s in put_at.items() if put_s < at_s - 1e-6)


async def test_a_message_wakes_an_agent_that_waits_to_ask_again(autojump_clock: MockClock) -> None:
    """The request goes out again at once, with the message; for the record it is still the same round."""
    outage = Outage(1)

    async with open_stage(outage.model()) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(4)
        waiting = stage.home.activity
        stage.agent.tell(Note("Look at Windows first.", "ann"), Lane.LATER)
        await trio.sleep(1)
        retried, ended = events(stage, ModelRetried), events(stage, ModelEnded)

    assert outage.times == [0.0, 4.0]
    assert "Look at Windows first." in outage.requests[1][1]
    assert waiting == "overloaded, tried again in 10 s"
    assert [(one.round, one.attempt, one.attempts, one.delay_s, one.status, one.error) for one in retried] == [
        (1, 2, 6, 10.0, 529, "overloaded")
    ]
    assert [(one.round, one.state) for one in ended] == [(1, "completed")]


async def test_a_wait_that_the_provider_asked_for_is_not_cut_short(autojump_clock: MockClock) -> None:
    outage = Outage(1, retry_after_s=20)

    async with open_stage(outage.model()) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(4)
        stage.agent.tell(Note("Look at Windows first."))
        await trio.sleep(100)

    assert outage.times[0] + 20 <= outage.times[1] < outage.times[0] + 26
    assert "Look at Windows first." in outage.requests[1][1]


async def test_mail_uses_up_no_attempts(autojump_clock: MockClock) -> None:
    """Three waits are cut short; then a crowd that writes on and on waits as long as anybody."""
    outage = Outage(5)

    async with open_stage(outage.model()) as stage:
        stage.agent.tell(Note("Go."))
        for number in range(200):
            await trio.sleep(0.7)
            stage.agent.tell(Note(f"<{number}>"), Lane.LATER)

    assert outage.times[:6] == [0.0, 0.7, 1.4, 2.1, 12.1, 22.1]
    assert "<30>" in outage.requests[5][1]


async def test_mail_does_not_reset_the_count_of_attempts(autojump_clock: MockClock) -> None:
    outage, budget = Outage(100), RetryBudget(capacity=50, per_request=0, per_second=0)

    async with open_stage(outage.model(budget)) as stage:
        with trio.fail_after(1_000):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_write_on, stage)
                with pytest.raises(TurnFailed) as caught:
                    await stage.agent.ask(Prompt("Go."), timeout_s=500)
                nursery.cancel_scope.cancel()

    assert isinstance(caught.value.__cause__, ProviderError)
    assert len(outage.requests) == POLICY.attempts
    assert budget.held == 50 - (POLICY.attempts - 1)


async def _write_on(stage: Stage) -> None:
    while True:
        await trio.sleep(3)
        stage.agent.tell(Note("And this."))


async def test_what_may_not_join_the_turn_leaves_the_wait_as_it_is(autojump_clock: MockClock) -> None:
    outage = Outage(1)

    async with open_stage(outage.model()) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(4)
        stage.agent.tell(Work("Other work.", "7"))
        await trio.sleep(100)

    assert outage.times == [0.0, 10.0, 10.0]
    assert ["Other work." in text for _, text in outage.requests] == [False, False, True]


async def test_an_abort_ends_the_wait(autojump_clock: MockClock) -> None:
    outage = Outage(1)

    async with open_stage(outage.model()) as stage:
        stage.agent.tell(Note("Go."))
        await trio.sleep(4)
        ended = await stage.agent.abort_turn().wait_ended()
        began_s = trio.current_time()
        stage.agent.tell(Note("Go on."))
        await trio.sleep(1)

    assert ended.state is State.KILLED
    assert outage.requests[1][0] == began_s
    assert len(outage.requests) == 2


async def test_what_a_given_up_attempt_used_is_counted(autojump_clock: MockClock) -> None:
    cut = ProviderError("cut", kind="cut", is_retryable=True)
    half = WrittenAnswer([Say("Half an answer.")], usage=Usage(100, 10))
    steps: list[ScriptEntry] = [
        ScriptStep(answer=half, error=cut, error_after=2),
        WrittenAnswer([Say("Done.")], usage=Usage(200, 20)),
    ]
    used: list[Usage] = []

    for letters in ((), ("And this.",)):
        async with open_stage(retrying(ScriptedModel(steps), POLICY)) as stage:
            stage.agent.tell(Note("Go."))
            await trio.sleep(4)
            for text in letters:
                stage.agent.tell(Note(text))
            await trio.sleep(100)
            used.append(stage.home.usage)

    assert used[0] == used[1]
    assert used[0].input_tokens == 300


@given(st.lists(st.tuples(st.integers(0, 500_000), st.integers(0, 9_000)), max_size=4), st.booleans())
def test_a_conversation_is_as_large_as_what_its_last_attempt_held(lost: list[tuple[int, int]], has_mail: bool) -> None:
    """What attempts that were cut had used is paid for, and stands in no conversation: it is not compacted sooner for that."""
    cut = ProviderError("cut", kind="cut", is_retryable=True)
    steps: list[ScriptEntry] = [
        ScriptStep(answer=WrittenAnswer([Say("Half an answer.")], usage=Usage(*used)), error=cut, error_after=2)
        for used in lost
    ]
    steps.append(WrittenAnswer([Say("Done.")], usage=Usage(200, 20, 3, 4)))

    async def run() -> None:
        async with open_stage(retrying(ScriptedModel(steps), POLICY)) as stage:
            stage.agent.tell(Note("Go."))
            await trio.sleep(4)
            if has_mail and lost:
                stage.agent.tell(Note("And this."))
            await trio.sleep(1_000)
            assert stage.home.conversation is not None
            assert stage.home.conversation.tokens == 227
            assert stage.home.usage.input_tokens == 200 + sum(tokens for tokens, _ in lost)

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def test_a_recorded_run_with_a_message_in_a_wait_is_served_as_it_was(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    outage, file = Outage(2), tmp_path / "model.jsonl"
    seen = []

    def write(lines: bytes) -> None:
        with file.open("ab") as out:
            out.write(lines)

    for number in range(2):
        recorded = None if number == 0 else RecordedModel(read_recording(file))
        async with open_stage(recorded or recording(outage.model(), write)) as stage:
            stage.agent.tell(Note("Go."))
            await trio.sleep(4)
            stage.agent.tell(Note("Look at Windows first."))
            await trio.sleep(100)
            seen.append([(message.role, message.text) for message in stage.messages])
        if recorded is not None:
            recorded.assert_done()

    assert seen[0] == seen[1]
    assert outage.times == [0.0, 4.0, 14.0]
