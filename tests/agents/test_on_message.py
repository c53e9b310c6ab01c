"""Whole messages reach whoever listens, in the step in which they are appended."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import Appended, Prompt
from greenroom.agents._conversation import Conversation
from greenroom.core import ProviderError, TurnFailed
from greenroom.core.ports import SystemClock, SystemIds
from greenroom.models import (
    AnswerLike,
    Call,
    Message,
    ModelResponse,
    Say,
    ScriptedModel,
    TextBlock,
    ToolResultBlock,
    Usage,
)
from greenroom.models._scripted import ScriptStep
from greenroom.store import Transcript, TranscriptHeader
from tests.agents.situations import open_stage

TEXTS = st.text(min_size=1, max_size=8)


@given(st.lists(st.tuples(st.booleans(), TEXTS, st.booleans())))
def test_a_listener_hears_all_that_a_conversation_holds_and_nothing_else(said: list[tuple[bool, str, bool]]) -> None:
    heard: list[Appended] = []
    conversation = Conversation(None, [Message.user("before")], agent="a1", on_message=heard.append)

    for by_model, text, is_hidden in said:
        if by_model:
            conversation.answer(ModelResponse((TextBlock(text),), "end_turn", Usage(), "m"))
        else:
            conversation.say([text], is_hidden=is_hidden)

    blocks = [block for message in conversation.messages[:1] for block in message.content[1:]]  # roles were joined
    blocks += [block for message in conversation.messages[1:] for block in message.content]
    assert [block for line in heard for block in line.message.content] == blocks
    assert [line.is_hidden for line in heard] == [is_hidden and not by_model for by_model, _, is_hidden in said]
    assert [line.response is not None for line in heard] == [by_model for by_model, _, _ in said]


def test_a_message_has_the_uuid_of_its_line_and_is_not_heard_of_where_the_line_is_refused() -> None:
    lines: list[bytes] = []

    def write(_: Path, line: bytes) -> None:
        if len(lines) == 1:
            raise OSError("the disk is full")
        lines.append(line)

    header = TranscriptHeader(session_id="s", agent_id="a1", is_sidechain=False, cwd="/", version="0")
    transcript = Transcript(Path("main.jsonl"), header, write=write, ids=SystemIds(), wall=SystemClock().wall)
    heard: list[Appended] = []
    conversation = Conversation(transcript, agent="a1", on_message=heard.append)

    conversation.say(["one"])
    with pytest.raises(OSError, match="full"):
        conversation.say(["two"])

    (one,) = heard
    assert one.uuid
    assert one.uuid.encode() in lines[0]
    assert one.agent == "a1"


async def test_a_turn_is_heard_of_message_by_message(autojump_clock: MockClock) -> None:
    heard: list[Appended] = []
    script: list[AnswerLike] = [Call("Look", {"place": "a"}), "Done."]

    async with open_stage(ScriptedModel(script), on_message=heard.append) as stage:
        await stage.agent.ask(Prompt("Go."), timeout_s=math.inf)

        assert tuple(line.message for line in heard) == stage.messages
        assert {line.agent for line in heard} == {stage.agent.id}
    assert [line.message.role for line in heard] == ["user", "assistant", "user", "assistant"]
    assert [line.response is not None and line.response.stop_reason for line in heard] == [
        False,
        "tool_use",
        False,
        "end_turn",
    ]


async def test_what_was_cut_off_is_heard_of_as_a_part(autojump_clock: MockClock) -> None:
    heard: list[Appended] = []
    cut = ProviderError("cut", kind="cut")
    model = ScriptedModel([ScriptStep(answer=[Say("one two three four")], error=cut, error_after=3)])

    async with open_stage(model, on_message=heard.append) as stage:
        with pytest.raises(TurnFailed):
            await stage.agent.ask(Prompt("Go."), timeout_s=math.inf)

    (said,) = [line for line in heard if line.response is not None]
    assert said.response is not None
    assert said.response.stop_reason is None
    assert "one two three four".startswith(said.message.text)


@given(
    st.lists(st.sampled_from(["t1", "t2", "t3"]), min_size=1, unique=True),
    st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.dictionaries(TEXTS, TEXTS, max_size=2)),
)
def test_what_tools_attach_goes_with_the_result_to_listeners_and_transcript_and_is_let_go(
    calls: list[str], attached: dict[str, dict[str, str]]
) -> None:
    """Mechanism: a message takes along what was attached to its results, and what of other calls stays."""
    lines: list[bytes] = []
    header = TranscriptHeader(session_id="s", agent_id="a1", is_sidechain=False, cwd="/", version="0")
    transcript = Transcript(
        Path("main.jsonl"),
        header,
        write=lambda _, line: lines.append(line),
        ids=SystemIds(),
        wall=SystemClock().wall,
    )
    heard: list[Appended] = []
    left: dict[str, Mapping[str, Any]] = dict(attached)
    conversation = Conversation(transcript, agent="a1", on_message=heard.append, attached=left)

    conversation.say([], [ToolResultBlock(call, "done") for call in calls])

    mine = {call: attached[call] for call in calls if call in attached}
    (one,) = heard
    assert one.attached == mine
    assert left == {call: values for call, values in attached.items() if call not in calls}
    written = json.loads(lines[0]).get("toolUseResult")
    if not mine:
        assert written is None
    else:
        assert written == (mine if len(calls) > 1 else mine[calls[0]])
