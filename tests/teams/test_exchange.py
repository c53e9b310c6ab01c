"""Messages between teammates without other work: counted, and refused beyond a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.teams._exchange import ExchangeLimit


def test_messages_without_work_are_refused_beyond_the_limit() -> None:
    exchange = ExchangeLimit(4)

    admitted = [exchange.admit(name, calls) for calls in (1, 2, 3) for name in ("ann", "bob")]

    assert admitted == [True] * 4 + [False] * 2


def test_work_of_a_sender_starts_the_count_anew() -> None:
    exchange = ExchangeLimit(2)
    exchange.admit("ann", 1)
    exchange.admit("bob", 1)
    assert not exchange.admit("ann", 2)

    assert exchange.admit("ann", 4), "one of its calls was another one"
    assert exchange.count == 1


def test_words_of_others_start_the_count_anew() -> None:
    exchange = ExchangeLimit(1)
    exchange.admit("ann", 1)
    assert not exchange.admit("bob", 1)
    exchange.is_told = True

    exchange.restart()

    assert exchange.admit("bob", 2)
    assert not exchange.is_told


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from(["ann", "bob", "cem"]), st.integers(0, 2)), max_size=60),
)
def test_refused_exactly_if_limit_messages_came_since_work(limit: int, steps: list[tuple[str, int]]) -> None:
    exchange, calls, in_a_row = ExchangeLimit(limit), dict.fromkeys(("ann", "bob", "cem"), 0), 0
    for sender, work in steps:
        calls[sender] += work + 1
        in_a_row = 0 if work else in_a_row
        is_admitted = exchange.admit(sender, calls[sender])
        assert is_admitted == (in_a_row < limit)
        in_a_row += is_admitted
