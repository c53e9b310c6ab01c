"""The Messages API as plain values: bytes cut anywhere, JSON cut anywhere, requests that only grow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core import Image, ProviderError
from greenroom.models import (
    Block,
    Message,
    ModelRequest,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
)
from greenroom.models import _messages_api as event_stream
from greenroom.models._clean_text import clean_json, to_json
from greenroom.models._messages_api import EventParser, fold, request_body
from greenroom.models._response_assembly import Assembly, read_object
from greenroom.models._types import ToolInputDelta

# --- server-sent events ----------------------------------------------------------------------------------------------


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1)),
    ending=st.sampled_from(["\n", "\r\n"]),
    random=st.randoms(use_true_random=False),
)
def test_events_are_the_same_wherever_the_bytes_are_cut(texts: list[str], ending: str, random: Any) -> None:
    stream = "".join(f": comment{ending}event: x{ending}data: {text}{ending}{ending}" for text in texts).encode()
    parser = EventParser()
    found = []
    while stream:
        size = random.randint(1, 20)
        found += parser.feed(stream[:size])
        stream = stream[size:]

    assert found == texts


def test_data_of_several_lines_is_one_event_and_no_data_is_none() -> None:
    assert EventParser().feed(b"data: a\ndata:b\nid: 7\n\nevent: ping\n\ndata:\n\ndata: not yet\n") == ["a\nb"]


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LARGEST_EVENT_BYTES", 10)
    with pytest.raises(ValueError, match="more than 10 bytes"):
        EventParser().feed(b"data: 0123456789")


# --- a tool's input --------------------------------------------------------------------------------------------------

INPUT = '{"path": "a\\"b.py", "lines": [1, 2.5, null], "deep": {"\\ud83d\\ude00": true}}'
START = {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "N", "input": {}}}
STOP = {"type": "content_block_stop"}


def folded(*events: dict[str, Any]) -> Assembly:
    assembly = Assembly("test")
    for event in events:
        fold(assembly, event)
    return assembly


def piece(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}


def ended(stop_reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 1}}


@pytest.mark.parametrize("cut", range(1, len(INPUT)))
def test_an_input_that_was_cut_anywhere_is_left_out(cut: int) -> None:
    """The model ran into its limit inside the input."""
    half = INPUT[:cut]

    assert folded(START, piece(half)).so_far.content == ()
    assert folded(START, piece(half), STOP, ended("max_tokens")).so_far.content == ()
    with pytest.raises(ProviderError) as caught:
        folded(START, piece(half), STOP, ended("tool_use"))
    assert (caught.value.kind, caught.value.is_retryable) == ("protocol", True)


@pytest.mark.parametrize("cut", range(len(INPUT) + 1))
def test_an_input_in_two_pieces_shows_when_its_block_has_ended(cut: int) -> None:
    pieces = (START, piece(INPUT[:cut]), piece(INPUT[cut:]))
    expected = {"path": 'a"b.py', "lines": [1, 2.5, None], "deep": {"\U0001f600": True}}

    assert folded(*pieces).so_far.content == ()
    assert folded(*pieces, STOP).so_far.content == (ToolUseBlock("t", "N", expected),)


@pytest.mark.parametrize("text", ["[1]", "7", "null", '{"a": NaN}', '{"a": -1e999}', "{}{}", "[" * 100_000])
def test_what_cannot_be_written_again_is_no_input(text: str) -> None:
    assert read_object(text) is None


@pytest.mark.parametrize("levels", [99, 100, 101, 300, 900])
def test_an_input_is_at_most_a_hundred_levels_deep(levels: int) -> None:
    """What is deeper could not be put on record as it is, nor be sent back."""
    text = '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)
    block = {"type": "tool_use", "id": "t", "name": "N", "input": json.loads(text)}
    start = {"type": "content_block_start", "content_block": block}

    if levels <= 100:
        assert folded(START, piece(text), STOP, ended("tool_use")).so_far.tool_uses[0].input == json.loads(text)
        assert folded(start, STOP, ended("tool_use")).so_far.tool_uses[0].input == json.loads(text)
        return
    for events in ((START, piece(text), STOP, ended("tool_use")), (start, STOP, ended("tool_use"))):
        with pytest.raises(ProviderError) as caught:
            folded(*events)
        assert (caught.value.kind, caught.value.is_retryable) == ("protocol", True)
        assert "100 levels" in str(caught.value)


TEXTS = st.text(st.characters(), max_size=20)
"""Halves of characters among them."""
PLAIN = (
    st.none() | st.booleans() | TEXTS | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
)
NESTED = PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(TEXTS, PLAIN, max_size=3)
INPUTS = st.dictionaries(TEXTS, PLAIN, max_size=3) | st.dictionaries(TEXTS, NESTED, max_size=3)


@example({"large": 2**70}, False)
@example({"written in two ways": 1e16}, False)
@example({"half of a character": "\ud800"}, False)
@example({"half of a character": "\ud800"}, True)
@given(INPUTS, st.booleans())
def test_the_fast_way_to_read_and_write_inputs_ends_where_the_slow_one_does(
    values: dict[str, Any], is_escaped: bool
) -> None:
    """Large integers stay integers, halves of characters are replaced, floats are written as Python writes them."""
    text = json.dumps(values, ensure_ascii=is_escaped)
    cleaned = clean_json(json.loads(text))

    assert read_object(text) == cleaned
    assert repr(read_object(text)) == repr(cleaned)
    assert to_json(values) == json.dumps(clean_json(values), ensure_ascii=False, separators=(",", ":"))


def test_many_brackets_are_not_many_levels() -> None:
    text = '{"a": [' + "[], {}, " * 500 + '"[[["]}'
    assert read_object(text) == json.loads(text)


def test_json_deltas_joined_are_the_input() -> None:
    assembly = Assembly("test")
    deltas = [fold(assembly, event) for event in (START, piece(INPUT[:9]), piece(INPUT[9:]), STOP)]
    assert "".join(delta.json for delta in deltas if isinstance(delta, ToolInputDelta)) == INPUT


# --- what must not show ----------------------------------------------------------------------------------------------


def test_thinking_at_the_end_waits_for_what_follows() -> None:
    thinking = (
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "sig"}},
        STOP,
    )
    assert folded(*thinking).so_far.content == ()
    assert folded(*thinking, START, STOP).so_far.content == (ThinkingBlock("hm", "sig"), ToolUseBlock("t", "N", {}))


def test_hidden_thinking_is_kept_to_be_passed_back() -> None:
    hidden = {"type": "content_block_start", "content_block": {"type": "redacted_thinking", "data": "opaque"}}
    response = folded(hidden, STOP, START, STOP).so_far

    assert response.content[0] == ThinkingBlock("", "opaque", is_redacted=True)
    body = request_body(ModelRequest((response.message,)))
    assert body["messages"][0]["content"][0] == {"type": "redacted_thinking", "data": "opaque"}


def test_unknown_events_blocks_and_pieces_are_passed_over() -> None:
    assembly = folded(
        {"type": "brand_new"},
        {"type": "content_block_start", "content_block": {"type": "brand_new"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}},
        STOP,
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "brand_new"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "y"}},
        STOP,
    )
    assert assembly.so_far.content == (TextBlock("y"),)


def test_a_block_inside_a_block_is_a_protocol_failure() -> None:
    with pytest.raises(ProviderError) as caught:
        folded(START, START)
    assert caught.value.kind == "protocol"


# --- requests --------------------------------------------------------------------------------------------------------

BLOCKS: st.SearchStrategy[Block] = (
    st.builds(TextBlock, st.text(st.characters(codec=None), max_size=5))
    | st.builds(ThinkingBlock, st.text(max_size=5), st.just("sig"))
    | st.builds(ToolUseBlock, st.just("t"), st.just("N"), st.just({"a": ("\ud83d", 1)}))
    | st.builds(ToolResultBlock, st.just("t"), st.text(max_size=5), st.booleans())
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4).map(tuple)), max_size=8
).map(tuple)


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(item) for item in value.values())
    return sum(marks(item) for item in value) if isinstance(value, list) else 0


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


@given(messages=MESSAGES, system=st.text(max_size=3), has_tools=st.booleans())
def test_a_request_has_no_more_marks_than_the_provider_takes_and_can_be_sent(
    messages: tuple[Message, ...], system: str, has_tools: bool
) -> None:
    tools = (ToolSchema("A", "", {}), ToolSchema("B", "", {})) if has_tools else ()

    body = request_body(ModelRequest(messages, system=system, tools=tools))

    assert marks(body) <= 4
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    for message in body["messages"]:
        assert message["content"]
        assert all(block["type"] != "text" or block["text"].strip() for block in message["content"])


@given(messages=MESSAGES, more=MESSAGES)
def test_a_later_request_begins_with_the_earlier_one(messages: tuple[Message, ...], more: tuple[Message, ...]) -> None:
    earlier = without_marks(request_body(ModelRequest(messages, system="s"))["messages"])
    later = without_marks(request_body(ModelRequest((*messages, *more), system="s"))["messages"])

    assert json.dumps(later[: len(earlier)]) == json.dumps(earlier)


def test_the_marks_are_where_the_next_request_will_read() -> None:
    messages = (
        Message.user("one"),
        Message("assistant", (TextBlock("two"),)),
        Message.user("three"),
        Message("assistant", (TextBlock("four"),)),
        Message("user", (ToolResultBlock("t", "five"), TextBlock("six"))),
    )
    tools = (ToolSchema("A", "", {}), ToolSchema("B", "", {}))

    body = request_body(ModelRequest(messages, system="s", tools=tools))

    marked = [
        block.get("text") or block.get("name")
        for block in (*body["tools"], *body["system"], *(block for m in body["messages"] for block in m["content"]))
        if "cache_control" in block
    ]
    assert marked == ["B", "s", "three", "six"]


def test_an_error_that_says_nothing_is_given_words() -> None:
    body = request_body(ModelRequest((Message("user", (ToolResultBlock("t", "", is_error=True),)),)))
    assert body["messages"][0]["content"][0]["content"] == "(no message)"


def test_an_error_is_sent_without_images_and_an_image_without_text_alone() -> None:
    """The provider refuses both an error that shows something and blank text."""
    images = (Image("image/png", "AAAA"),)
    blocks = (ToolResultBlock("t", "bad", is_error=True, images=images), ToolResultBlock("u", " ", images=images))
    bad, alone = request_body(ModelRequest((Message("user", blocks),)))["messages"][0]["content"]
    assert bad["content"] == "bad"
    assert [line["type"] for line in alone["content"]] == ["image"]


def test_an_error_event_without_words_has_the_kind_of_its_type() -> None:
    for error_type, kind in (("rate_limit_error", "rate_limited"), ("brand_new", "server_error")):
        with pytest.raises(ProviderError) as caught:
            folded({"type": "error", "error": {"type": error_type}})
        assert (caught.value.kind, caught.value.status) == (kind, None)
