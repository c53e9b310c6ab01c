"""Whatever happened to a conversation, what is made of it is one that a provider accepts."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import encode_message
from greenroom.agents._blocks import LOST_RESULT, decode_message
from greenroom.agents._repair import faults_of, repair
from greenroom.core import Image
from greenroom.models import Block, Message, ModelRequest, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from greenroom.models.recordings._plain_values import plain, request_of
from tests.agents.conversations import damaged_conversations, sound_conversations

IDS = st.sampled_from("abcd")
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, st.sampled_from(["", " \n", "text", "more"])),
    st.builds(ThinkingBlock, st.just("hm"), st.just("signed")),
    st.builds(ToolUseBlock, IDS, st.just("Look"), st.just({})),
    st.builds(ToolResultBlock, IDS, st.sampled_from(["", "seen"])),
)
ANYTHING = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=5).map(tuple)))


@given(sound_conversations())
def test_a_sound_conversation_is_returned_as_it_is(messages: list[Message]) -> None:
    assert faults_of(messages) == []
    repaired = repair(messages)
    assert repaired.messages == tuple(messages)
    assert repaired.notes == ()


@given(damaged_conversations() | ANYTHING)
def test_any_conversation_becomes_one_that_a_provider_accepts(messages: list[Message]) -> None:
    """CL-29, CL-30."""
    repaired = repair(messages)

    assert faults_of(repaired.messages) == []
    assert repair(repaired.messages).messages == repaired.messages
    if faults_of(messages):
        assert repaired.notes or repaired.messages != tuple(messages)
    else:
        assert repaired.messages == tuple(messages)


@given(damaged_conversations())
def test_no_text_and_no_answered_call_is_lost(messages: list[Message]) -> None:
    repaired = repair(messages).messages

    def said(some: list[Message] | tuple[Message, ...]) -> list[str]:
        return [b.text for m in some for b in m.content if isinstance(b, TextBlock) and not b.text.startswith("(The ")]

    assert sorted(said(repaired)) == sorted(said(messages))
    kept = {call.id for message in repaired for call in message.tool_uses}
    assert kept == {call.id for message in messages for call in message.tool_uses}


def call(name: str) -> ToolUseBlock:
    return ToolUseBlock(name, "Look", {})


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([Message("assistant", (TextBlock("Hello."),))], "should be the user's"),
        ([Message.user("a"), Message.user("b")], "should be the assistant's"),
        ([Message("user", ())], "is empty"),
        ([Message.user(" ")], "blank"),
        ([Message.user("a"), Message("assistant", (call("1"),))], "have no results"),
        ([Message("user", (ToolResultBlock("1", "x"),))], "were asked for"),
        ([Message.user("a"), Message("assistant", (ThinkingBlock("hm", "s"),))], "ends with thinking"),
        ([Message("user", (call("1"),))], "is not the user's"),
    ],
)
def test_each_rule_of_the_provider_is_looked_at(messages: list[Message], fault: str) -> None:
    assert any(fault in each_fault for each_fault in faults_of(messages))
    assert faults_of(repair(messages).messages) == []


@given(st.text(), st.lists(st.binary(max_size=20), max_size=3))
def test_a_result_with_images_is_read_as_it_was_written(text: str, contents: list[bytes]) -> None:
    images = tuple(Image("image/png", base64.b64encode(content).decode()) for content in contents)
    text = text if text.strip() or not images else ""
    message = Message("user", (ToolResultBlock("t1", text, images=images),))

    written = json.loads(json.dumps(encode_message(message)))

    assert decode_message(written, source="here") == message
    assert request_of(json.loads(json.dumps(plain(ModelRequest((message,)))))).messages == (message,)


def test_what_others_write_into_results_is_shown_or_said_to_be_left_out() -> None:
    source = {"type": "base64", "media_type": "image/tiff", "data": "AAAA"}
    shown = {"type": "base64", "media_type": "image/gif", "data": "AAAA"}
    content = [{"type": "text", "text": "a"}, {"type": "image", "source": source}, {"type": "image", "source": shown}]
    written = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": content}]}

    (block,) = decode_message(written, source="here").content

    assert block == ToolResultBlock("t1", "a\n(left out)", images=(Image("image/gif", "AAAA"),))


def test_a_result_stands_in_front_of_text_and_belongs_to_one_call() -> None:
    asked = Message("assistant", (call("1"), call("2")))
    answer = (TextBlock("note"), ToolResultBlock("2", "two"), ToolResultBlock("2", "again"), ToolResultBlock("9", "?"))

    repaired = repair([Message.user("a"), asked, Message("user", answer)])

    assert repaired.messages[2].content == (
        ToolResultBlock("2", "two"),
        ToolResultBlock("1", LOST_RESULT, is_error=True),
        TextBlock("note"),
    )
    assert len(repaired.notes) == 3
