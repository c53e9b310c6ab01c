"""Notices of ends whose readers are gone."""

from __future__ import annotations

from pathlib import Path

import attrs
import trio
from trio.testing import MockClock

from greenroom.models import AnswerLike, ModelRequest
from greenroom.tasks import EndReport, NoticeMode, TaskNotice, TaskUndelivered
from tests.agents.crews import ended, notices, open_crew, told, violations
from tests.agents.pages import agent, asked, in_order, last_texts, linger, slowly

# --- attempts ---------------------------------------------------------------------------------------------------------


# --- readers that are gone --------------------------------------------------------------------------------------------


async def test_undelivered_quiet_notice_is_recorded(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-32: it lies with its reader until that says something, so a reader that is gone has not got it."""
    pages = {"general-purpose": slowly}
    async with open_crew(tmp_path, in_order("Fine."), pages=pages, tools=(linger,)) as crew:
        handle = await crew.spawn("general-purpose", "job", tells_main=True)
        handle.task.notice_mode = NoticeMode.QUIET
        crew.main.ref.kill("it has had enough")
        assert (await ended(handle)).report is EndReport.UNDELIVERED
    assert len(told(crew, TaskUndelivered)) == 1


async def test_waiting_parent_continues_after_main_has_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-29: it waits for the end of its child, not for a delivery; that main is gone is on record of the parent's own end."""

    def parent(request: ModelRequest) -> AnswerLike:
        if asked(request) == "job":
            return slowly(request)
        return agent("job") if len(request.messages) == 1 else f"It says: {last_texts(request)}"

    pages = {"general-purpose": parent}
    async with open_crew(tmp_path, in_order("Fine."), pages=pages, tools=(linger,)) as crew:
        handle = await crew.spawn("general-purpose", "lead", tells_main=True)
        await trio.sleep(50)
        crew.main.ref.kill("it has had enough")
        with trio.fail_after(200):
            result = await ended(handle)
            await crew.wait_quiet()
    assert "It says: Report on: job" in (result.result or "")
    assert result.report is EndReport.UNDELIVERED
    assert [event.task for event in told(crew, TaskUndelivered)] == [handle.id]
    assert violations(crew) == []


async def test_notice_to_unknown_reader_goes_to_main_or_is_recorded(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-32: the notice goes to the nearest one above, at last to main; and if that is gone, it is on record."""
    lost = TaskNotice(task_id="b0", output_file="", status="completed", summary="It ended", owner="a0123456789abcdef")
    async with open_crew(tmp_path, in_order("Fine.")) as crew:
        crew.pool.deliver(lost)
        await crew.wait_quiet()
        crew.main.ref.kill("it has had enough")
        await trio.sleep(1)
        crew.pool.deliver(attrs.evolve(lost, run=2))
        await crew.wait_quiet()
    assert len(notices(crew)) == 1
    seen = [(event.actor, event.task, event.run) for event in told(crew, TaskUndelivered)]
    assert seen == [("a0123456789abcdef", "b0", 2)]


# --- approvals in the depth -------------------------------------------------------------------------------------------
