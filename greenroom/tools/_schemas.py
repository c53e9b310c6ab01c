"""From Python types to JSON schemas, for the subset that tools need.

Rule 1: the schema is the only truth about an input: what `validate` accepts, and nothing else, reaches the tool.
Rule 2: a type that cannot be said exactly is refused when the tool is made, never when it is called.
Must not know: values, functions and models.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_typed_dict

import attrs

from greenroom.core import UsageError
from greenroom.tools._docstrings import describe

Schema = dict[str, Any]

_SCALARS: Final[Mapping[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    None: "null",
    types.NoneType: "null",
}


@attrs.frozen(kw_only=True)
class Arg:
    """Details of an argument that a type cannot express, for `Annotated[int, Arg(minimum=1)]`."""

    name: str | None = None
    """The name for the model, if it is not a Python name, such as `-A`."""
    minimum: int | None = None
    """The least number that is accepted."""
    maximum: int | None = None
    """The greatest number that is accepted."""

    def bound(self, schema: Schema, place: str) -> Schema:
        """Return `schema` with the limits in it.

        Raises:
            UsageError: There are limits, and the schema takes no number.
        """
        both = {"minimum": self.minimum, "maximum": self.maximum}
        limits = {word: limit for word, limit in both.items() if limit is not None}
        kinds = schema.get("type", ())
        if limits and not {"integer", "number"} & set([kinds] if isinstance(kinds, str) else kinds):
            raise UsageError(f"{place}: minimum and maximum are for numbers")
        return {**schema, **limits}


def schema_of(annotation: Any, *, place: str = "the type") -> Schema:
    """Return the JSON schema of a type.

    Args:
        annotation: A resolved type: str, int, float, bool, None, Any, Literal, an Enum of strings or integers, list,
            tuple, dict with string keys, Sequence, Mapping, a union, an attrs class, a TypedDict, or Annotated of these.
        place: Where the type stands, for the error.

    Raises:
        UsageError: The type has no exact schema here.
    """
    return _schema(annotation, place, ())


def fields_of(owner: type, *, place: str = "the type") -> dict[str, Any]:
    """Return the names and resolved types of an attrs class's or TypedDict's fields, by the names that JSON uses."""
    hints = _resolved(owner, place)
    if is_typed_dict(owner):
        return hints
    return {field.alias or field.name: hints[field.name] for field in attrs.fields(owner) if field.init}


def object_schema(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    """Return the schema of an object with exactly these properties."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return schema


def _schema(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    if annotation is Any or annotation is object:
        return {}
    try:
        scalar = _SCALARS.get(annotation)
    except TypeError:  # something unhashable was written as a type
        scalar = None
    if scalar is not None:
        return {"type": scalar}
    origin = get_origin(annotation)
    if origin in _GENERIC:
        return _GENERIC[origin](annotation, place, inside)
    if annotation in (list, tuple, dict):
        raise UsageError(f"{place}: say what is inside, such as {annotation.__name__}[...]")
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return _choice([member.value for member in annotation], place)
        if attrs.has(annotation) or is_typed_dict(annotation):
            return _class_schema(annotation, place, inside)
    raise UsageError(f"{place}: {annotation!r} has no JSON schema that a tool could check")


def _class_schema(owner: type, place: str, inside: tuple[type, ...]) -> Schema:
    if owner in inside:
        raise UsageError(f"{place}: {owner.__name__} contains itself, which a tool's input cannot")
    described = describe(owner)
    properties: dict[str, Schema] = {}
    for name, annotation in fields_of(owner, place=place).items():
        schema = _schema(annotation, f"{place}.{name}", (*inside, owner))
        text = described.entries.get(name)
        properties[name] = {**schema, "description": text} if text else schema
    schema = object_schema(properties, [name for name in properties if name in _required(owner, place)])
    # attrs writes no docstring, a TypedDict inherits none: what is there was written for a reader.
    return {**schema, "description": described.summary} if described.summary else schema


def _required(owner: type, place: str) -> frozenset[str]:
    if is_typed_dict(owner):
        # `__required_keys__` is wrong if annotations are strings: it does not see `NotRequired` in them.
        marks = {name: get_origin(hint) for name, hint in _resolved(owner, place).items()}
        keys: frozenset[str] = owner.__required_keys__  # type: ignore[attr-defined]  # every TypedDict has it
        return frozenset(n for n, mark in marks.items() if mark is Required or (n in keys and mark is not NotRequired))
    return frozenset(f.alias or f.name for f in attrs.fields(owner) if f.init and f.default is attrs.NOTHING)


def _resolved(owner: type, place: str) -> dict[str, Any]:
    try:
        return get_type_hints(owner, include_extras=True)
    except NameError as error:
        raise UsageError(f"{place}: {owner.__name__} cannot be read: {error}; import that name for real") from error


def _annotated(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    inner, *extras = get_args(annotation)
    schema = _schema(inner, place, inside)
    for extra in extras:
        if isinstance(extra, Arg):
            if extra.name is not None:
                raise UsageError(f"{place}: only an argument of the tool itself can be renamed with Arg")
            schema = extra.bound(schema, place)
    return schema


def _wrapped(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    return _schema(get_args(annotation)[0], place, inside)


def _literal(annotation: Any, place: str, _: tuple[type, ...]) -> Schema:
    return _choice(list(get_args(annotation)), place)


def _choice(values: list[Any], place: str) -> Schema:
    if not values or any(type(value) not in {str, int, bool, types.NoneType} for value in values):
        raise UsageError(f"{place}: only strings, integers, booleans and None can be chosen from, not {values!r}")
    kinds = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


def _list(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    return {"type": "array", "items": _schema(get_args(annotation)[0], f"{place}[]", inside)}


def _tuple(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    members = get_args(annotation)
    if len(members) == 2 and members[1] is ...:
        return {"type": "array", "items": _schema(members[0], f"{place}[]", inside)}
    schemas = [_schema(member, f"{place}[{at}]", inside) for at, member in enumerate(members)]
    return {"type": "array", "prefixItems": schemas, "minItems": len(schemas), "maxItems": len(schemas)}


def _dict(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    key, value = get_args(annotation)
    if key is not str:
        raise UsageError(f"{place}: the keys of a JSON object are strings, not {key!r}")
    return {"type": "object", "additionalProperties": _schema(value, f"{place}[]", inside)}


def _union(annotation: Any, place: str, inside: tuple[type, ...]) -> Schema:
    members = [_schema(member, place, inside) for member in get_args(annotation)]
    if all(set(member) == {"type"} and isinstance(member["type"], str) for member in members):
        return {"type": [member["type"] for member in members]}
    return {"anyOf": members}


_GENERIC: Final[Mapping[Any, Callable[[Any, str, tuple[type, ...]], Schema]]] = {
    Annotated: _annotated,
    Literal: _literal,
    NotRequired: _wrapped,
    Required: _wrapped,
    Union: _union,
    collections.abc.Mapping: _dict,
    collections.abc.Sequence: _list,
    dict: _dict,
    list: _list,
    tuple: _tuple,
    types.UnionType: _union,
}
