"""Suggestions and summaries: what the model said becomes a line that people can use, or nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import Prompt
from greenroom.agents.events import AgentNoticed
from greenroom.agents.side import open_side_run, suggest_prompt, summaries
from greenroom.agents.side._side_answers import read_suggestion
from greenroom.agents.side._summary import read_summary
from greenroom.core import ProviderError, event_of
from greenroom.models import Call, ScriptedModel
from greenroom.models._scripted import ScriptStep
from tests.agents.situations import Stage, open_stage


async def prompt(stage: Stage, text: str) -> Any:
    return await stage.agent.ask(Prompt(text), timeout_s=math.inf)


def notices(stage: Stage) -> list[AgentNoticed]:
    return [event for event in map(event_of, stage.runtime.recorder.latest()) if isinstance(event, AgentNoticed)]


# --- suggestions -----------------------------------------------------------------------------------------------------


@given(st.text() | st.from_regex(r"[\"' ]*([a-z]{1,9} ){0,15}[a-z]{1,9}[\"'.\n ]*"))
def test_a_suggestion_is_one_short_line_or_nothing(text: str) -> None:
    read = read_suggestion(text)
    assert len(read) <= 100
    assert len(read.split()) <= 12
    assert len(read.splitlines()) <= 1
    assert read == read.strip()
    assert " ".join(read.split()) == read
    assert not read or read in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("run the tests", "run the tests"),
        (' "commit this"\n', "commit this"),
        ("NOTHING", ""),
        ("Nothing.", ""),
        ("", ""),
        ("I'll run the tests", ""),
        ("run the tests\nand commit", ""),
        ("word " * 13, ""),
        ("w" * 101, ""),
    ],
)
def test_what_is_no_line_of_a_person_is_no_suggestion(text: str, read: str) -> None:
    assert read_suggestion(text) == read


async def test_nothing_is_asked_unless_the_model_has_finished(autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Look", {"place": "a"}), "Done.", "run the tests"])
    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        emit = stage.runtime.recorder.emit_fields

        async def suggest() -> str:
            return await suggest_prompt(open_side_run(stage.home, stage.agent.id, emit))

        assert await suggest() == ""
        nursery.start_soon(prompt, stage, "Go.")
        await trio.sleep(0.5)
        assert len(stage.messages) == 2  # the call runs
        assert await suggest() == ""
        await trio.sleep(1)
        assert await suggest() == "run the tests"


# --- summaries -------------------------------------------------------------------------------------------------------


@given(st.text() | st.lists(st.text(st.characters(categories=["L"]), min_size=1), max_size=20).map(" ".join))
def test_a_summary_has_three_to_eight_words_or_is_none(text: str) -> None:
    read = read_summary(text)
    assert not read or 3 <= len(read.split()) <= 8
    assert len(read.splitlines()) <= 1


def test_a_summary_that_is_too_long_is_cut() -> None:
    assert read_summary('\n"Reading a.py."\nMore.') == ""
    assert read_summary('\n- "Reading all of a.py."\nMore.') == "Reading all of a.py"
    assert read_summary("one two three four five six seven eight nine") == "one two three four five six seven eight…"


async def test_a_summary_is_made_only_when_something_happened(autojump_clock: MockClock) -> None:
    looks = [Call("Look", {"place": "a"})]
    slow = ScriptStep(answer=looks, wait_s=65)
    model = ScriptedModel([slow, "Done.", "Looking at place a", looks, "Again.", "Looking at a again"])
    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        emit = stage.runtime.recorder.emit_fields
        progress = stage.begin_run()
        nursery.start_soon(lambda: summaries(stage.home, agent=stage.agent.id, emit=emit))
        await trio.sleep(45)
        await prompt(stage, "Go.")
        assert progress.summary == ""  # before, the agent had done nothing: it was not asked
        await trio.sleep(30)
        assert progress.summary == "Looking at place a"
        await trio.sleep(300)
        assert len(model.requests) == 3
        await prompt(stage, "More.")
        await trio.sleep(30)
        assert progress.summary == "Looking at a again"
        assert "Looking at place a" in model.requests[-1].messages[-1].text
        messages = stage.messages
        nursery.cancel_scope.cancel()
    assert "3 to 8 words" not in str(messages)


async def test_a_summary_that_fails_ends_nothing_and_is_noticed_once(autojump_clock: MockClock) -> None:
    errors = [ProviderError("busy", kind="overloaded") for _ in range(2)]
    model = ScriptedModel(["One.", errors[0], "Two.", errors[1], "Three.", "Speaking for the third time"])
    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        emit = stage.runtime.recorder.emit_fields
        progress = stage.begin_run()
        nursery.start_soon(lambda: summaries(stage.home, agent=stage.agent.id, emit=emit))
        await trio.sleep(1)
        for text in ("Go.", "More.", "And more."):
            await prompt(stage, text)
            await trio.sleep(30)
        assert progress.summary == "Speaking for the third time"
        assert [notice.source for notice in notices(stage)] == ["progress summary"]
        nursery.cancel_scope.cancel()
