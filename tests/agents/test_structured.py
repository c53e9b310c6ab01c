"""Schemas of answers: what of them is checked, and that nothing that fits is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import checked_schema
from greenroom.core import UsageError
from greenroom.tools import validate

LEAVES = st.sampled_from(
    [
        ({"type": "string", "pattern": "^a"}, "abc"),
        ({"type": "integer", "minimum": 1}, 3),
        ({"type": ["boolean", "null"]}, None),
        ({"const": "x"}, "x"),
        ({"enum": [1, "b"]}, "b"),
        ({"$ref": "#/$defs/name"}, "Ann"),
        ({"allOf": [{"type": "number"}]}, 1.5),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 7),
        (True, {"anything": []}),
        ({"format": "date", "type": "string"}, "2026-11-21"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, ["a", 1]),
    ]
)
Fit = tuple[Any, Any]


def objects(inner: st.SearchStrategy[Fit]) -> st.SearchStrategy[Fit]:
    def put(members: dict[str, Fit]) -> Fit:
        schema = {"type": "object", "properties": {name: one for name, (one, _) in members.items()}}
        return schema | {"required": [*members], "additionalProperties": False}, {
            name: value for name, (_, value) in members.items()
        }

    return st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(put)


def lists(inner: st.SearchStrategy[Fit]) -> st.SearchStrategy[Fit]:
    return inner.map(lambda one: ({"type": "array", "items": one[0], "minItems": 1}, [one[1], one[1]]))


FITS = objects(st.recursive(LEAVES, lambda inner: objects(inner) | lists(inner), max_leaves=8))


@given(FITS)
def test_a_value_that_fits_a_schema_passes_what_is_checked_of_it(fit: Fit) -> None:
    schema, value = fit

    checked = checked_schema({**schema, "$defs": {"name": {"type": "string"}}})

    assert validate(checked, value) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "1"),
        ({"const": 1}, 2),
        ({"enum": ["a"]}, "b"),
        ({"$ref": "#/$defs/name"}, 3),
        ({"allOf": [{"type": "number"}]}, "x"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 1),
        ({"properties": {"x": {"type": "string"}}, "required": ["x"]}, {}),
        ({"type": "object", "required": ["x"]}, {}),
        ({"type": "object", "additionalProperties": False}, {"y": 1}),
        ({"type": "array", "items": {"type": "string"}}, [1]),
        ({"type": "array", "minItems": 1}, []),
        ({"type": "number", "maximum": 1}, 2),
    ],
)
def test_a_value_that_does_not_fit_is_found_out(schema: dict[str, Any], value: Any) -> None:
    whole = {"type": "object", "properties": {"a": schema}, "$defs": {"name": {"type": "string"}}}

    assert validate(checked_schema(whole), {"a": value}) != []


def test_a_schema_that_holds_itself_is_checked_as_deep_as_it_goes() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}

    checked = checked_schema(node)

    assert validate(checked, {"n": 1, "next": {"n": 2, "next": {}}}) == []
    assert validate(checked, {"n": 1, "next": {"n": "2"}}) != []


def test_references_in_many_places_and_in_a_ring_take_no_longer_than_others() -> None:
    ring = {"type": "object", "properties": {name: {"$ref": "#/$defs/ring"} for name in "abcdefgh"}}
    alone = {"$ref": "#/$defs/alone"}

    checked = checked_schema(ring | {"$defs": {"ring": ring, "alone": alone}})

    value: dict[str, Any] = {}
    for _ in range(10):
        value = {"h": value}
    assert validate(checked, value) == []
    assert validate(checked, {"a": {"b": {"c": 1}}}) != []
    assert checked_schema({"properties": {"x": alone}, "$defs": {"alone": alone}})["properties"] == {"x": {}}


@pytest.mark.parametrize(
    "schema", [{}, {"type": "array"}, {"type": ["object", "null"]}, {"type": "thing"}, {"$ref": "#/none"}]
)
def test_a_schema_that_is_none_of_an_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        checked_schema(schema)
