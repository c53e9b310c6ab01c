"""Values that cross: what comes back is equal, and what cannot cross is said to the sender."""

from __future__ import annotations

import math
from contextlib import suppress
from enum import Enum
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.remote.wire._message_codec import MessageCodec, UnreadableValue


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Point:
    x: int
    y: float = 0.0


@attrs.frozen
class Spot(Point):
    name: str = ""


@attrs.frozen(kw_only=True)
class Parcel:
    name: str
    color: Color = Color.RED
    points: list[Point] = attrs.field(factory=list)
    near: Point | None = None
    what: Point | Spot | int | None = None
    tags: tuple[str, ...] = ()
    notes: dict[str, int] = attrs.field(factory=dict)
    raw: bytes = b""
    anything: Any = None


@attrs.frozen
class Stranger:
    x: int = 0


CODEC = MessageCodec([Point, Spot, Parcel])
ints = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = st.floats(allow_nan=False)
points = st.builds(Point, ints, floats) | st.builds(Spot, ints, floats, texts)
anything = st.recursive(
    st.none() | st.booleans() | ints | floats | texts | st.binary(max_size=20) | points,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts | st.just("$"), inner, max_size=4)
    ),
    max_leaves=12,
)
parcels = st.builds(
    Parcel,
    name=texts,
    color=st.sampled_from(Color),
    points=st.lists(points, max_size=3),
    near=st.none() | points,
    what=st.none() | points | ints,
    tags=st.lists(texts, max_size=3).map(tuple),
    notes=st.dictionaries(texts, ints, max_size=3),
    raw=st.binary(max_size=20),
    anything=anything,
)


def crossed(value: object) -> object:
    return CODEC.read(orjson.loads(orjson.dumps(CODEC.write(value))))


def is_same(here: object, there: object) -> bool:
    return repr(here) == repr(there) and here == there


@pytest.mark.promise("R2-f")
@given(anything | parcels | st.lists(parcels, max_size=2))
def test_what_comes_back_is_equal_to_what_was_sent(value: object) -> None:
    assert is_same(crossed(value), value)


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, {"$": "Point", "x": 1}, Point(1, math.inf), Parcel(name="", raw=b"\0")]
)
def test_what_looks_like_something_else_comes_back_as_it_was(value: object) -> None:
    assert is_same(crossed(value), value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Stranger(), "cannot send a Stranger: its class is not registered"),
        (object(), "cannot send a object"),
        (Color.RED, "cannot send a Color"),
        ({1: 2}, "with the key 1: keys must be text"),
        ([{2**64}], "cannot send a set"),
        ([2**64], "more than 64 bits"),
        (Parcel(name="", anything=Stranger()), "cannot send a Stranger"),
        (Parcel(name="", what=Stranger()), "cannot send a Stranger"),  # type: ignore[arg-type]
        (Parcel(name="", raw=5), "cannot send a Parcel: TypeError"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_cross_is_said_to_the_sender(value: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CODEC.write(value)


@pytest.mark.promise("R2-f")
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"$": "Stranger", "x": 1}, "no registered class: 'Stranger'"),
        ({"$": "os.system"}, "no registered class"),
        ({"$": ["Point"]}, "no registered class"),
        ({"$": "Point", "x": "1"}, "is not a whole number"),
        ({"$": "Point", "x": 1, "z": 1}, "z"),
        ({"$": "Point"}, "x"),
        ({"$": "Parcel", "name": "", "points": [{"$": "Parcel", "name": ""}]}, "points"),
        ({"$": "Parcel", "name": "", "what": {"$": "Parcel", "name": ""}}, "what"),
        ({"$": "Parcel", "name": "", "color": "green"}, "color"),
        ({"$": "bytes", "of": "%"}, "base64"),
        ({"$": "bytes", "of": 1}, "base64"),
        ({"$": "tuple", "of": 1}, "must be a list"),
        ({"$": "number", "of": "1"}, "no number"),
        ({"$": "number", "of": [1]}, "no number"),
        ({"$": "object", "of": 1}, "no object"),
    ],
)
def test_what_fits_no_registered_class_is_named(value: object, says: str) -> None:
    with pytest.raises(UnreadableValue, match=says):
        CODEC.read(value)


@pytest.mark.promise("R2-f")
@given(
    st.recursive(
        st.none() | ints | texts | st.sampled_from(["Point", "Parcel", "bytes", "tuple", "object"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["$", "of", "x", "name", "points"]), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_any_json_is_read_or_named(value: object) -> None:
    with suppress(UnreadableValue):
        CODEC.read(value)


def test_two_classes_of_one_name_are_refused() -> None:
    other = attrs.make_class("Point", [])
    with pytest.raises(UsageError, match="must not have one name: Point"):
        MessageCodec([Point, other])
    with pytest.raises(UsageError, match="takes attrs classes"):
        MessageCodec([Color])
