"""A model that fails on purpose: by the seed and the conversation alone, in the ways that it says, and not forever."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError
from greenroom.models import FaultRates, Message, Model, ModelRequest, PlannedCrash, PlaybookModel, chaotic, retrying

STORMY = FaultRates(overloaded=0.2, cut=0.2, hang=0.2, crash=0.2, hang_s=3.0, most_crashes=1_000)


def always(**shares: float) -> FaultRates:
    """Return faults of one kind only, in every request."""
    return FaultRates(**{"overloaded": 0.0, "cut": 0.0, "hang": 0.0, "crash": 0.0, "hang_s": 3.0, **shares})  # type: ignore[arg-type] # all are numbers


def playbook() -> Model:
    return PlaybookModel({name: lambda request: f"Heard {request.messages[-1].text}." for name in ("lead", "mate")})


def request(text: str, definition: str = "mate", agent: str = "a1") -> ModelRequest:
    return ModelRequest((Message.user(text),), definition=definition, agent=agent)


async def outcome(model: Model, one: ModelRequest) -> str:
    """Return the text, or the kind of failure."""
    try:
        async with model.stream(one) as stream:
            return (await stream.wait_response()).text
    except ProviderError as error:
        return error.kind
    except PlannedCrash:
        return "crash"


async def outcomes(model: Model, texts: list[str], agent: str = "a1") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(text, []).append(await outcome(model, request(text, agent=agent)))
    return found


@given(st.integers(0, 2**32), st.lists(st.sampled_from("abcdefgh"), max_size=20), st.randoms(use_true_random=False))
def test_neither_the_order_nor_the_agent_changes_what_goes_wrong(seed: int, texts: list[str], random: object) -> None:
    mixed = sorted(texts, key=lambda _: random.random())  # type: ignore[attr-defined] # a Random

    async def both() -> None:
        first = await outcomes(chaotic(playbook(), seed, STORMY), texts, "a1")
        again = await outcomes(chaotic(playbook(), seed, STORMY), mixed, "a2")
        assert first == again

    trio.run(both, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_seeds_and_shares_decide_how_often(autojump_clock: trio.testing.MockClock) -> None:
    texts = [f"text {number}" for number in range(400)]

    found = await outcomes(chaotic(playbook(), 7, STORMY), texts)
    other = await outcomes(chaotic(playbook(), 8, STORMY), texts)

    counts = Counter(entry[0] for entry in found.values())
    for kind in ("overloaded", "cut", "timeout", "crash"):
        assert 50 < counts[kind] < 110, counts
    assert found != other
    calm = await outcomes(chaotic(playbook(), 7, always()), texts)
    assert calm == {text: [f"Heard {text}."] for text in texts}


@pytest.mark.parametrize(
    ("faults", "kind", "took_s"),
    [
        (always(overloaded=1.0), "overloaded", 0.0),
        (always(cut=1.0), "cut", 0.0),
        (always(hang=1.0), "timeout", 3.0),
        (always(crash=1.0), "crash", 0.0),
    ],
)
async def test_a_request_fails_twice_and_then_goes_through(
    faults: FaultRates, kind: str, took_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    model = chaotic(playbook(), 1, faults)
    began = trio.current_time()

    assert await outcomes(model, ["x"] * 3) == {"x": [kind, kind, "Heard x."]}
    assert trio.current_time() - began == pytest.approx(2 * took_s)


async def test_a_request_that_was_changed_between_two_attempts_fails_no_more_often() -> None:
    """It goes out as another one, and its attempts are counted on."""
    model = chaotic(playbook(), 7, always(overloaded=1.0))

    first = await outcome(model, request("a"))
    second = await outcome(model, attrs.evolve(request("b"), attempt=2))
    third = await outcome(model, attrs.evolve(request("c"), attempt=3))

    assert (first, second, third) == ("overloaded", "overloaded", "Heard c.")


async def test_retries_hide_all_but_crashes(autojump_clock: trio.testing.MockClock) -> None:
    texts = [f"text {number}" for number in range(100)]
    model = retrying(chaotic(playbook(), 3, STORMY))

    found = await outcomes(model, texts)

    assert all(one in {"crash", f"Heard {text}."} for text, (one,) in found.items())
    assert 10 < sum(one == ["crash"] for one in found.values()) < 50


async def test_crashes_are_few_and_spare_whom_they_should() -> None:
    faults = FaultRates(crash=1.0, most_crashes=2, spared=frozenset({"lead"}))
    model = chaotic(playbook(), 1, faults)

    assert await outcome(model, request("x", "lead")) == "Heard x."
    assert [await outcome(model, request(text)) for text in "abcd"] == ["crash", "crash", "Heard c.", "Heard d."]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_none_and_all(share: float) -> None:
    with pytest.raises(ValueError, match="cut must be a share"):
        FaultRates(cut=share)
