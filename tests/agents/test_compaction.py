"""Compaction: a summary takes the place of a conversation, what has to survive does, and what fails changes nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Note, Prompt
from greenroom.agents._repair import faults_of
from greenroom.agents.compaction import Compact, Compacted, CompactionSettings
from greenroom.agents.compaction._triggers import CompactionTrigger
from greenroom.agents.events import AgentNoticed, CompactEnded, ForkEnded
from greenroom.core import ProviderError, TurnFailed, TurnKilled, event_of
from greenroom.hooks import HookRunner, HookServices, HookSource, SourceKind, merge_hooks, parse_hooks
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, Say, ScriptedModel, Usage, WrittenAnswer
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import BareAgentPorts, check_cache_prefixes, run_virtual
from greenroom.tools._workspace import Todo
from tests.agents.situations import Bytes, Stage, open_stage

SMALL = CompactionSettings(window_tokens=1_000, summary_tokens=100)
NOTHING = Usage()
FULL = Usage(input_tokens=SMALL.threshold_tokens)
SUMMARY = WrittenAnswer([Say("<summary>We looked.</summary>")], usage=Usage(10, 10))


async def ask(stage: Stage, text: str = "Go.") -> Any:
    return await stage.agent.ask(Prompt(text), timeout_s=math.inf)


async def compact(stage: Stage, focus: str = "") -> Compacted:
    done: Compacted = await stage.agent.ask(Compact(focus), timeout_s=math.inf)
    return done


def events(stage: Stage, *kinds: type[Any]) -> list[Any]:
    found = map(event_of, stage.runtime.recorder.latest())
    return [each_kinds for each_kinds in found if isinstance(each_kinds, kinds)]


def look(usage: Usage = NOTHING) -> WrittenAnswer:
    return WrittenAnswer([Call("Look", {"place": "a"})], usage=usage)


def hooks(**commands: str) -> HookRunner:
    """Return hooks of these events, each a shell command."""
    entries = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    parsed = parse_hooks({"hooks": entries}, HookSource("settings.json", SourceKind.USER))
    return HookRunner(merge_hooks([parsed]), HookServices(project=Path("/"), environment={"PATH": "/usr/bin:/bin"}))


# --- automatic --------------------------------------------------------------------------------------------------------


async def test_near_the_limit_a_summary_takes_the_place_of_the_conversation_and_the_turn_goes_on(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel([look(FULL), SUMMARY, "Done."])

    async with open_stage(model, compaction=SMALL, open_transcript=disk.open) as stage:
        answer = await ask(stage, "Look at it, please.")
        live = stage.messages
        (ended,) = events(stage, CompactEnded)

    assert (answer.text, answer.rounds) == ("Done.", 2)
    first, forked, after = model.requests
    assert check_cache_prefixes([first, forked]) == 1
    assert (after.system, after.tools) == (first.system, first.tools)
    (message,) = after.messages
    texts = [getattr(block, "text", None) for block in message.content]
    assert "We looked." in str(texts[0])
    assert "Look at it, please." in texts, "what the user said in this turn survives word for word"
    assert (ended.trigger, ended.state) == ("auto", "completed")
    assert ended.pre_tokens >= SMALL.threshold_tokens > ended.post_tokens
    loaded = disk.load()
    assert loaded.messages == live
    assert loaded.notes == ()
    (boundary,) = [line for line in read_transcript(disk.path) if line["type"] == "system"]
    assert boundary["subtype"] == "compact_boundary"
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": ended.pre_tokens}


async def test_what_the_engine_knows_is_told_again(autojump_clock: MockClock) -> None:
    """RC-86, CL-05: children that run are listed by their ids after a compaction; so is the agent's own list.

    Behaviours (13), line 8.
    """
    model = ScriptedModel([WrittenAnswer([Say("Hm.")], usage=FULL), SUMMARY, "Done."])

    ports = BareAgentPorts(again=("These agents work for you: a1, a2, a3", ""))
    async with open_stage(model, ports=ports, compaction=SMALL) as stage:
        await ask(stage)
        stage.home.workspace.todos = (Todo(content="Look", activeForm="Looking", status="in_progress"),)
        await ask(stage, "More.")

    text = model.requests[-1].messages[0].text
    for known in ("a1", "a2", "a3", "[>] Look"):
        assert known in text


async def test_a_small_conversation_is_left_alone(autojump_clock: MockClock) -> None:
    below = Usage(input_tokens=SMALL.threshold_tokens - 100)
    model = ScriptedModel([look(below), WrittenAnswer([Say("Done.")], usage=below)])

    async with open_stage(model, compaction=SMALL) as stage:
        await ask(stage)
        assert events(stage, CompactEnded) == []


@pytest.mark.parametrize("answers", [[ProviderError("busy", kind="overloaded")], [" "], [look()] * 3], ids=str)
async def test_a_compaction_that_fails_leaves_the_conversation_and_the_turn_as_they_were(
    autojump_clock: MockClock, tmp_path: Path, answers: list[Any]
) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel([look(FULL), *answers, "Done."])

    async with open_stage(model, compaction=SMALL, open_transcript=disk.open) as stage:
        assert (await ask(stage)).text == "Done."
        assert events(stage, CompactEnded)[0].state == "failed"
        assert "could not be compacted" in events(stage, AgentNoticed)[0].text
        live = stage.messages

    assert model.requests[-1].messages == live[:-1]
    assert len(live) == 4
    assert disk.load().messages == live


async def test_a_summary_that_was_cut_off_does_not_count(autojump_clock: MockClock) -> None:
    cut = WrittenAnswer([Say("<summary>We")], stop_reason="max_tokens")
    model = ScriptedModel([look(FULL), cut, "Done."])

    async with open_stage(model, compaction=SMALL) as stage:
        await ask(stage)
        assert "cut off" in events(stage, CompactEnded)[0].error
        assert len(stage.messages) == 4


async def test_after_three_failures_in_a_row_nobody_tries_again(autojump_clock: MockClock) -> None:
    failing: list[AnswerLike] = [" ", look(FULL)]
    model = ScriptedModel([look(FULL), *failing * 3, look(FULL), "Done."])

    async with open_stage(model, compaction=SMALL) as stage:
        assert (await ask(stage)).text == "Done."
        assert [event.state for event in events(stage, CompactEnded)] == ["failed"] * 3


async def test_a_turn_that_works_on_is_compacted_as_often_as_it_takes(autojump_clock: MockClock) -> None:
    model = ScriptedModel([*[look(), look(FULL), SUMMARY] * 5, "Done."])

    async with open_stage(model, compaction=SMALL) as stage:
        assert (await ask(stage)).text == "Done."
        assert [event.state for event in events(stage, CompactEnded)] == ["completed"] * 5


async def test_a_conversation_that_is_full_again_at_once_ends_the_turn(autojump_clock: MockClock) -> None:
    """As the turn sees it."""
    model = ScriptedModel([look(FULL), *[SUMMARY, look(FULL)] * 3])

    async with open_stage(model, compaction=SMALL) as stage:
        with pytest.raises(TurnFailed, match="full again right after each of 3"):
            await ask(stage)
        assert [event.state for event in events(stage, CompactEnded)] == ["completed"] * 3
        assert faults_of(stage.messages) == []


async def test_a_transcript_that_refuses_leaves_everything_as_it_was(autojump_clock: MockClock, tmp_path: Path) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel(["Done.", SUMMARY, "Well."])

    async with open_stage(model, compaction=SMALL, open_transcript=disk.open) as stage:
        await ask(stage)
        messages, content = stage.messages, disk.content
        disk.refuses = True
        with pytest.raises(TurnFailed):
            await compact(stage)
        disk.refuses = False
        assert (stage.messages, disk.content) == (messages, content)
        assert events(stage, CompactEnded)[0].state == "failed"
        await ask(stage, "More.")
        assert disk.load().messages == stage.messages


# --- by hand ----------------------------------------------------------------------------------------------------------


async def test_asked_for_it_happens_in_a_turn_of_its_own_and_nobody_is_told_to_go_on(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    model = ScriptedModel(["Done.", SUMMARY, "Well."])

    async with open_stage(model, open_transcript=disk.open) as stage:
        await ask(stage, "Go.")
        done = await compact(stage, "the tests")
        assert (done.trigger, done.summary) == (CompactionTrigger.MANUAL, "We looked.")
        loaded = disk.load()
        assert loaded.messages == stage.messages
        assert not loaded.was_cut, "it rests: there is no turn to go on with"
        await ask(stage, "And now?")
        assert disk.load().messages == stage.messages

    _, forked, after = model.requests
    assert forked.messages[-1].text.endswith("the tests")
    (message,) = after.messages
    assert "We looked." in message.text
    assert "Go on" not in message.text
    assert message.text.endswith("And now?")


@pytest.mark.parametrize(("script", "settings"), [([], {}), (["Done."], {"enabled": False})])
async def test_what_cannot_be_compacted_is_refused(
    autojump_clock: MockClock, script: list[AnswerLike], settings: dict[str, Any]
) -> None:
    async with open_stage(ScriptedModel(script), compaction=CompactionSettings(**settings)) as stage:
        if script:
            await ask(stage)
        with pytest.raises(TurnFailed, match="compact"):
            await compact(stage)


# --- hooks ------------------------------------------------------------------------------------------------------------


async def test_a_hook_refuses_a_compaction() -> None:
    """PreCompact exit 2 blocks."""
    runner = hooks(PreCompact="echo not now >&2; exit 2")
    model = ScriptedModel(["Done.", look(FULL), "Well."])

    async with open_stage(model, compaction=SMALL, hooks=runner) as stage:
        await ask(stage)
        with pytest.raises(TurnFailed, match="not now"):
            await compact(stage)
        assert (await ask(stage, "More.")).text == "Well."
        assert [event.state for event in events(stage, CompactEnded)] == ["failed", "failed"]
        assert len(stage.messages) == 6
        assert events(stage, ForkEnded) == []


async def test_hooks_hear_before_and_after_and_their_contexts_survive(tmp_path: Path) -> None:
    """SessionStart fires with source compact, before the summary takes its place."""
    heard = tmp_path / "heard.jsonl"
    runner = hooks(
        PreCompact=f"cat >> {heard}; echo >> {heard}",
        SessionStart=f"cat >> {heard}; echo >> {heard}; echo 'remember the milk'",
        PostCompact=f"cat >> {heard}; echo >> {heard}",
    )
    model = ScriptedModel(["Done.", SUMMARY, "Well."])

    async with open_stage(model, hooks=runner) as stage:
        await ask(stage)
        await compact(stage, "the tests")
        await ask(stage, "More.")

    told = [line for line in read_transcript(heard) if line]
    assert [line["hook_event_name"] for line in told] == ["PreCompact", "SessionStart", "PostCompact"]
    assert (told[0]["trigger"], told[0]["custom_instructions"]) == ("manual", "the tests")
    assert told[1]["source"] == "compact"
    assert (told[2]["trigger"], told[2]["compact_summary"]) == ("manual", "We looked.")
    assert model.requests[-1].messages[0].text.count("remember the milk") == 1


async def test_contexts_of_hooks_survive_once_in_a_turn_that_goes_on() -> None:
    runner = hooks(SessionStart="echo 'remember the milk'", PreCompact='echo \'{"systemMessage": "hm"}\'')
    model = ScriptedModel([look(FULL), SUMMARY, look(), "Done."])

    async with open_stage(model, compaction=SMALL, hooks=runner) as stage:
        await ask(stage)

    assert "".join(message.text for message in model.requests[-1].messages).count("remember the milk") == 1
    assert "milk" not in model.requests[1].messages[-1].text


async def test_the_system_prompt_is_composed_anew(autojump_clock: MockClock) -> None:
    """Instructions and memory are read from disk again."""
    model = ScriptedModel(["Done.", SUMMARY, "Well."])
    async with open_stage(model, ports=BareAgentPorts(prompt="You test, by other rules.")) as stage:
        await ask(stage)
        await compact(stage)
        await ask(stage, "More.")

    assert [request.system for request in model.requests] == ["You test.", "You test.", "You test, by other rules."]


# --- however it ends --------------------------------------------------------------------------------------------------


def play(request: ModelRequest) -> AnswerLike:
    """Write a summary when asked for one; else look until there is one, and then say so."""
    if "<summary>" in request.messages[-1].text:
        return SUMMARY
    if "We looked." in request.messages[0].text:
        return "I am done."
    return look(FULL)


@pytest.mark.parametrize("how", ["abort", "kill", "crash"])
def test_ended_at_any_event_it_left_the_conversation_or_compacted_it(tmp_path: Path, how: str) -> None:
    """RC-67, over a turn that compacts: what is on disk is what was in memory, and it can be resumed."""
    lefts: dict[bytes, None] = {}
    event = count = 0

    async def scenario(disk: Bytes) -> None:
        nonlocal count
        model = PlaybookModel({"tester": play}, wait_s=1.0)
        async with open_stage(model, compaction=SMALL, open_transcript=disk.open) as stage:

            def on_event(_: object) -> None:
                nonlocal count
                count += 1
                if how == "crash":
                    lefts[disk.content] = None
                elif count == event:
                    (stage.agent.abort_turn if how == "abort" else stage.agent.kill)()

            rest = stage.runtime.recorder.listen(on_event)
            stage.agent.tell(Note("Go."))
            await trio.sleep(30)
            rest()
            assert faults_of(stage.messages) == []
            assert disk.load().messages == stage.messages

    async def later(disk: Bytes) -> None:
        loaded = disk.load()
        model = PlaybookModel({"tester": play}, wait_s=1.0)
        async with open_stage(model, compaction=SMALL, open_transcript=disk.open, loaded=loaded) as stage:
            answer = await ask(stage, "Go on.")
            assert answer.text == "I am done."
            assert faults_of(stage.messages) == []
            live = stage.messages
        assert disk.load().messages == live

    while event <= count and not (how == "crash" and event):
        event, count = event + 1, 0
        disk = Bytes(tmp_path / "main.jsonl")
        run_virtual(scenario, disk)
        lefts[disk.content] = None

    assert count > 15 or event > 15
    assert len(lefts) > 4
    if how == "crash":
        path = tmp_path / "main.jsonl"
        ends = [Bytes(path, left).load() for left in lefts if left and b"isCompactSummary" in left.splitlines()[-1]]
        assert [loaded.was_cut for loaded in ends] == [True], "the turn that was compacted is resumed"
    for left in lefts:
        run_virtual(later, Bytes(tmp_path / "main.jsonl", left))


async def test_an_abort_in_the_middle_leaves_the_conversation(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Done.", SUMMARY, "Well."], wait_s=1.0)

    async with open_stage(model) as stage, trio.open_nursery() as nursery:
        await ask(stage)
        messages = stage.messages

        async def by_hand() -> None:
            with pytest.raises(TurnKilled):
                await compact(stage)

        nursery.start_soon(by_hand)
        await trio.sleep(0.5)
        stage.agent.abort_turn()
        await trio.sleep(1)
        assert stage.messages == messages
        assert events(stage, CompactEnded, ForkEnded)[-1].state == "killed"
        await ask(stage, "More.")
