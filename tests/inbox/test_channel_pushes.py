"""Rules for messages of channels: which attributes they may have, and how many are taken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.inbox import PushRate, attributes_of
from greenroom.inbox._channel_pushes import MAX_ATTRIBUTE_CHARS

_VALUES = st.one_of(st.text(st.characters(), max_size=20), st.integers(), st.none(), st.lists(st.text()))
_NAMES = st.one_of(st.sampled_from(["run", "source", "SOURCE", "a-b", "a b", 'x="', "1a", "_"]), st.text(max_size=8))


@given(st.one_of(st.dictionaries(_NAMES, _VALUES, max_size=8), _VALUES))
def test_attributes_of_anything_are_identifiers_with_texts(values: object) -> None:
    for name, value in attributes_of(values):
        assert name.isidentifier()
        assert name.isascii()
        assert name.lower() != "source"
        assert isinstance(values, dict)
        assert values[name] == value
        assert isinstance(value, str)


def test_attributes_beyond_the_limit_are_left_out() -> None:
    found = attributes_of({f"name{number}": "\u00e9" * 100 for number in range(50)})

    assert 0 < len(found) < 50
    assert len(json.dumps(dict(found))) <= MAX_ATTRIBUTE_CHARS


@pytest.mark.promise("R12-a")
@given(
    st.integers(1, 600),
    st.integers(1, 50),
    st.lists(st.floats(0, 30, allow_nan=False), min_size=1, max_size=200),
)
def test_a_channel_gets_a_burst_and_its_rate_through_in_any_time(
    per_minute: int, burst: int, pauses_s: list[float]
) -> None:
    rate, now_s = PushRate(per_minute, burst), 0.0
    taken: list[float] = []
    for pause_s in pauses_s:
        now_s += pause_s if pause_s > 10 else 0.0
        if rate.take(now_s):
            taken.append(now_s)

    for first, since_s in enumerate(taken):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + (taken[last] - since_s) * per_minute / 60 + 1e-6
    assert len(taken) >= min(burst, len(pauses_s))
