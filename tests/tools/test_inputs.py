from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_type_hints

import attrs
import cattrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools import Arg, FunctionTool, InvalidInput, Problem, ToolError, tool, validate
from greenroom.tools._input_reader import structure
from greenroom.tools._schemas import schema_of


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Edit:
    line: int
    text: str
    is_last: bool = False


class Options(TypedDict):
    depth: int
    label: NotRequired[str]


def positive(_: Any, attribute: Any, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{attribute.name} has to be positive")


@attrs.frozen
class Checked:
    size: int = attrs.field(validator=positive)


@tool
async def everything(
    text: str,
    number: float,
    edits: list[Edit],
    options: Options,
    color: Color,
    pair: tuple[int, str],
    counts: dict[str, int],
    either: int | list[str] | Edit | None,
    word: Literal["a", "b", 3],
    small: Annotated[int, Arg(minimum=-2, maximum=2)],
    anything: Any = None,
    flag: Annotated[bool, Arg(name="-f")] = False,
) -> str:
    """Takes one of each."""
    raise NotImplementedError


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema accepts."""
    if "anyOf" in schema:
        return st.one_of([fitting(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", "null")
    if isinstance(kinds, list):
        return st.one_of([fitting({**schema, "type": kind}) for kind in kinds])
    low, high = schema.get("minimum"), schema.get("maximum")
    if kinds == "integer":
        whole = st.integers(low, high)
        return whole | whole.filter(lambda n: abs(n) < 2**53).map(float)
    if kinds == "array" and "prefixItems" in schema:
        return st.tuples(*[fitting(item) for item in schema["prefixItems"]]).map(list)
    if kinds == "array":
        return st.lists(fitting(schema["items"]), max_size=3)
    if kinds == "object" and "properties" in schema:
        all_of_them = {name: fitting(one) for name, one in schema["properties"].items()}
        needed = {name: all_of_them.pop(name) for name in schema.get("required", [])}
        return st.fixed_dictionaries(needed, optional=all_of_them)
    if kinds == "object":
        return st.dictionaries(st.text(max_size=5), fitting(schema["additionalProperties"]), max_size=3)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text(max_size=5),
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return simple[kinds]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


def is_within(given: Any, made: Any) -> bool:
    """Whether `made` says what `given` said, and perhaps defaults too."""
    if isinstance(given, dict):
        return isinstance(made, dict) and all(
            name in made and is_within(one, made[name]) for name, one in given.items()
        )
    if isinstance(given, list):
        made = list(made)
        return len(given) == len(made) and all(map(is_within, given, made))
    return bool(given == made)


@given(fitting(dict(everything.input_schema)))
def test_what_a_schema_accepts_arrives_unchanged(values: dict[str, Any]) -> None:
    arguments = everything.arguments(values)

    given_by_name = {"flag" if name == "-f" else name: one for name, one in values.items()}
    assert is_within(given_by_name, cattrs.Converter().unstructure(arguments))


@given(fitting(dict(everything.input_schema)))
def test_values_have_the_types_of_the_signature(values: dict[str, Any]) -> None:
    arguments = everything.arguments(values)

    assert type(arguments["number"]) is float
    assert type(arguments["small"]) is int
    assert type(arguments["color"]) is Color
    assert type(arguments["pair"]) is tuple
    assert all(type(edit) is Edit and type(edit.line) is int for edit in arguments["edits"])
    assert isinstance(arguments["either"], int | list | Edit | None)


@given(
    fitting(dict(everything.input_schema)),
    st.dictionaries(st.sampled_from([*everything.input_schema["properties"], "x"]), JUNK),
)
def test_junk_is_refused_with_a_tool_error_and_nothing_else(values: dict[str, Any], junk: dict[str, Any]) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        everything.arguments({**values, **junk})
    except InvalidInput as error:
        problems = error.problems

    assert {problem.path.split(".")[0].split("[")[0] for problem in problems} <= set(junk)


@given(JUNK)
def test_an_input_that_is_no_object_is_refused(junk: Any) -> None:
    with pytest.raises(ToolError):
        everything.arguments(junk)


def test_every_problem_is_named_with_what_was_given_and_what_is_expected() -> None:
    values = {
        "edits": [{"line": "3", "text": "x"}, {"text": 4, "lines": 1}],
        "number": True,
        "small": 3,
        "colour": "red",
    }

    problems = validate(schema_of(Edit), values["edits"][1], "edits[1]")  # type: ignore[index]
    assert problems == [
        Problem("edits[1].line", "", "an integer"),
        Problem("edits[1].text", "4", "a string"),
        Problem("edits[1].lines", "1", "no argument of this name (there are: line, text, is_last)"),
    ]
    with pytest.raises(InvalidInput) as caught:
        everything.arguments(values)
    found = {problem.path: (problem.given, problem.expected) for problem in caught.value.problems}
    assert found["edits[0].line"] == ("'3'", "an integer")
    assert found["number"] == ("true", "a number")
    assert found["small"] == ("3", "an integer of at least -2 and at most 2")
    assert found["text"] == ("", "a string")
    assert found["colour"][0] == "'red'"
    assert "- number: expected a number, got true" in str(caught.value)
    assert "- text: expected a string, got nothing" in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, True),
        (int, 1.5),
        (float, "1"),
        (float, float("nan")),
        (float, float("inf")),
        (float, 10**400),
        (bool, 1),
        (bool, "true"),
        (str, 5),
        (list[str], "abc"),
        (Literal[1], True),
        (tuple[int, str], [1]),
        (dict[str, int], {"a": "b"}),
        (dict[str, int], [["a", 1]]),
    ],
)
def test_nothing_is_guessed(annotation: Any, value: Any) -> None:
    assert len(validate(schema_of(annotation), value)) == 1


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    assert validate(schema_of(int), 5.0) == []
    assert validate(schema_of(int), 10**400) == []
    assert validate(schema_of(float), int(sys.float_info.max)) == []


def test_in_a_union_the_member_that_nearly_fits_is_explained() -> None:
    assert validate(schema_of(list[int] | str), [1, "x"]) == [Problem("[1]", "'x'", "an integer")]
    assert [p.expected for p in validate(schema_of(list[int] | Edit), 4)] == ["a list (of an integer) or an object"]


class Boxes(TypedDict):
    boxes: NotRequired[list[Checked]]


def test_what_a_class_within_others_refuses_has_its_path() -> None:
    @tool
    async def pack(what: dict[str, Boxes] | None) -> str:
        """Packs."""
        return str(what)

    with pytest.raises(InvalidInput) as caught:
        pack.arguments({"what": {"left": {"boxes": [{"size": 1}, {"size": 0}]}}})
    assert [problem.path for problem in caught.value.problems] == ["what['left'].boxes[1]"]


async def test_what_a_class_itself_refuses_is_a_problem_like_any_other() -> None:
    @tool
    async def resize(box: Checked) -> str:
        """Resizes."""
        return str(box.size)

    with pytest.raises(InvalidInput) as caught:
        resize.arguments({"box": {"size": -1}})
    assert "has to be positive" in str(caught.value)


def test_huge_and_deep_junk_is_shown_shortly() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    try:
        for junk in (deep, "x" * 10**6, 10**5000, {"k" * 10**6: 1}, [{"a": "b" * 1000}] * 1000):
            with pytest.raises(InvalidInput) as caught:
                everything.arguments({"text": junk, "k" * 10**6: junk})
            assert len(str(caught.value)) < 5_000
    finally:
        while deep:  # nested lists are freed recursively
            deep = deep.pop()


def test_a_flood_of_problems_is_cut() -> None:
    with pytest.raises(InvalidInput) as caught:
        everything.arguments({f"x{at}": at for at in range(1_000)})
    assert len(caught.value.problems) > 1_000
    assert len(str(caught.value)) < 10_000


@tool
async def plain(text: str, count: int = 1, *, is_loud: bool = False) -> str:
    """Takes what most calls consist of."""
    return f"{text} {count} {is_loud}"


@given(st.dictionaries(st.sampled_from(["text", "count", "is_loud", "other"]), JUNK))
def test_plain_calls_take_a_shorter_way_to_the_same_answer(values: dict[str, Any]) -> None:
    arguments = taken(plain, values)

    if arguments is not None:
        assert arguments == values
        assert type(arguments.get("count", 1)) is int


def taken(one: FunctionTool, values: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of an input; None where it is refused, with just what its schema finds."""
    problems = validate(one.input_schema, values)
    try:
        arguments = one.arguments(values)
    except InvalidInput as error:
        assert list(error.problems) == problems  # noqa: PT017 - both outcomes are right
        return None
    assert problems == []
    return arguments


@tool
async def mixed(
    status: Literal["pending", "done"] | None = None,
    owner: str | None = None,
    ids: list[str] | None = None,
    color: Color | str = "red",
    level: int | float = 0,  # noqa: PYI041 - as people write it
    size: Annotated[int | None, Arg(minimum=1)] = None,
    word: Literal["a", 1] = "a",
) -> str:
    """Takes unions of what is plain and what is not."""
    return f"{status} {owner} {ids} {color} {level} {size} {word}"


NAMES = st.sampled_from(["status", "owner", "ids", "color", "level", "size", "word"])
VALUES = st.one_of(
    st.sampled_from([None, "pending", "done", "red", "a", "x", 0, 1, 2, 1.0, True, ["a"], [1], {}]), JUNK
)


@given(st.dictionaries(NAMES, VALUES))
def test_the_shorter_way_gives_what_the_schema_and_the_types_say(values: dict[str, Any]) -> None:
    arguments = taken(mixed, values)

    if arguments is not None:
        expected = {name: structure(value, _annotations(mixed)[name], name)[0] for name, value in values.items()}
        assert arguments == expected
        assert [type(value) for value in arguments.values()] == [type(expected[name]) for name in arguments]


def _annotations(one: FunctionTool) -> dict[str, Any]:
    hints = get_type_hints(one.function)
    return {name: hint for name, hint in hints.items() if name != "return"}
