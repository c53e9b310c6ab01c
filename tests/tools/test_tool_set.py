from __future__ import annotations

import pytest

from greenroom.core import UsageError
from greenroom.tools import FunctionTool, ToolSet, UnknownTool, tool


def named(name: str) -> FunctionTool:
    @tool(name=name)
    async def one(text: str) -> str:
        """Does it."""
        return text

    return one


def test_tools_are_found_by_name_in_the_order_in_which_they_were_given() -> None:
    b, a = named("B"), named("A")

    tools = ToolSet([b, a])

    assert list(tools) == ["B", "A"]
    assert tools["A"] is a
    assert tools.find("B") is b
    assert len(tools) == 2
    assert repr(tools) == "ToolSet(B, A)"


def test_schemas_are_what_a_request_says() -> None:
    b = named("B")

    schemas = ToolSet([b]).schemas

    assert schemas == (("B", "Does it.", b.input_schema),)
    assert schemas[0].name == "B"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="'A'"):
        ToolSet([named("A"), named("A")])


def test_an_unknown_tool_is_answered_with_what_there_is() -> None:
    with pytest.raises(UnknownTool) as caught:
        ToolSet([named("B"), named("A")]).find("C")

    assert caught.value.name == "C"
    assert caught.value.known == ("B", "A")
    assert "B, A" in str(caught.value)


def test_an_empty_set_knows_nothing() -> None:
    with pytest.raises(UnknownTool, match="no tools"):
        ToolSet().find("A")
