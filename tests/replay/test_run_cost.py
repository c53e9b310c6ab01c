"""The cost of a recorded run: its models and tokens at list prices."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pytest

from greenroom.agents.events import AgentDefined, ModelEnded
from greenroom.core import Event
from greenroom.replay._run_cost import RULES, cost_in_words, request_usd, run_cost
from greenroom.teams import TeammateJoined
from greenroom.trace import Entry


def ended(actor: str) -> ModelEnded:
    return ModelEnded(
        actor=actor,
        turn=1,
        round=1,
        state="completed",
        stop_reason="",
        input_tokens=1_000_000,
        output_tokens=100_000,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=1_000_000,
        error="",
    )


def entries(events: Iterable[Event]) -> list[Entry]:
    return [Entry(seq, 0.0, event.kind, event) for seq, event in enumerate(events, 1)]


def test_requests_cost_what_the_model_of_their_agent_costs() -> None:
    lead, mate, other = (
        AgentDefined(actor=actor, definition="d", model=model, transcript="")
        for actor, model in (("a0", "claude-sonnet-5"), ("a1", "claude-haiku-4-5"), ("a2", "local-1"))
    )
    # input, output and cache reads of a million, a tenth and a million tokens
    priced = entries([lead, mate, ended("a0"), ended("a1"), ended("a1")])

    assert run_cost(priced) == (Decimal("3.2") + 2 * Decimal("1.6"), ())
    joined = TeammateJoined(
        actor="a0", team="t", name="ann", agent="a0", color="", definition="d", model="claude-haiku-4-5"
    )
    assert run_cost(entries([lead, joined, ended("a0")])) == (Decimal("1.6"), ()), "older journals told another one"
    assert run_cost([*priced, *entries([other, ended("a2"), ended("unknown")])])[1] == ("", "local-1")
    assert request_usd("claude-haiku-4-5", ended("a1")) == pytest.approx(1.6)
    assert request_usd("local-1", ended("a2")) is None


@pytest.mark.parametrize(
    ("usd", "unpriced", "words"),
    [
        ("0", (), ""),
        ("6.4", (), "about $6.40 at list prices"),
        ("6.4", (RULES,), "about $6.40 at list prices"),
        ("0", (RULES,), "not billed, as fixed rules did the work"),
        ("0", ("local-1",), "cost unknown, as no price of local-1 is known"),
        (
            "1",
            ("", "local-1"),
            "cost unknown, as no price of an unnamed model, local-1 is known; the others cost about $1.00",
        ),
    ],
)
def test_a_cost_is_said_in_words(usd: str, unpriced: tuple[str, ...], words: str) -> None:
    assert cost_in_words(usd, unpriced) == words
