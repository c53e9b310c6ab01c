"""The review of what a sub-agent did in the mode auto, before its report goes to whoever asked for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import TurnSettings
from greenroom.agents.compaction import CompactionSettings
from greenroom.agents.events import AgentReviewed, CompactEnded, ForkEnded, PermissionReviewed
from greenroom.agents.review import AutoMode, AutoModeSettings
from greenroom.agents.subagents._subagent_worktrees import SubagentWorktrees
from greenroom.core import ProviderError, TurnKilled
from greenroom.models import AnswerLike, Call, ModelRequest, Say, Usage, WrittenAnswer
from greenroom.tasks import TaskEnded
from tests.agents.crews import Crew, ended, main_messages, notices, open_crew, told, violations
from tests.agents.pages import agent, answers_in, asked, in_order, mail
from tests.agents.reviewed_pages import ALLOW, BLOCK, PENDING, UNREVIEWED, WARNING, pages
from tests.worktrees.repositories import make_repository


def states(crew: Crew) -> list[str]:
    return [event.state for event in told(crew, TaskEnded)]


# --- what the reader gets --------------------------------------------------------------------------------------------


async def test_a_review_that_finds_something_puts_a_warning_in_front_of_the_result(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    book = pages(BLOCK)
    async with open_crew(tmp_path, in_order(agent("look")), pages=book, mode="auto") as crew:
        await crew.run("go")
        text = main_messages(crew)[2]
        (reviewed,) = told(crew, AgentReviewed)
        assert (reviewed.outcome, reviewed.reason) == ("blocked", "it looked for keys")
        assert [event.purpose for event in told(crew, ForkEnded)] == ["permission review", "hand-off review"]
        assert crew.services.auto is not None
        assert crew.services.auto.usage.total == sum(event.tokens for event in told(crew, ForkEnded))
        assert crew.services.auto.count.in_all == 0  # only calls count

    assert text.index(WARNING) < text.index("Report on: look")
    assert violations(crew) == []


async def test_a_review_that_finds_nothing_leaves_the_result_as_it_is_and_saw_calls_and_no_results(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "secret-result.pem").write_text("x")
    requests: list[ModelRequest] = []

    def review(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return ALLOW

    main = in_order(agent("look"))
    async with open_crew(tmp_path, main, pages=pages(review), mode="auto") as crew:
        await crew.run("go")
        text = main_messages(crew)[2]

    assert "Report on: look" in text
    assert "[harness:" not in text
    (request,) = requests
    lines = [json.loads(line) for line in request.messages[0].text.splitlines()]
    assert lines[1:] == [
        {"user": "go"},
        {"task": "look"},
        {"call": {"tool": "Glob", "input": {"pattern": "*.pem"}}},
    ]
    assert "secret-result" not in request.messages[0].text


@pytest.mark.parametrize("answer", ["Well, fine.", ""])
async def test_a_review_without_a_verdict_hands_the_result_on_as_unreviewed(
    tmp_path: Path, autojump_clock: MockClock, answer: str
) -> None:
    """The empty answer stands for a playbook that has no page for the reviewer."""
    book = pages(answer)
    if not answer:
        del book["handoff-review"]
    main = in_order(agent("look", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main, pages=book, mode="auto") as crew:
        await crew.run("go")
        await crew.wait_quiet()

    (notice,) = notices(crew)
    assert notice.index(UNREVIEWED) < notice.index("Report on: look")
    assert violations(crew) == []


@pytest.mark.parametrize(("timeout_s", "wait_s", "limit_s"), [(5, 10.0, 5), (300, 40.0, 30)])
async def test_a_review_that_takes_too_long_does_not_hold_up_the_report(
    tmp_path: Path, autojump_clock: MockClock, timeout_s: int, wait_s: float, limit_s: int
) -> None:
    """Whatever the settings say, no report waits longer than 30 s."""
    auto = AutoMode(AutoModeSettings(timeout_s=timeout_s))
    book = pages(ALLOW)
    async with open_crew(tmp_path, in_order("Noted."), pages=book, mode="auto", auto=auto, wait_s=wait_s) as crew:
        task = await crew.spawn("general-purpose", "look", tells_main=True)
        began_s = trio.current_time()
        result = await ended(task)
        assert trio.current_time() - began_s == 2 * wait_s + limit_s

    assert (result.result or "").startswith("[harness:")
    assert UNREVIEWED in (result.result or "")
    assert f"did not answer within {limit_s} s" in (result.result or "")


async def test_in_the_background_the_notice_brings_the_warning_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(agent("look", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main, pages=pages(BLOCK), mode="auto") as crew:
        await crew.run("go")
        await crew.wait_quiet()

    (notice,) = notices(crew)
    assert "<status>completed</status>" in notice
    assert notice.index(WARNING) < notice.index("Report on: look")
    assert violations(crew) == []


async def test_what_called_no_tool_and_what_is_not_in_auto_is_not_reviewed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    book = pages(BLOCK, child=lambda request: f"Report on: {asked(request)}")
    async with open_crew(tmp_path, in_order(agent("look")), pages=book, mode="auto") as crew:
        await crew.run("go")
        assert told(crew, AgentReviewed) == []
    (tmp_path / "other").mkdir()
    async with open_crew(tmp_path / "other", in_order(agent("look")), pages=pages(BLOCK)) as crew:
        await crew.run("go")
        assert told(crew, AgentReviewed) == []
        assert told(crew, PermissionReviewed) == []
        assert "[harness:" not in main_messages(crew)[2]


async def test_an_agent_whose_calls_were_compacted_away_is_reviewed_with_them(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    requests: list[ModelRequest] = []

    def review(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return BLOCK

    def child(request: ModelRequest) -> AnswerLike:
        if "All of it" in request.messages[0].text:
            return "Report."
        if "<summary>" in request.messages[-1].text:
            return "<summary>All of it, in short.</summary>"
        return WrittenAnswer([Call("Glob", {"pattern": "*.pem"})], usage=Usage(50_000))

    book = pages(review, child=child)
    small: Any = {
        "settings": TurnSettings(compaction=CompactionSettings(window_tokens=60_000, summary_tokens=100, at_percent=50))
    }
    async with open_crew(tmp_path, in_order(agent("look")), pages=book, mode="auto", **small) as crew:
        await crew.run("go")
        text = main_messages(crew)[2]
        assert len(told(crew, CompactEnded)) == 1

    assert WARNING in text
    (request,) = requests
    call = {"call": {"tool": "Glob", "input": {"pattern": "*.pem"}}}
    assert [json.loads(line) for line in request.messages[0].text.splitlines()][-1] == call


async def test_the_task_is_reviewed_before_an_agent_starts(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(agent("delete all remote branches"), "I do not.")
    async with open_crew(tmp_path, main, pages=pages(ALLOW, call=BLOCK), mode="auto") as crew:
        assert (await crew.run("go")).text == "I do not."
        assert crew.states() == []
        assert "auto mode blocks it: it looked for keys" in main_messages(crew)[2]


async def test_an_agent_that_is_blocked_too_often_ends_and_its_parent_is_told_why(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nobody can be asked here; the pause is the crew's: the parent starts no other one to try it."""

    def review(request: ModelRequest) -> AnswerLike:
        return ALLOW if json.loads(request.messages[0].text.splitlines()[-1])["review"]["tool"] == "Agent" else BLOCK

    book = {**pages(ALLOW), "call-review": review, "general-purpose": lambda _: Call("Bash", {"command": "git push"})}
    main = in_order(agent("push"), agent("push again"))
    async with open_crew(tmp_path, main, pages=book, mode="auto") as crew:
        with pytest.raises(Exception, match="nobody can be asked"):
            await crew.run("go")
        texts = main_messages(crew)
        assert states(crew) == ["failed"]

    assert "auto mode did not allow too many calls" in texts[2]


# --- while it is under review ----------------------------------------------------------------------------------------


async def test_the_end_is_there_to_see_before_the_review_and_the_notice_follows_it(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End, review, worktree, notice."""
    order: list[tuple[str, float]] = []
    make_repository(tmp_path / "project")
    let_go = SubagentWorktrees.release

    async def noted(*arguments: Any) -> None:
        order.append(("worktree", trio.current_time()))
        await let_go(*arguments)

    def review(_: ModelRequest) -> AnswerLike:
        order.append(("review", trio.current_time()))
        return BLOCK

    monkeypatch.setattr(SubagentWorktrees, "release", noted)
    main = in_order(agent("look", run_in_background=True, isolation="worktree"), "It runs.")
    async with open_crew(tmp_path, main, pages=pages(review), mode="auto", wait_s=10.0) as crew:
        await crew.run("go")
        (task,) = crew.tasks.all()
        await task.wait_finished()
        ended_s = trio.current_time()
        assert (str(task.state), task.is_settled, PENDING in (task.result or "")) == ("completed", False, True)
        await crew.wait_quiet()

    assert [name for name, _ in order] == ["review", "worktree"]
    assert order[1][1] >= ended_s + 10
    assert WARNING in notices(crew)[0]
    assert violations(crew) == []


async def test_whoever_reads_a_result_that_is_under_review_is_told_so_and_of_what_is_found(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A blocked TaskOutput is released at once; the warning follows with what the reader reads next, and no notice."""

    def main(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        if said == 0:
            return agent("look", run_in_background=True)
        found = request.messages[2].content[0].content.split("agentId: ")[1].split()[0]  # type: ignore[union-attr]
        if said == 1:
            return Call("TaskOutput", {"task_id": found})
        return Call("Glob", {"pattern": "*"}) if said < 5 else "Noted."

    async with open_crew(tmp_path, main, pages=pages(BLOCK), mode="auto", wait_s=5.0) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        texts = main_messages(crew)

    assert PENDING in texts[4]
    assert "Report on: look" in texts[4]
    assert "\n".join(texts[5:]).count(WARNING) == 1
    assert notices(crew) == []
    assert violations(crew) == []


@pytest.mark.parametrize("way", ["task", "all", "interrupt"])
async def test_a_kill_during_the_review_neither_loses_nor_doubles_the_notice(
    tmp_path: Path, autojump_clock: MockClock, way: str
) -> None:
    main = in_order(agent("look", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main, pages=pages(BLOCK), mode="auto", wait_s=10.0) as crew:
        await crew.run("go")
        (task,) = crew.tasks.all()
        await task.wait_finished()
        await trio.sleep(2)
        if way == "task":
            assert not crew.kill(task.info.id)
        elif way == "all":
            assert crew.kill_all() == []
        else:
            crew.interrupt()
        await crew.wait_quiet()

    (notice,) = notices(crew)
    assert "<status>completed</status>" in notice
    assert WARNING in notice
    assert violations(crew) == []


async def test_an_abort_of_the_turn_that_waits_for_the_review_tells_the_end_later(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_crew(
        tmp_path, in_order(agent("look"), "Here."), pages=pages(BLOCK), mode="auto", wait_s=10.0
    ) as crew:

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await crew.run("go")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.sleep(25)  # main, the review of its call, and half of the first request of the agent
            (task,) = crew.tasks.all()
            await task.wait_finished()
            await trio.sleep(2)
            crew.interrupt("enough")
        await crew.wait_quiet()
        await crew.run("and now?")

    (notice,) = notices(crew)
    assert WARNING in notice
    assert violations(crew) == []


async def test_an_agent_that_is_killed_is_not_reviewed_and_its_part_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Kill, partial, notice."""

    def slow(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        return [Say(f"Part {said}."), Call("Glob", {"pattern": "*"})]

    book = pages(BLOCK, child=slow)
    main = in_order(agent("look", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main, pages=book, mode="auto", wait_s=10.0) as crew:
        await crew.run("go")
        await trio.sleep(25)
        (task,) = crew.tasks.all()
        assert crew.kill(task.info.id)
        await crew.wait_quiet()
        assert told(crew, AgentReviewed) == []

    (notice,) = notices(crew)
    assert "<status>killed</status>" in notice
    assert UNREVIEWED in notice
    assert "it did not come to its end" in notice


async def test_a_provider_that_fails_a_review_fails_nothing_else(tmp_path: Path, autojump_clock: MockClock) -> None:
    def review(_: ModelRequest) -> AnswerLike:
        raise ProviderError("down", kind="overloaded")

    async with open_crew(tmp_path, in_order(agent("look")), pages=pages(review), mode="auto") as crew:
        await crew.run("go")
        assert states(crew) == ["completed"]

    assert UNREVIEWED in main_messages(crew)[2]


async def test_of_an_agent_that_is_resumed_from_disk_the_reviewer_reads_all_that_it_was_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    requests: list[ModelRequest] = []

    def review(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return BLOCK

    main = in_order("Noted.", mail("ann", "look again"))
    async with open_crew(tmp_path, main, pages=pages(review), mode="auto") as crew:
        handle = await crew.spawn("general-purpose", "look", tells_main=True, name="ann")
        await ended(handle)
        await crew.wait_quiet()
        await trio.sleep(100)  # it is released
        await crew.run("go")
        await crew.wait_quiet()

    assert len(requests) == 2
    lines = [json.loads(line) for line in requests[1].messages[0].text.splitlines()]
    first, second = [line["task"] for line in lines if "task" in line]
    assert (first, "look again" in second) == ("look", True)
    assert len([line for line in lines if "call" in line]) == 1
