from __future__ import annotations

import json
import re
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.models import (
    AnswerLike,
    Call,
    Message,
    ModelRequest,
    ModelResponse,
    PlaybookModel,
    Say,
    TextBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    Usage,
)


def reader(request: ModelRequest) -> AnswerLike:
    """Read two files, then tell how long they were."""
    results = [block for message in request.messages for block in message.content if isinstance(block, ToolResultBlock)]
    if not results:
        return [Say("Reading."), Call("Read", {"path": "a"}), Call("Read", {"path": "b"})]
    return f"{sum(len(result.content) for result in results)} characters"


async def ask(request: ModelRequest) -> ModelResponse:
    model = PlaybookModel({"reader": reader, "silent": lambda _: ""})
    async with model.open(), model.stream(request) as stream:
        return await stream.wait_response()


def asked(*messages: Message, agent: str = "a1") -> ModelRequest:
    return ModelRequest((Message.user("Go"), *messages), definition="reader", agent=agent)


async def test_the_conversation_is_the_only_memory() -> None:
    first = await ask(asked())
    results = tuple(ToolResultBlock(use.id, "12345") for use in first.tool_uses)

    second = await ask(asked(first.message, Message("user", results)))

    assert [use.input for use in first.tool_uses] == [{"path": "a"}, {"path": "b"}]
    assert second.text == "10 characters"
    assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")


async def test_the_same_conversation_gets_the_same_answer() -> None:
    assert await ask(asked()) == await ask(asked())


async def test_ids_of_calls_are_unique_in_a_conversation_and_fit_the_provider() -> None:
    first = await ask(asked(agent="reviewer@team"))
    ids = [use.id for use in first.tool_uses]
    later = await ask(asked(Message("assistant", (ToolUseBlock(ids[0], "Read", {}),)), agent="reviewer@team"))

    assert ids == ["toolu_reviewer-team_1_1", "toolu_reviewer-team_1_2"]
    assert [use.id for use in later.tool_uses] == ["toolu_reviewer-team_2_1", "toolu_reviewer-team_2_2"]
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", one) for one in ids)


async def test_usage_is_estimated_from_the_characters() -> None:
    tool = ToolSchema("Read", "Reads.", {})
    request = ModelRequest((Message.user("x" * 38),), system="y" * 40, tools=(tool,), definition="reader")

    response = await ask(request)

    assert response.usage == Usage((38 + 40 + len("ReadReads.{}")) // 4 + 1, (8 + 2 * len('Read{"path":"a"}')) // 4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_call_and_a_tool_count_as_the_characters_of_their_json(
    values: dict[str, Any], schema: dict[str, Any]
) -> None:
    """Whole numbers of more than 64 bits too, which not every writer takes."""
    call = Message("assistant", (ToolUseBlock("t1", "Read", values),))
    request = ModelRequest((Message.user("Go"), call), tools=(ToolSchema("Read", "", schema),), definition="silent")
    sizes = [len(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in (values, schema)]

    for _ in range(2):  # the second time from what is known
        assert trio.run(ask, request).usage.input_tokens == -(-(len("GoReadRead") + sum(sizes)) // 4)


async def test_an_empty_answer_has_no_content() -> None:
    response = await ask(ModelRequest((Message.user("Go"),), definition="silent"))
    assert (response.content, response.stop_reason) == ((), "end_turn")


def test_an_unknown_definition_is_refused_with_the_names_of_the_known_ones() -> None:
    model = PlaybookModel({"reader": reader, "lead": reader})
    with pytest.raises(UsageError, match="'lead', 'reader'"):
        model.stream(ModelRequest((), definition="tester"))
    assert repr(model) == "<PlaybookModel 'playbook' for lead, reader>"


def test_a_response_is_the_message_that_is_appended() -> None:
    response = ModelResponse((TextBlock("hi"),), "end_turn", Usage(), "playbook")
    assert response.message == Message("assistant", (TextBlock("hi"),))
