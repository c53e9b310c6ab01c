"""The size of a conversation: what the provider counted last and an estimate of the rest, whenever somebody looks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents._conversation import Conversation
from greenroom.models import ModelResponse, TextBlock, ToolResultBlock, ToolUseBlock, Usage, estimate_tokens

SIZES = st.integers(min_value=1, max_value=500)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["say", "result", "answer", "call", "compact"]), SIZES),
    st.tuples(st.sampled_from(["count", "look"]), SIZES),
)


def take(conversation: Conversation, kind: str, size: int) -> int:
    """Carry out a step that appends something; return the characters that a provider reads of it."""
    text = "x" * size
    match kind:
        case "say":
            conversation.say([text])
        case "result":
            conversation.say([], [ToolResultBlock("t1", text)])
        case "answer":
            conversation.answer(ModelResponse((TextBlock(text),), "end_turn", Usage(), "test"))
        case "call":
            conversation.answer(ModelResponse((ToolUseBlock("t1", "Look", {"at": text}),), "tool_use", Usage(), "test"))
            return len("Look") + len(str({"at": text}))
        case _:
            conversation.compact([text], trigger="auto", pre_tokens=0, is_turn_open=True)
    return size


@given(st.lists(STEPS, max_size=20))
def test_the_size_is_the_last_count_and_what_has_come_since(steps: list[tuple[str, int]]) -> None:
    """Also where messages are joined because nothing was said between them, measured or not."""
    conversation = Conversation()
    counted, chars = 0, 0

    for kind, size in steps:
        if kind == "count":
            conversation.note_tokens(size)
            counted, chars = size, 0
        elif kind == "look":
            assert conversation.tokens == counted + estimate_tokens(chars)
        else:
            if kind == "compact":
                counted, chars = 0, 0
            chars += take(conversation, kind, size)

    assert conversation.tokens == counted + estimate_tokens(chars)
