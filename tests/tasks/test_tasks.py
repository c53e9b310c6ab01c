"""The table of tasks as a machine, and that the end of each is told once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Cause, IllegalTransition, InternalError
from greenroom.core.texts._control_characters import without_control
from greenroom.tasks import TERMINAL, TRANSITIONS, Edge, Task, TaskInfo, TaskNotice, Tasks, TaskState, open_tasks, step
from greenroom.testing import CancelAt, cancel_sweep, run_virtual

RELEASES_APART_S = 0.05
ASKED = Cause("user", "enough")


def start(tasks: Tasks, work: Any, number: int = 0, *, owner: str = "a1", is_background: bool = True) -> Task:
    return tasks.start(
        work,
        id=f"b{number:08}",
        description="work",
        owner=owner,
        tool_use_id="t1",
        output_file=Path("/out"),
        command="work",
        is_background=is_background,
    )


class Owner:
    """Owns the tasks of a test, and has no names for them."""

    def __init__(self, release: Callable[[Task], bool]) -> None:
        self.release = release

    def id_of(self, name: str) -> str:
        return ""


async def succeed() -> int:
    await trio.sleep(1)
    return 0


async def fail() -> int:
    await trio.sleep(1)
    return 3


async def crash() -> int:
    await trio.sleep(1)
    raise ValueError("broken")


# --- the table -------------------------------------------------------------------------------------------------------


def test_there_are_five_edges_and_three_ends() -> None:
    edges = [(state, edge, after) for state, row in TRANSITIONS.items() for edge, after in row.items()]

    assert [(a.value, b.value) for a, _, b in edges] == [
        ("pending", "running"),
        ("pending", "killed"),
        ("running", "completed"),
        ("running", "failed"),
        ("running", "killed"),
    ]
    assert {state.value for state in TERMINAL} == {"completed", "failed", "killed"}


@given(st.lists(st.sampled_from(Edge), max_size=8))
def test_no_order_of_edges_leaves_an_end(edges: list[Edge]) -> None:
    state = TaskState.PENDING
    for edge in edges:
        before = state
        try:
            state = step(state, edge)
        except IllegalTransition:
            assert edge not in TRANSITIONS[before]
        else:
            assert before not in TERMINAL


# --- how tasks end ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "state", "summary"),
    [
        (succeed, "completed", 'Background command "work" completed (exit code 0)'),
        (fail, "failed", 'Background command "work" failed with exit code 3'),
        (crash, "failed", 'Background command "work" failed: broken'),
    ],
)
async def test_an_end_is_told_once(autojump_clock: object, work: Any, state: str, summary: str) -> None:
    told: list[TaskNotice] = []
    async with open_tasks(tell=told.append) as tasks:
        task = start(tasks, work)
        assert task.state == "pending"
        assert tasks.find(task.info.id) is task
        await task.wait_finished()
        assert not task.kill(ASKED)

    assert [(one.status, one.summary, one.owner) for one in told] == [(state, summary, "a1")]
    assert task.state == state
    assert task.began_s is not None
    assert task.ended_s - task.began_s == 1


async def test_every_end_of_one_moment_is_told(autojump_clock: object) -> None:
    """RC-19: a hundred at once."""
    told: list[TaskNotice] = []
    async with open_tasks(tell=told.append) as tasks:
        ids = [start(tasks, succeed, number).info.id for number in range(100)]
        await trio.sleep(2)

    assert sorted(one.task_id for one in told) == ids


async def test_a_kill_ends_what_runs_and_what_has_not_begun(autojump_clock: object) -> None:
    told: list[TaskNotice] = []
    begun: list[int] = []

    async def work() -> int:
        begun.append(1)
        await trio.sleep_forever()
        return 0

    async with open_tasks(tell=told.append) as tasks:
        early = start(tasks, work, 1)
        assert early.kill(ASKED)
        assert early.state == "killed"
        late = start(tasks, work, 2)
        await trio.testing.wait_all_tasks_blocked()
        assert late.kill(ASKED)
        assert late.kill(Cause("host", "too late to be the cause"))
        assert late.state == "running"
        assert late.ending == "is running"
        await late.wait_finished()

    assert begun == [1]
    assert [one.summary for one in told] == ['Background command "work" was stopped by user: enough'] * 2


async def test_leaving_ends_all_and_waits_for_what_they_give_back(autojump_clock: object) -> None:
    given_back: list[int] = []

    async def work() -> int:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(3)
            given_back.append(1)
        return 0

    async with open_tasks(tell=lambda _: None) as tasks:
        started = [start(tasks, work, number) for number in range(3)]
        await trio.testing.wait_all_tasks_blocked()

    assert given_back == [1, 1, 1]
    assert {task.state for task in started} == {"killed"}
    assert {task.cause for task in started} == {Cause("session", "the session ends")}


async def test_an_agent_s_tasks_are_ended_without_the_others(autojump_clock: object) -> None:
    async with open_tasks(tell=lambda _: None) as tasks:
        mine, yours = start(tasks, trio.sleep_forever, 1), start(tasks, succeed, 2, owner="a2")
        await trio.testing.wait_all_tasks_blocked()
        await tasks.stop(ASKED, owner="a1")

        assert (mine.state, yours.state) == ("killed", "running")
        assert tasks.running() == (yours,)


async def test_an_id_is_used_once(autojump_clock: object) -> None:
    async with open_tasks(tell=lambda _: None) as tasks:
        start(tasks, succeed, 1)
        with pytest.raises(InternalError):
            start(tasks, succeed, 1)


async def test_what_ended_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch, autojump_clock: object) -> None:
    monkeypatch.setattr("greenroom.tasks._registry.MAX_FINISHED", 2)

    async with open_tasks(tell=lambda _: None) as tasks:
        for number in range(4):
            await start(tasks, succeed, number).wait_finished()

        assert [tasks.find(f"b{number:08}") is not None for number in range(4)] == [False, False, True, True]


async def test_every_edge_is_shown_to_whoever_watches(autojump_clock: object) -> None:
    seen: list[tuple[str, str | None]] = []
    async with open_tasks(tell=lambda _: None, watch=lambda task, edge: seen.append((task.state, edge))) as tasks:
        await start(tasks, succeed).wait_finished()

    assert seen == [("running", "begin"), ("completed", "complete")]


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=12))
def test_what_has_ended_is_released_in_time_and_together_where_ends_follow_each_other(pauses_s: list[float]) -> None:
    """Nothing early, the first one on time, the others a twentieth of a second late at most."""
    due: list[tuple[str, float]] = []
    released: list[tuple[str, float]] = []

    def release(task: Task) -> bool:
        released.append((task.info.id, trio.current_time()))
        return True

    async def scenario() -> None:
        async with open_tasks(tell=lambda _: None, release_s=5.0) as tasks:
            tasks.join(Owner(release))
            for number, pause_s in enumerate(pauses_s):
                await trio.sleep(pause_s)
                info = TaskInfo(id=f"a{number}", description="", owner="", output_file=Path("/out"))
                task = tasks.open(info, is_background=True, kill=lambda _: None)
                tasks.begin(task)
                tasks.end(task, Edge.COMPLETE)
                due.append((task.info.id, trio.current_time() + 5.0))
            await trio.sleep(10)

    run_virtual(scenario)

    assert [one for one, _ in released] == [one for one, _ in due]
    assert released[0][1] == pytest.approx(due[0][1])
    late_s = RELEASES_APART_S + 1e-9  # sums of floats
    assert all(due_s - 1e-9 <= at_s <= due_s + late_s for (_, due_s), (_, at_s) in zip(due, released, strict=True))


async def test_a_task_that_somebody_looks_at_or_goes_on_with_is_released_later(autojump_clock: object) -> None:
    """Also where nothing is kept after its end at all."""
    released: list[float] = []

    def release(_: Task) -> bool:
        released.append(trio.current_time())
        return len(released) > 1

    async with open_tasks(tell=lambda _: None, release_s=0.0) as tasks:
        tasks.join(Owner(release))
        info = TaskInfo(id="a1", description="", owner="", output_file=Path("/out"))
        task = tasks.open(info, is_background=True, kill=lambda _: None)
        task.retain = True
        tasks.begin(task)
        tasks.end(task, Edge.COMPLETE)
        await trio.sleep(1)
        assert released == []
        task.retain = False
        await trio.sleep(1)

    assert len(released) == 2, "the first time it could not be released yet"


# --- foreground, background, and who tells ---------------------------------------------------------------------------


async def test_what_a_call_waits_for_needs_no_notice_unless_it_is_moved(autojump_clock: object) -> None:
    told: list[str] = []
    async with open_tasks(tell=lambda notice: told.append(notice.task_id)) as tasks:
        waited, moved = (start(tasks, succeed, number, is_background=False) for number in (1, 2))
        assert moved.move_to_background()
        await moved.wait_released()
        assert not moved.is_finished
        await waited.wait_released()
        assert waited.is_finished
        assert not waited.move_to_background()

    assert told == ["b00000002"]


def test_the_end_is_told_once_wherever_the_reader_is_cancelled() -> None:
    """At every step: the reader tells of the end and no notice does, or the other way round. CL-03."""

    async def scenario(cancel_at: CancelAt) -> tuple[int, int]:
        told: list[TaskNotice] = []
        read: list[str] = []
        async with open_tasks(tell=told.append) as tasks:
            task = start(tasks, succeed)
            with trio.CancelScope() as scope:
                cancel_at.aim(scope.cancel)
                with task.claimed():
                    await task.wait_finished()
                    await trio.lowlevel.checkpoint()
                    task.mark_notified()
                    read.append(task.ending)
            cancel_at.rest()
            await task.wait_finished()
        return len(told), len(read)

    counts = [run.result for run in cancel_sweep(scenario)]

    assert {told + read for told, read in counts} == {1}
    assert {told for told, _ in counts} == {0, 1}


# --- the notice ------------------------------------------------------------------------------------------------------


def test_the_notice_is_the_reference_s() -> None:
    """CL-04."""
    notice = TaskNotice(task_id="b1", tool_use_id="t1", output_file="/o", status="completed", summary='"a" & <b>')

    assert notice.xml == (
        "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t1</tool-use-id>\n<output-file>/o</output-file>\n"
        '<status>completed</status>\n<summary>"a" & <b></summary>\n</task-notification>'
    )


_ESCAPED: Final = (
    r"&((?:amp;)*)lt;(?=[\s/]*(?:(?:task-id|tool-use-id|output-file|worktree-branch)(?![\w-])"
    r"|(?:status|summary|result|usage|worktree)(?![\w-])[\w\s:./-]*(?:>|=(?!=)|\Z)))"
)
_FORGED: Final = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(["</summary>", "<status>", "completed</status>", "<RESULT>", "&lt;/summary>", "\n"]),
    ),
    max_size=6,
).map("".join)


@given(_FORGED, _FORGED, _FORGED, _FORGED)
def test_no_text_can_look_like_a_field(task_id: str, call: str, output: str, summary: str) -> None:
    """Whatever is in them, also the end of a notice and half characters: a strict reader finds the fields and their texts.

    RC-106.
    """
    notice = TaskNotice(task_id=task_id, tool_use_id=call, output_file=output, status="failed", summary=summary)

    expected = {"task-id": task_id, "tool-use-id": call, "output-file": output, "status": "failed", "summary": summary}
    lines = notice.xml.removeprefix("<task-notification>\n").removesuffix("\n</task-notification>")
    pattern = r"<(task-id|tool-use-id|output-file|status|summary|result|usage|worktree|worktree-branch)>(.*?)</\1>"
    found = re.findall(pattern, lines, re.DOTALL | re.IGNORECASE)
    assert [name for name, _ in found] == [name for name, text in expected.items() if text]
    for name, text in found:
        assert re.sub(_ESCAPED, _undone, text, flags=re.IGNORECASE) == without_control(expected[name])


def _undone(match: re.Match[str]) -> str:
    return f"&{match[1].removeprefix('amp;')}lt;" if match[1] else "<"
