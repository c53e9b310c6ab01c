"""Checking what a model wrote against a schema, and making Python values of it.

Rule 1: nothing is guessed: the text "5" is not a number. A number without a fraction is an integer, as in JSON Schema.
Rule 2: all problems are found, not only the first. Rule 3: only what has passed the schema is structured; what a class
itself still refuses (a validator of attrs) becomes a problem too.
"""

from __future__ import annotations

import math
import reprlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NotRequired, Required, Union, get_args, get_origin
from typing import is_typeddict as is_typed_dict

import cattrs
from cattrs.errors import AttributeValidationNote, BaseValidationError, ClassValidationError

from greenroom.tools._schemas import Schema, fields_of, schema_of
from greenroom.tools._tool_errors import Problem

_ARTICLES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

# Made once: a call with a few arguments asks for a dozen of them.
_STRING: Final = frozenset({"string"})
_BOOLEAN: Final = frozenset({"boolean"})
_NULL: Final = frozenset({"null"})
_INTEGER: Final = frozenset({"integer", "number"})
_HUGE_INTEGER: Final = frozenset({"integer"})
_NUMBER: Final = frozenset({"number"})
_OBJECT: Final = frozenset({"object"})
_ARRAY: Final = frozenset({"array"})
_NOTHING: Final[frozenset[str]] = frozenset()


_UNCHANGED: Final = (str, bool, Any)
"""Types whose values come out as they went in."""


def validate(schema: Mapping[str, Any], value: Any, path: str = "") -> list[Problem]:
    """Return what is wrong with a value, or an empty list.

    Args:
        schema: Made by `tool_schema` or `schema_of`; words that these never write are not looked at.
        value: What JSON gives: None, bool, int, float, str, list, dict. Anything else is a problem, not an error.
        path: Where the value stands in the input.
    """
    if "anyOf" in schema:
        return _validate_any(schema["anyOf"], value, path)
    wanted = schema.get("type", ())
    kinds = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if (kinds and _kinds_of(value).isdisjoint(kinds)) or ("enum" in schema and not _is_among(value, schema["enum"])):
        return [Problem(path, shown(value), expectation(schema))]
    if isinstance(value, str):
        return []
    if isinstance(value, Mapping):
        return _validate_object(schema, value, path) if "object" in kinds else []
    if isinstance(value, list):
        return _validate_list(schema, value, path)
    if isinstance(value, int | float) and not _is_within(value, schema):
        return [Problem(path, shown(value), expectation(schema))]
    return []


def structure(value: Any, annotation: Any, path: str) -> tuple[Any, list[Problem]]:
    """Make the Python value for a type from a value that has passed the type's schema."""
    if annotation in _UNCHANGED:
        return value, []
    try:
        return _converter().structure(value, annotation), []
    except BaseValidationError as error:
        # Only a class of the tool's author gets here, by a validator or converter that says no.
        problems = cattrs.transform_error(error, path=path, format_exception=lambda problem, _: str(problem))
        return None, [_refusal(text, value) for text in problems]


def expectation(schema: Mapping[str, Any]) -> str:
    """Describe in words the values that a schema accepts."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(expectation(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(shown(choice) for choice in schema["enum"])
    wanted = schema.get("type", "anything")
    text = " or ".join(_ARTICLES.get(kind, kind) for kind in ([wanted] if isinstance(wanted, str) else wanted))
    if schema.get("items"):
        text += f" (of {expectation(schema['items'])})"
    if "prefixItems" in schema:
        text += " (of " + ", ".join(expectation(item) for item in schema["prefixItems"]) + ")"
    limits = [f"at {word} {schema[key]}" for word, key in (("least", "minimum"), ("most", "maximum")) if key in schema]
    return f"{text} of {' and '.join(limits)}" if limits else text


def shown(value: Any) -> str:
    """Return a short `repr` of whatever a model gave; it never fails and never takes long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    try:
        return _SHORT.repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits refuses to be written
        return f"a huge {type(value).__name__}"


_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlevel = 3


def _validate_any(members: Sequence[Schema], value: Any, path: str) -> list[Problem]:
    answers = [validate(member, value, path) for member in members]
    if not all(answers):
        return []
    # Where one member fits on the outside, what is wrong within says more than the list of all members.
    deeper = [problems for problems in answers if all(problem.path != path for problem in problems)]
    if len(deeper) == 1:
        return deeper[0]
    return [Problem(path, shown(value), expectation({"anyOf": members}))]


def _validate_object(schema: Mapping[str, Any], value: Mapping[Any, Any], path: str) -> list[Problem]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    problems = [
        Problem(_join(path, name), "", expectation(properties[name]))
        for name in schema.get("required", ())
        if name not in value
    ]
    for name, inner in value.items():
        if not isinstance(name, str):
            problems.append(Problem(path, f"the key {shown(name)}", "keys that are strings"))
        elif name in properties:
            problems += validate(properties[name], inner, _join(path, name))
        elif others is False:
            there_are = ", ".join(properties) or "none"
            problems.append(
                Problem(_join(path, _name(name)), shown(inner), f"no argument of this name (there are: {there_are})")
            )
        else:
            problems += validate(others, inner, f"{path}[{_name(name)!r}]")
    return problems


def _validate_list(schema: Mapping[str, Any], value: list[Any], path: str) -> list[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if not least <= len(value) <= most:
        return [Problem(path, shown(value), expectation(schema))]
    members = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
    problems: list[Problem] = []
    for at, (member, inner) in enumerate(zip(members, value, strict=True)):
        problems += validate(member, inner, f"{path}[{at}]")
    return problems


def _kinds_of(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        return _STRING
    if isinstance(value, bool):
        return _BOOLEAN
    if value is None:
        return _NULL
    if isinstance(value, int):
        # What no float can hold is an integer and no number.
        return _INTEGER if abs(value) <= sys.float_info.max else _HUGE_INTEGER
    if isinstance(value, float):
        if not math.isfinite(value):
            return _NOTHING
        return _INTEGER if value.is_integer() else _NUMBER
    if isinstance(value, Mapping):
        return _OBJECT
    return _ARRAY if isinstance(value, list) else _NOTHING


def _is_among(value: Any, choices: Sequence[Any]) -> bool:
    # True == 1 in Python, and not in JSON.
    return any(type(value) is type(choice) and value == choice for choice in choices)


def _is_within(value: float, schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _name(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else shown(name)


def _refusal(text: str, value: Any) -> Problem:
    what, _, path = text.rpartition(" @ ")
    return Problem(path, shown(value), what)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, use_alias=True)
    converter.register_structure_hook_factory(_is_union, _structure_union)
    converter.register_structure_hook_factory(is_typed_dict, _structure_typed_dict)
    converter.register_structure_hook_func(lambda annotation: annotation is object, lambda value, _: value)
    return converter


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in {Union, types.UnionType}


def _structure_union(annotation: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    members = [(member, schema_of(member)) for member in get_args(annotation)]

    def structure_union(value: Any, _: Any) -> Any:
        # The first member that accepts the value; the union's own schema says that one does.
        member = next(member for member, schema in members if not validate(schema, value))
        return None if member is types.NoneType else converter.structure(value, member)

    return structure_union


def _structure_typed_dict(owner: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    # cattrs has this, and asks for `NotRequired` keys where annotations are strings, as Python 3.11 reads them.
    hints = {name: _unmarked(hint) for name, hint in fields_of(owner).items()}

    def structure_typed_dict(value: Any, _: Any) -> Any:
        made = {}
        for name, hint in hints.items():
            if name in value:
                try:
                    made[name] = converter.structure(value[name], hint)
                except BaseValidationError as error:
                    error.add_note(AttributeValidationNote(f"in {name}", name, hint))
                    raise ClassValidationError(f"in {owner.__name__}", [error], owner) from None
        return made

    return structure_typed_dict


def _unmarked(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in {Required, NotRequired} else hint
