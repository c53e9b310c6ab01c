"""Budgets: what runs side by side never passes a limit together, and nothing stays taken."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError, UsageError
from greenroom.models import (
    Message,
    Model,
    ModelRequest,
    RetryPolicy,
    Say,
    ScriptedModel,
    Usage,
    WrittenAnswer,
    estimate_tokens,
    retrying,
)
from greenroom.models._deadlines import Deadlines, with_deadlines
from greenroom.models._scripted import ScriptEntry, ScriptStep
from greenroom.models.budgets import Budget, BudgetExceeded, Limits, Pricing, Spent, budgeted
from greenroom.models.budgets._call_budget import Taken
from greenroom.models.budgets._pricing import Price
from greenroom.testing import run_virtual
from tests.models.situations import provider_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DOLLAR: Final = Price(input=Decimal(1), output=Decimal(5), cache_write=Decimal(2), cache_read=Decimal("0.1"))
PRICING: Final = Pricing({"m": DOLLAR})
NOTHING: Final = Spent()


def request(sent: int = 0, most: int = 10, *, agent: str = "a") -> ModelRequest:
    """Return a request of `sent` tokens, for an answer of `most` at most."""
    text = "x" * 4 * sent
    return ModelRequest((Message.user(text),), max_tokens=most, agent=agent, model="m")


def used(tokens: int) -> Usage:
    return Usage(output_tokens=tokens)


def limits() -> st.SearchStrategy[Limits]:
    return st.builds(
        Limits,
        tokens=st.none() | st.integers(0, 150),
        usd=st.none() | st.integers(0, 600).map(lambda millionths: Decimal(millionths) / 10**6),
        calls=st.none() | st.integers(0, 8),
    )


CALLS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(1, 30), st.floats(0, 1), st.booleans()),
    min_size=5,
    max_size=30,
)
"""Whose budget, tokens sent, tokens that may be written, the part of them that is, and whether it ends at once."""


def tree(each: Sequence[Limits]) -> list[Budget]:
    """Return a budget with two below, and one below the first of these."""
    top = Budget(each[0], pricing=PRICING, now_s=lambda: 0.0)
    first = Budget(each[1], name="first", parent=top, now_s=lambda: 0.0)
    second = Budget(each[2], name="second", parent=top, now_s=lambda: 0.0)
    return [top, first, second, Budget(each[3], name="third", parent=first, now_s=lambda: 0.0)]


BELOW: Final = {0: {0, 1, 2, 3}, 1: {1, 3}, 2: {2}, 3: {3}}


@given(st.lists(limits(), min_size=4, max_size=4), CALLS)
def test_calls_side_by_side_never_pass_a_limit_together(
    each: list[Limits], calls: list[tuple[int, int, int, float, bool]]
) -> None:
    budgets = tree(each)
    running: list[tuple[Taken, int, Usage]] = []
    settled = [Usage()] * 4
    for whose, sent, most, part, ends_now in calls:
        try:
            taken = budgets[whose].take_nowait("m", request(sent, most))
        except BudgetExceeded:
            taken = None
        if taken is not None:
            running.append((taken, whose, Usage(sent, int(most * part))))
        if ends_now and running:
            taken, owner, usage = running.pop(0)
            taken.settle(usage)
            taken.settle(usage)  # only the first time counts
            settled[owner] += usage
        for budget, most_of in zip(budgets, each, strict=True):
            assert (budget.spent + budget.taken).passed(most_of) is None
    for taken, owner, usage in running:
        taken.settle(usage)
        settled[owner] += usage

    for at, budget in enumerate(budgets):
        assert budget.taken == NOTHING
        assert budget.spent.usage == sum((settled[one] for one in BELOW[at]), Usage())
        assert budget.spent.usd == DOLLAR.cost(budget.spent.usage)


@given(st.lists(st.sampled_from(["done", "fails", "cut", "cancelled", "left"]), min_size=1, max_size=12), st.integers())
def test_nothing_stays_taken_however_calls_end(endings: list[str], seed: int) -> None:
    """Also while they wait for each other: the limit lets only three of them run at once."""
    budget_of: list[Budget] = []

    def step(ending: str) -> ScriptStep:
        error = provider_error("cut") if ending in {"fails", "cut"} else None
        answer = WrittenAnswer([Say("four words are here")], usage=used(6))
        return ScriptStep(answer=answer, error=error, error_after=2 if ending == "cut" else 0, wait_s=2 + seed % 3)

    async def main() -> None:
        budget = Budget(Limits(tokens=10_000, calls=3 + len(endings)))
        below = Budget(Limits(tokens=30 + 10 * len(endings)), name="below", parent=budget)
        budget_of.extend([budget, below])
        model = budgeted(ScriptedModel({str(at): [step(one)] for at, one in enumerate(endings)}), below)

        async def ask(at: int, ending: str) -> None:
            with trio.move_on_after(1.5 if ending == "cancelled" else 100):
                async with model.stream(request(agent=str(at))) as stream:
                    if ending == "left":
                        await anext(stream)
                        return
                    try:
                        await stream.wait_response()
                    except ProviderError:
                        assert ending in {"fails", "cut"}

        async with trio.open_nursery() as nursery:
            for at, ending in enumerate(endings):
                nursery.start_soon(ask, at, ending)

    run_virtual(main)

    for budget in budget_of:
        assert budget.taken == NOTHING
        assert budget.exceeded is None
        assert budget.spent.usage == used(6 * endings.count("done"))


# --- one budget ------------------------------------------------------------------------------------------------------


def clocked(most: Limits, *, parent: Budget | None = None, now_s: Callable[[], float] = lambda: 0.0) -> Budget:
    return Budget(most, name="it", parent=parent, pricing=PRICING, now_s=now_s)


def denied(budget: Budget, asked: ModelRequest | None = None) -> BudgetExceeded:
    with pytest.raises(BudgetExceeded, match="Budget limit reached") as caught:
        budget.take_nowait("m", asked or request())
    return caught.value


def take(budget: Budget, asked: ModelRequest | None = None) -> Taken:
    taken = budget.take_nowait("m", asked or request())
    assert taken is not None
    return taken


def test_the_eleventh_of_ten_calls_is_refused_everywhere() -> None:
    """RC-84: the denial is final, in all of the tree. CL-23."""
    top = clocked(Limits(calls=10))
    first, second = (Budget(name=name, parent=top, now_s=lambda: 0.0) for name in ("first", "second"))
    for at in range(10):
        take((first, second)[at % 2]).settle(used(1))

    error = denied(first)

    assert (error.budget, error.limit, error.allowed, error.spent.calls) == ("it", "calls", 10, 10)
    assert all(denied(budget).limit == "calls" for budget in (second, top))
    assert all(budget.exceeded is not None for budget in (first, second, top))


def test_a_denial_below_leaves_the_others_alone_and_holds_for_smaller_calls_too() -> None:
    top = clocked(Limits(tokens=1000))
    small, other = clocked(Limits(tokens=50), parent=top), clocked(Limits(), parent=top)

    error = denied(small, request(most=51))

    assert (error.limit, error.asked.usage.total) == ("tokens", 51)
    assert denied(small, request(most=1)) is not error
    assert (other.exceeded, top.exceeded) == (None, None)
    take(other, request(most=1000))


def test_all_four_kinds_of_tokens_count_and_more_than_was_taken_too() -> None:
    budget = clocked(Limits(tokens=100))
    take(budget, request(most=10)).settle(Usage(20, 20, 20, 40))

    assert budget.spent.usage.total == 100
    assert denied(budget, request(most=1)).spent.usage.total == 100


def test_money_is_taken_at_the_highest_price_and_settled_at_the_real_one() -> None:
    budget = clocked(Limits(usd=Decimal("0.001")))

    taken = take(budget, request(100, 100))
    assert taken.amount.usd == budget.taken.usd == Decimal("0.0007")
    taken.settle(Usage(0, 50, 0, 100))

    assert budget.spent.usd == Decimal("0.00026")
    assert denied(budget, request(100, 200)).limit == "usd"


def test_a_limit_in_dollars_needs_a_price() -> None:
    budget = clocked(Limits(), parent=clocked(Limits(usd=Decimal(1))))

    with pytest.raises(UsageError, match="'unknown' has no price"):
        budget.take_nowait("unknown", request())
    assert budget.taken == NOTHING


def test_without_such_a_limit_calls_that_have_no_price_are_counted_apart() -> None:
    budget = clocked(Limits())
    taken = budget.take_nowait("unknown", request())
    assert taken is not None
    taken.settle(used(7))

    assert budget.spent == Spent(usage=used(7), calls=1, unpriced_calls=1)


def test_after_its_time_no_call_begins() -> None:
    now_s = 5.0
    budget = Budget(Limits(wall_s=60), spent=Spent(wall_s=10), now_s=lambda: now_s)

    now_s = 55.0
    take(budget)
    now_s = 55.5
    assert denied(budget).limit == "wall_s"
    assert "60 seconds of 'session' are over" in str(budget.exceeded)


def test_what_was_used_before_counts() -> None:
    spent = Spent(usage=used(90), usd=Decimal(1), calls=4)
    budget = Budget(Limits(tokens=100), spent=spent, now_s=lambda: 0.0)

    assert budget.spent == spent
    assert denied(budget, request(most=11)).spent == spent


def test_text_is_estimated_as_everywhere() -> None:
    budget = clocked(Limits(tokens=10_000))
    taken = take(budget, ModelRequest((Message.user("x" * 401),), system="x" * 99, max_tokens=7))

    assert taken.amount.usage == Usage(estimate_tokens(500), 7)
    assert repr(budget) == "<Budget 'it', 0 tokens, 0 calls>"


# --- waiting ---------------------------------------------------------------------------------------------------------


async def test_a_call_waits_for_what_others_may_give_back(autojump_clock: trio.testing.MockClock) -> None:
    """And it is sent as soon as one has; the order in which they finish is the order in which they were let in."""
    scripted = ScriptedModel([ScriptStep(answer=WrittenAnswer([Say("x")], usage=used(1)), wait_s=10)] * 4)
    budget = Budget(Limits(tokens=103))
    model = budgeted(scripted, lambda _: budget)
    ended: list[float] = []

    async def ask() -> None:
        async with model.stream(request(most=50)) as stream:
            await stream.wait_response()
        ended.append(trio.current_time())

    async with model.open(), trio.open_nursery() as nursery:
        begin = trio.current_time()
        for _ in range(4):
            nursery.start_soon(ask)

    assert [round(at - begin) for at in ended] == [10, 10, 20, 20]
    assert budget.spent.usage == used(4)


async def test_a_call_that_waits_is_denied_when_the_others_have_used_it_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    model = budgeted(
        ScriptedModel([ScriptStep(answer=WrittenAnswer([Say("x")], usage=used(60)), wait_s=1)]),
        Budget(Limits(tokens=100)),
    )
    errors: list[BudgetExceeded] = []

    async def ask() -> None:
        async with model.stream(request(most=60)) as stream:
            try:
                await stream.wait_response()
            except BudgetExceeded as error:
                errors.append(error)

    async with model.open(), trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        nursery.start_soon(ask)

    assert [error.spent.usage.total for error in errors] == [60]


async def test_a_denial_reaches_those_that_wait(autojump_clock: trio.testing.MockClock) -> None:
    budget = Budget(Limits(tokens=100))
    await budget.take("m", request(most=60))

    async def wait() -> None:
        with pytest.raises(BudgetExceeded):
            await budget.take("m", request(most=60))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        denied(budget, request(most=101))


async def test_nobody_waits_for_calls_that_run_since_none_is_given_back() -> None:
    budget = Budget(Limits(calls=2))
    await budget.take("m", request())
    (await budget.take("m", request())).settle(Usage())
    with pytest.raises(BudgetExceeded) as caught:
        await budget.take("m", request())
    assert caught.value.spent.calls == 2


async def test_a_cancelled_wait_has_taken_nothing(autojump_clock: trio.testing.MockClock) -> None:
    budget = Budget(Limits(tokens=100))
    held = await budget.take("m", request(most=60))
    with trio.move_on_after(1) as scope:
        await budget.take("m", request(most=60))
    assert scope.cancelled_caught
    assert budget.taken == held.amount
    with trio.CancelScope() as scope:
        scope.cancel()
        await budget.take("m", request(most=1))
    assert scope.cancelled_caught
    assert budget.taken == held.amount


# --- around a model --------------------------------------------------------------------------------------------------


def scripted_stack(script: list[ScriptEntry], budget: Budget, *, attempts: int = 3) -> tuple[ScriptedModel, Model]:
    scripted = ScriptedModel(script)
    inner = budgeted(with_deadlines(scripted, Deadlines(first_token_s=5)), budget)
    return scripted, retrying(inner, RetryPolicy(attempts=attempts, first_wait_s=0))


async def test_each_attempt_is_checked_and_counted(autojump_clock: trio.testing.MockClock) -> None:
    cut = ScriptStep(answer=WrittenAnswer([Say("x")], usage=Usage(7)), error=provider_error("cut"), error_after=1)
    budget = Budget(Limits(calls=2))
    scripted, model = scripted_stack([cut, cut], budget)

    async with model.open(), model.stream(request()) as stream:
        with pytest.raises(BudgetExceeded):
            await stream.wait_response()

    assert len(scripted.requests) == budget.spent.calls == 2
    assert budget.spent.usage == stream.so_far.usage == Usage(14)


async def test_waiting_for_a_budget_takes_nothing_from_the_time_of_the_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = Budget(Limits(tokens=100))
    held = await budget.take("m", request(most=100))
    _, model = scripted_stack(["at last"], budget)

    async def give_back() -> None:
        await trio.sleep(60)
        held.settle(Usage())

    async with model.open(), trio.open_nursery() as nursery:
        nursery.start_soon(give_back)
        async with model.stream(request(most=100)) as stream:
            assert (await stream.wait_response()).text == "at last"


async def test_a_request_without_a_model_is_priced_by_the_name_of_the_model_object() -> None:
    budget = Budget(Limits(usd=Decimal(1)), pricing=PRICING)
    model = budgeted(ScriptedModel([WrittenAnswer([Say("x")], usage=used(1_000))], name="m"), budget)

    async with model.open(), model.stream(ModelRequest((Message.user("Hello?"),))) as stream:
        await stream.wait_response()

    assert budget.spent.usd == Decimal("0.005")
    assert model.name == "m"
    assert repr(model).startswith("<budgeted <ScriptedModel")


@pytest.mark.parametrize("name", ["tokens", "usd", "calls", "wall_s"])
def test_a_negative_limit_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: -1})  # type: ignore[arg-type]
