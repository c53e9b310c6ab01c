from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest

from greenroom.core import UsageError
from greenroom.tools import Arg, InvalidInput, Tool, ToolContext, ToolError, tool
from greenroom.tools._function_tools import tool_schema
from tests.tools.calls import context

if TYPE_CHECKING:
    from decimal import Decimal


class Color(Enum):
    RED = "red"


@tool(read_only=True)
async def find_it(
    what: str, deep: Annotated[bool, Arg(name="-d")] = False, color: Color = Color.RED, *, ctx: ToolContext
) -> str:
    """Find something
    in the folder.

    More for people.

    Args:
        what: The thing,
            on two lines.
        deep: Whether to look below.
    """
    return f"{what} {deep} {color.name} in {ctx.cwd.name}"


def test_a_function_becomes_a_tool() -> None:
    made: Tool = find_it

    assert made.name == "FindIt"
    assert made.description == "Find something in the folder."
    assert made.is_read_only
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "what": {"type": "string", "description": "The thing, on two lines."},
            "-d": {"type": "boolean", "description": "Whether to look below.", "default": False},
            "color": {"type": "string", "enum": ["red"], "default": "red"},
        },
        "required": ["what"],
        "additionalProperties": False,
    }
    assert made.input_schema == tool_schema(find_it.function)
    assert repr(made) == "<tool FindIt>"


def test_the_bare_decorator_makes_a_tool_that_may_write() -> None:
    @tool
    async def touch() -> str:
        """Touches."""
        return "done"

    assert touch.name == "Touch"
    assert not touch.is_read_only
    assert touch.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_name_and_description_can_be_given() -> None:
    @tool(name="mcp__x__y-z", description="Says it all.")
    async def anything() -> str:
        return ""

    assert (anything.name, anything.description) == ("mcp__x__y-z", "Says it all.")


async def test_a_call_gets_structured_values_its_context_and_the_defaults(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    assert await find_it.call({"what": "a", "-d": True, "color": "red"}, ctx) == f"a True RED in {tmp_path.name}"
    assert await find_it.call({"what": "a"}, ctx) == f"a False RED in {tmp_path.name}"


async def test_a_tool_without_a_context_is_called_without_one(tmp_path: Path) -> None:
    @tool
    async def double(number: int) -> str:
        """Doubles."""
        return str(2 * number)

    assert await double.call({"number": 4.0}, context(tmp_path)) == "8"


@pytest.mark.parametrize("values", [{}, {"what": 1}, {"what": "a", "ctx": 1}, {"what": "a", "deep": True}])
async def test_bad_input_never_reaches_the_function(values: dict[str, Any], tmp_path: Path) -> None:
    """Not `ctx` either, and an argument has only the name that the schema gives it."""
    with pytest.raises(InvalidInput) as caught:
        await find_it.call(values, context(tmp_path))
    assert caught.value.tool == "FindIt"


async def test_what_the_function_raises_comes_out_as_it_is(tmp_path: Path) -> None:
    @tool
    async def refuse(how: str) -> str:
        """Refuses."""
        raise ToolError("no") if how == "politely" else RuntimeError(how)

    with pytest.raises(ToolError, match="no"):
        await refuse.call({"how": "politely"}, context(tmp_path))
    with pytest.raises(RuntimeError, match="loudly"):
        await refuse.call({"how": "loudly"}, context(tmp_path))


async def test_an_answer_that_is_no_text_is_the_authors_mistake(tmp_path: Path) -> None:
    @tool
    async def count() -> str:
        """Counts."""
        return 3  # type: ignore[return-value]

    with pytest.raises(UsageError):
        await count.call({}, context(tmp_path))


def not_async() -> str:
    """Waits for nothing."""
    return ""


async def no_docstring() -> str:
    return ""


async def untyped(value) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Has no type."""
    return str(value)


async def starred(*values: int) -> str:
    """Takes any number."""
    return str(values)


async def positional(value: int, /) -> str:
    """Takes one without a name."""
    return str(value)


async def wrong_return() -> int:
    """Counts."""
    return 1


async def unknown_argument(value: int) -> str:
    """Documents too much.

    Args:
        valeu: A typo.
    """
    return str(value)


async def same_name(a: int, b: Annotated[int, Arg(name="a")]) -> str:
    """Has two of one name."""
    return str(a + b)


async def bad_argument_name(a: Annotated[int, Arg(name="with space")]) -> str:
    """Has a strange name."""
    return str(a)


async def type_checking_only(a: Decimal) -> str:
    """Has a type that is not there at run time."""
    return str(a)


@attrs.define
class Bill:
    sum: Decimal


async def type_checking_only_within(a: Bill) -> str:
    """Has a type with such a type in it."""
    return str(a)


async def no_schema(a: set[int]) -> str:
    """Has a type without a schema."""
    return str(a)


@pytest.mark.parametrize(
    "function",
    [
        not_async,
        no_docstring,
        untyped,
        starred,
        positional,
        wrong_return,
        unknown_argument,
        same_name,
        bad_argument_name,
        type_checking_only,
        type_checking_only_within,
        no_schema,
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_it_is_decorated(function: Any) -> None:
    with pytest.raises(UsageError, match=function.__name__):
        tool(function)


@pytest.mark.parametrize("name", ["", "with space", "ünïcode", "x" * 65])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    async def fine() -> str:
        """Is fine."""
        return ""

    with pytest.raises(UsageError):
        tool(name=name)(fine)
