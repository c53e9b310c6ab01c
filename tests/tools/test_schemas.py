from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import attrs
import pytest

from greenroom.core import UsageError
from greenroom.tools import Arg
from greenroom.tools._schemas import schema_of


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@attrs.frozen
class Point:
    """A place.

    Attributes:
        x: To the right.
    """

    x: int
    y: float = 0.0
    _tag: str = ""
    hidden: int = attrs.field(init=False, default=3)


class Options(TypedDict):
    """What may be said."""

    depth: int
    label: NotRequired[str]


@attrs.define
class Nested:
    inside: Nested | None


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (int | None, {"type": ["integer", "null"]}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, True], {"type": ["string", "integer", "boolean"], "enum": ["a", 1, True]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"type": "integer", "enum": [1, 2]}),
        (Annotated[int, Arg(minimum=1, maximum=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[int | None, Arg(minimum=1)], {"type": ["integer", "null"], "minimum": 1}),
        (
            list[int] | str,
            {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
        ),
    ],
)
def test_each_type_has_its_schema(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


def test_an_attrs_class_is_an_object_with_descriptions_from_its_docstring() -> None:
    """Names are those that the class is made with; what it makes itself is not asked for."""
    assert schema_of(Point) == {
        "type": "object",
        "description": "A place.",
        "properties": {
            "x": {"type": "integer", "description": "To the right."},
            "y": {"type": "number"},
            "tag": {"type": "string"},
        },
        "required": ["x"],
        "additionalProperties": False,
    }


def test_a_typed_dict_may_leave_out_what_is_not_required() -> None:
    schema = schema_of(Options)

    assert schema["required"] == ["depth"]
    assert schema["properties"]["label"] == {"type": "string"}
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "annotation",
    [list, dict, tuple, set[int], bytes, dict[int, str], complex, Nested, Literal[b"x"], Enum, "str", [int]],
)
def test_a_type_that_cannot_be_said_exactly_is_refused(annotation: Any) -> None:
    with pytest.raises(UsageError, match="the place"):
        schema_of(annotation, place="the place")


def test_limits_on_text_and_names_within_types_are_refused() -> None:
    with pytest.raises(UsageError):
        schema_of(Annotated[str, Arg(minimum=1)])
    with pytest.raises(UsageError):
        schema_of(list[Annotated[int, Arg(name="-n")]])
