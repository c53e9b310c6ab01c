"""Whatever a history holds, what is sent for it is a request that the Messages API takes."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition, AgentProfile, AgentServices, AgentState
from greenroom.agents._forked import make_request
from greenroom.agents._repair import SoundnessCheck, faults_of, repair
from greenroom.core import Image
from greenroom.core.ports import InlineBlocking
from greenroom.models import (
    Block,
    Message,
    ScriptedModel,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    request_body,
)
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolSet
from tests.agents.conversations import damaged_conversations, sound_conversations
from tests.api_rules import violations

IDS = st.sampled_from(["a", "b", "a_2", "", " ", "call 1", "ü", "x" * 200, "a\n"])
NAMES = st.sampled_from(["Look", "", "mcp__s__do it", "n" * 300, "тул", "a.b"])
TEXTS = st.sampled_from(["", " \n", "text", "ends with a blank ", "\ud800"])
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(ThinkingBlock, TEXTS, st.sampled_from(["", "signed"]), st.booleans()),
    st.builds(ToolUseBlock, IDS, NAMES, st.sampled_from([{}, {"a": 1}])),
    st.builds(ToolResultBlock, IDS, TEXTS, st.booleans(), st.sampled_from([(), (Image("image/png", "AAAA"),)])),
)
ANYTHING = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=5).map(tuple)),
    min_size=1,
    max_size=8,
)


@st.composite
def odd_rounds(draw: st.DrawFn) -> list[Message]:
    """Draw whole rounds whose ids, names and texts are what a gateway may make of them."""
    messages = []
    for _ in range(draw(st.integers(1, 3))):
        calls = draw(st.lists(st.builds(ToolUseBlock, IDS, NAMES, st.sampled_from([{}, {"a": 1}])), max_size=3))
        messages.append(Message("assistant", (*draw(st.lists(st.builds(TextBlock, TEXTS), max_size=1)), *calls)))
        results = [ToolResultBlock(call.id, draw(TEXTS), is_error=draw(st.booleans())) for call in calls]
        is_answered = draw(st.booleans())
        if results or is_answered:
            messages.append(Message("user", (*results, *draw(st.lists(st.builds(TextBlock, TEXTS), max_size=1)))))
    return messages


HOME = AgentState(
    ports=BareAgentPorts(),
    profile=AgentProfile(definition=AgentDefinition(name="tester", system_prompt="You test."), tools=ToolSet(())),
    services=AgentServices(model=ScriptedModel([]), cwd=Path("/"), roots=(Path("/"),), blocking=InlineBlocking()),
)


def sent(messages: tuple[Message, ...]) -> str:
    return json.dumps(request_body(make_request(HOME, messages))["messages"])


@given(ANYTHING | odd_rounds() | damaged_conversations())
@example([Message("assistant", (TextBlock("It ends with a blank "),))])
def test_a_request_of_any_history_keeps_the_rules_of_the_api(messages: list[Message]) -> None:
    repaired = repair([Message.user("Go."), *messages]).messages

    assert faults_of(repaired) == []
    assert repair(repaired).messages == repaired
    body = request_body(make_request(HOME, (Message.user("Go."), *messages)))
    assert violations(body) == []


@given(sound_conversations())
def test_a_valid_history_is_sent_byte_for_byte_as_before(messages: list[Message]) -> None:
    """The part that the provider has cached stays valid."""
    request = make_request(HOME, tuple(messages))

    assert all(mine is theirs for mine, theirs in zip(request.messages, messages, strict=True))
    assert violations(request_body(request)) == []


@given(st.lists(sound_conversations() | damaged_conversations() | odd_rounds(), min_size=1, max_size=3), st.data())
def test_check_that_reads_only_what_is_new_finds_what_a_full_one_finds(
    parts: list[list[Message]], data: st.DataObject
) -> None:
    """Also where the conversation loses messages between two checks, or gets others in their place."""
    check = SoundnessCheck()
    for part in parts:
        grown = list(repair(part).messages[: data.draw(st.integers(0, 2))])
        for message in part:
            grown.append(message)
            if message is part[-1] or not data.draw(st.integers(0, 3)):
                assert check.is_sound(tuple(grown)) is not bool(faults_of(grown))
        cut = grown[: data.draw(st.integers(0, len(grown)))]
        assert check.is_sound(tuple(cut)) is not bool(faults_of(cut))


def test_conversation_that_lost_its_end_is_as_sound_as_before() -> None:
    messages = (
        Message.user("Go."),
        Message("assistant", (ToolUseBlock("a", "Look", {}),)),
        Message("user", (ToolResultBlock("a", "seen"),)),
        Message("assistant", (TextBlock("Done."),)),
    )
    check = SoundnessCheck()

    assert check.is_sound(messages)
    assert check.is_sound(messages[:3])
    assert check.is_sound(messages)


@given(st.lists(st.tuples(st.lists(st.sampled_from(["a", "b", "a b"]), max_size=3), st.booleans(), st.booleans())))
def test_admitted_calls_share_no_id_whatever_becomes_of_the_conversation(
    answers: list[tuple[list[str], bool, bool]],
) -> None:
    """Also where it is compacted, and where answers come that no request was checked for."""
    check, given_ids, messages = SoundnessCheck(), list[str](), [Message.user("Go.")]
    for ids, is_compacted, is_checked in answers:
        said = check.admit((TextBlock("So."), *(ToolUseBlock(id_, "Look", {}) for id_ in ids)))
        calls = Message("assistant", said).tool_uses
        given_ids += [call.id for call in calls]
        results = tuple(ToolResultBlock(call.id, "seen") for call in calls)
        messages += [Message("assistant", said), Message("user", results or (TextBlock("Go on."),))]
        if is_compacted:
            messages = [Message.user("Go on from here.")]
        if is_checked:
            assert check.is_sound(tuple(messages))

    assert len(set(given_ids)) == len(given_ids)
    assert faults_of(messages) == []
    assert check.is_sound((*messages, *messages[1:])) is not any(message.tool_uses for message in messages)
    assert check.is_sound(tuple(messages))


@given(sound_conversations(), sound_conversations())
def test_a_valid_history_that_grows_keeps_the_beginning_of_its_request(
    messages: list[Message], more: list[Message]
) -> None:
    if messages[-1].role == "user":
        messages = [*messages, Message("assistant", (TextBlock("Done."),))]
    longer = repair([*messages, *more]).messages

    assert longer[: len(messages)] == tuple(messages)


def test_calls_that_share_an_id_get_their_own_results() -> None:
    calls = (ToolUseBlock("t", "Read", {"path": "a"}), ToolUseBlock("t", "Read", {"path": "b"}))
    results = (ToolResultBlock("t", "of a"), ToolResultBlock("t", "of b"))

    repaired = repair([Message.user("Go."), Message("assistant", calls), Message("user", results)]).messages

    ids = [call.id for call in repaired[1].tool_uses]
    assert ids == ["t", "t_2"]
    assert repaired[2].content == (ToolResultBlock("t", "of a"), ToolResultBlock("t_2", "of b"))


@example([(["a", "thinking"], ["a"])])
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([*"abc", "thinking"]), unique=True, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=3),
        ),
        max_size=4,
    )
)
def test_check_after_an_admitted_answer_finds_what_a_full_one_finds(rounds: list[tuple[list[str], list[str]]]) -> None:
    check = SoundnessCheck()
    messages: tuple[Message, ...] = (Message.user("Go."),)
    assert check.is_sound(messages)
    for number, (asked, answered) in enumerate(rounds):
        said = check.admit(
            tuple(
                ThinkingBlock("Hm.", "signed") if id_ == "thinking" else ToolUseBlock(f"{id_}{number}", "Look", {})
                for id_ in asked
            )
        )
        results = tuple(ToolResultBlock(f"{id_}{number}", "seen") for id_ in answered)
        messages = (*messages, Message("assistant", said), Message("user", results))
        assert check.is_sound(messages) is not bool(faults_of(messages))
