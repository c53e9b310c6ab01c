from __future__ import annotations

import random

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError, UsageError
from greenroom.models import (
    RETRYABLE,
    Model,
    RetryBudget,
    RetryPolicy,
    Say,
    ScriptedModel,
    StreamRestarted,
    Usage,
    UsageDelta,
    WrittenAnswer,
    retrying,
)
from greenroom.models._retry import KindPolicy, NoRetry, RetryAfter, plan_retry
from greenroom.models._scripted import ScriptEntry, ScriptStep
from greenroom.models._types import TextDelta
from greenroom.testing import ErrorReply, StreamReply, open_messages_server
from greenroom.testing._messages_script import ReplyLike
from tests.models.situations import HELLO, claude, provider_error


class Fixed:
    """A chance that always draws the same number."""

    def __init__(self, number: float) -> None:
        self._number = number

    def random(self) -> float:
        return self._number


def patient(script: list[ScriptEntry], *, attempts: int = 8) -> tuple[ScriptedModel, Model]:
    scripted = ScriptedModel(script)
    return scripted, retrying(scripted, RetryPolicy(attempts=attempts), chance=Fixed(0.0))


# --- the plan --------------------------------------------------------------------------------------------------------


@given(attempt=st.integers(1, 10_000), seed=st.integers(), retry_after_s=st.none() | st.floats(0, 60))
def test_a_wait_keeps_to_its_limits(attempt: int, seed: int, retry_after_s: float | None) -> None:
    policy = RetryPolicy(attempts=10_001)
    error = provider_error("overloaded", retry_after_s=retry_after_s)

    plan = plan_retry(error, attempt, policy, random.Random(seed))

    assert isinstance(plan, RetryAfter)
    if retry_after_s is None:
        back_off_s = min(0.5 * 2.0 ** min(attempt - 1, 100), 30.0)
        assert back_off_s / 2 <= plan.seconds <= back_off_s
    else:
        assert retry_after_s <= plan.seconds <= retry_after_s + policy.first_wait_s


@pytest.mark.parametrize("kind", sorted(RETRYABLE))
def test_only_what_may_pass_by_itself_is_tried_again(kind: str) -> None:
    plan = plan_retry(provider_error(kind), 1, RetryPolicy(), Fixed(0.5))
    assert isinstance(plan, RetryAfter if RETRYABLE[kind] else NoRetry)


def test_the_last_attempt_is_given_up() -> None:
    policy = RetryPolicy(attempts=3)
    assert isinstance(plan_retry(provider_error("cut"), 2, policy, Fixed(0)), RetryAfter)
    assert isinstance(plan_retry(provider_error("cut"), 3, policy, Fixed(0)), NoRetry)


def test_a_provider_that_asks_for_more_than_a_minute_is_given_up() -> None:
    assert plan_retry(provider_error("rate_limited", retry_after_s=60), 1, RetryPolicy(), Fixed(0)) == RetryAfter(60)
    assert isinstance(plan_retry(provider_error("rate_limited", retry_after_s=61), 1, RetryPolicy(), Fixed(0)), NoRetry)


@pytest.mark.parametrize("kind", sorted(kind for kind, is_retryable in RETRYABLE.items() if is_retryable))
@pytest.mark.parametrize("attempts", [1, 2, 3, 8])
def test_attempts_are_a_total_forevery_kind_of_error(kind: str, attempts: int) -> None:
    policy = RetryPolicy(attempts=attempts)

    sent = 1
    while isinstance(plan_retry(provider_error(kind), sent, policy, Fixed(0)), RetryAfter):
        sent += 1

    assert sent <= attempts
    assert sent in {attempts, 3}


def test_attempts_named_for_a_kind_go_before_those_for_all() -> None:
    policy = RetryPolicy(attempts=2, by_kind={"timeout": KindPolicy(attempts=5)})

    assert policy.for_kind("timeout").attempts == 5
    assert policy.for_kind("cut").attempts == 2


# --- carried out -----------------------------------------------------------------------------------------------------


async def test_a_failed_request_is_sent_again_after_its_back_off(autojump_clock: trio.testing.MockClock) -> None:
    scripted, model = patient([provider_error("overloaded"), provider_error("server_error"), "at last"])
    begin = trio.current_time()
    async with model.open(), model.stream(HELLO) as stream:
        deltas = [delta async for delta in stream]
        response = await stream.wait_response()

    assert response.text == stream.so_far.text == "at last"
    assert deltas[:2] == [
        StreamRestarted("overloaded", 2, 0.5, attempts=8),
        StreamRestarted("server_error", 3, 1.0, attempts=8),
    ]
    assert trio.current_time() - begin == pytest.approx(1.5)
    assert scripted.requests == [HELLO] * 3


async def test_retry_after_is_obeyed(autojump_clock: trio.testing.MockClock) -> None:
    _, model = patient([provider_error("rate_limited", retry_after_s=45), "ok"])
    begin = trio.current_time()
    async with model.open(), model.stream(HELLO) as stream:
        await stream.wait_response()
    assert trio.current_time() - begin == pytest.approx(45)


async def test_a_cut_stream_starts_anew_and_says_so_before_it_waits(autojump_clock: trio.testing.MockClock) -> None:
    cut = ScriptStep(
        answer=WrittenAnswer([Say("Hello world")], usage=Usage(9, 5)), error=provider_error("cut"), error_after=2
    )
    _, model = patient([cut, "Good bye"])
    begin = trio.current_time()
    async with model.open(), model.stream(HELLO) as stream:
        await anext(stream)
        assert await anext(stream) == TextDelta("Hello ")
        assert stream.so_far.text == "Hello "
        assert await anext(stream) == StreamRestarted("cut", 2, 0.5, lost=Usage(9, 0), attempts=3)
        assert stream.so_far.content == ()
        assert stream.so_far.usage == Usage(9, 0)
        assert trio.current_time() == begin
        assert (await stream.wait_response()).text == "Good bye"


async def test_what_failed_attempts_used_is_counted_for_a_reader_of_the_whole_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The provider bills them, and `wait_response` shows no deltas."""
    cut = ScriptStep(
        answer=WrittenAnswer([Say("Hello world")], usage=Usage(9, 5)), error=provider_error("cut"), error_after=99
    )
    _, model = patient([cut, cut, WrittenAnswer([Say("Good bye")], usage=Usage(9, 2))])
    async with model.open(), model.stream(HELLO) as stream:
        response = await stream.wait_response()

    assert response.text == "Good bye"
    assert response.usage == stream.so_far.usage == Usage(27, 12)


async def test_usage_never_falls_while_attempts_fail(autojump_clock: trio.testing.MockClock) -> None:
    cut = ScriptStep(
        answer=WrittenAnswer([Say("Hello world")], usage=Usage(9, 5)), error=provider_error("cut"), error_after=99
    )
    _, model = patient([cut, WrittenAnswer([Say("Good bye")], usage=Usage(9, 2))])
    told = []
    async with model.open(), model.stream(HELLO) as stream:
        async for delta in stream:
            if isinstance(delta, UsageDelta):
                assert delta.usage == stream.so_far.usage
            told.append(stream.so_far.usage)

    assert [usage.total for usage in told] == sorted(usage.total for usage in told)
    assert told[-1] == Usage(18, 7)


async def test_what_failed_attempts_used_is_counted_when_the_last_one_fails(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cut = ScriptStep(
        answer=WrittenAnswer([Say("Hello world")], usage=Usage(9, 5)), error=provider_error("cut"), error_after=99
    )
    _, model = patient([cut, cut], attempts=2)
    async with model.open():
        async with model.stream(HELLO) as stream:
            with pytest.raises(ProviderError):
                await stream.wait_response()
            assert stream.so_far.usage == Usage(18, 10)
        assert stream.so_far.usage == Usage(18, 10)


async def test_what_cannot_pass_is_raised_at_once_with_its_text(autojump_clock: trio.testing.MockClock) -> None:
    error = provider_error("bad_request")
    _, model = patient([ScriptStep(answer="Hello world", error=error, error_after=2)])
    begin = trio.current_time()
    async with model.open():
        async with model.stream(HELLO) as stream:
            with pytest.raises(ProviderError) as caught:
                await stream.wait_response()
            assert stream.so_far.text == "Hello "
        assert stream.so_far.text == "Hello "

    assert caught.value is error
    assert trio.current_time() == begin


async def test_the_last_error_comes_out_when_the_attempts_are_used_up(autojump_clock: trio.testing.MockClock) -> None:
    """RC-65."""
    errors = [provider_error("overloaded") for _ in range(3)]
    _, model = patient([*errors], attempts=3)
    async with model.open(), model.stream(HELLO) as stream:
        with pytest.raises(ProviderError) as caught:
            await stream.wait_response()

    assert caught.value.__cause__ is errors[-1]
    assert str(caught.value).endswith("(tried 3 times)")
    assert caught.value.__notes__ == ["given up: 3 attempts have failed"]


async def test_a_cancel_during_the_back_off_sends_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    scripted, model = patient([provider_error("overloaded"), "never"])
    with trio.move_on_after(0.25) as scope:
        async with model.stream(HELLO) as stream:
            await stream.wait_response()

    assert scope.cancelled_caught
    assert len(scripted.requests) == 1


async def test_over_real_sockets_a_cut_stream_and_a_refusal_are_overcome() -> None:
    """The waits are too short to notice; how long they are is tested above, in virtual time."""
    replies: list[ReplyLike] = [
        StreamReply(answer="Hello world", ending="cut", events=4),
        ErrorReply(status=529, type="overloaded_error"),
        ErrorReply(status=429, type="rate_limit_error", headers={"retry-after": "0"}),
        "Good bye",
    ]
    with trio.fail_after(30):
        async with open_messages_server(replies) as server:
            model = retrying(claude(server), RetryPolicy(first_wait_s=0))
            async with model.open(), model.stream(HELLO) as stream:
                deltas = [delta async for delta in stream]
                assert (await stream.wait_response()).text == "Good bye"
            await server.wait_connections(0)

    restarts = [delta for delta in deltas if isinstance(delta, StreamRestarted)]
    assert [(restart.reason, restart.attempt) for restart in restarts] == [
        ("cut", 2),
        ("overloaded", 3),
        ("rate_limited", 4),
    ]
    assert model.name == "claude-test"


# --- kinds of errors -------------------------------------------------------------------------------------------------


def test_a_kind_of_error_may_have_limits_of_its_own() -> None:
    policy = RetryPolicy(by_kind={"rate_limited": KindPolicy(attempts=2, first_wait_s=4, longest_wait_s=5)})
    assert plan_retry(provider_error("rate_limited"), 1, policy, Fixed(0)) == RetryAfter(4)
    assert isinstance(plan_retry(provider_error("rate_limited"), 2, policy, Fixed(0)), NoRetry)
    assert plan_retry(provider_error("overloaded"), 2, policy, Fixed(0)) == RetryAfter(1)


def test_what_waits_for_minutes_is_tried_three_times_by_default() -> None:
    assert isinstance(plan_retry(provider_error("timeout"), 2, RetryPolicy(), Fixed(0)), RetryAfter)
    assert isinstance(plan_retry(provider_error("timeout"), 3, RetryPolicy(), Fixed(0)), NoRetry)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"by_kind: unknown kind of error 'overload'; expected one of: .*overloaded"):
        RetryPolicy(by_kind={"overload": KindPolicy(attempts=2)})


async def test_a_restart_tells_the_status(autojump_clock: trio.testing.MockClock) -> None:
    refusal = ProviderError("busy", kind="overloaded", status=529, is_retryable=True)
    _, model = patient([refusal, "ok"])
    notices: list[object] = []

    async def note(notice: StreamRestarted) -> None:
        notices.append(notice)

    async with model.open(), model.stream(HELLO) as stream:
        response = await stream.wait_response(note)

    assert response.text == "ok"
    assert notices == [StreamRestarted("overloaded", 2, 0.5, status=529, attempts=8)]


async def test_a_restart_tells_whether_the_provider_named_the_wait(autojump_clock: trio.testing.MockClock) -> None:
    _, model = patient([provider_error("rate_limited", retry_after_s=45), provider_error("timeout"), "ok"])
    async with model.open(), model.stream(HELLO) as stream:
        deltas = [delta async for delta in stream]

    told = [(delta.is_told, delta.attempts) for delta in deltas if isinstance(delta, StreamRestarted)]
    assert told == [(True, 8), (False, 3)]


async def test_who_asks_anew_goes_on_with_the_count(autojump_clock: trio.testing.MockClock) -> None:
    """What is given up in its wait for another request has used its attempts, and the retry that it took is paid."""
    scripted, _ = patient([provider_error("overloaded")] * 3)
    budget = RetryBudget(capacity=10, per_request=1, per_second=0)
    model = retrying(scripted, RetryPolicy(attempts=3), chance=Fixed(0.0), budget=budget)
    request = HELLO
    async with model.open():
        for attempt in (2, 3):
            async with model.stream(request) as stream:
                restart = await anext(stream)
                assert isinstance(restart, StreamRestarted)
                assert restart.attempt == attempt
                request = attrs.evolve(HELLO, attempt=attempt)
        begin = trio.current_time()
        async with model.stream(request) as stream:
            with pytest.raises(ProviderError):
                await anext(stream)

    assert trio.current_time() == begin
    assert budget.held == 8


# --- what a session shares -------------------------------------------------------------------------------------------


@given(
    capacity=st.floats(0, 20),
    per_request=st.floats(0, 2),
    per_second=st.floats(0, 2),
    steps=st.lists(st.booleans() | st.floats(0, 5), max_size=60),
)
def test_no_more_retries_than_were_put_in(
    capacity: float, per_request: float, per_second: float, steps: list[bool | float]
) -> None:
    """`True` is a first attempt, `False` a wish to retry, a number are seconds that pass."""
    budget = RetryBudget(capacity=capacity, per_request=per_request, per_second=per_second)
    now_s, requests, taken = 0.0, 0, 0
    for step in steps:
        if step is True:
            requests += 1
            budget.add_request()
        elif step is False:
            taken += budget.try_take(now_s)
        else:
            now_s += step
        assert 0 <= budget.held <= capacity
    assert taken <= capacity + requests * per_request + now_s * per_second + 1e-6


async def test_a_crowd_gives_up_when_the_shared_retries_are_used_up(autojump_clock: trio.testing.MockClock) -> None:
    """Mechanism: `_plan` asks the budget; without it 20 requests would be sent 160 times. RC-65."""
    scripted = ScriptedModel({"*": [provider_error("overloaded") for _ in range(25)]})
    budget = RetryBudget(capacity=5, per_request=0, per_second=0)
    model = retrying(scripted, chance=Fixed(0.0), budget=budget)
    errors: list[ProviderError] = []

    async def ask() -> None:
        async with model.stream(HELLO) as stream:
            with pytest.raises(ProviderError) as caught:
                await stream.wait_response()
            errors.append(caught.value)

    async with model.open(), trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)

    assert len(scripted.requests) == 25
    assert {tuple(error.__notes__) for error in errors} == {("given up: the session's shared retries are used up",)}


async def test_shared_retries_come_back_with_time_and_with_requests(autojump_clock: trio.testing.MockClock) -> None:
    budget = RetryBudget(capacity=1, per_request=0.5, per_second=0.1)
    assert budget.try_take(0)
    assert not budget.try_take(9)
    assert budget.try_take(11)
    budget.add_request()
    budget.add_request()
    assert budget.try_take(11)
