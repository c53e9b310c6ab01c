"""Ends and who hears of them when something goes wrong on the way: attempts, readers that are gone, approvals in the depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import TurnKilled
from greenroom.models import AnswerLike, Call, ModelRequest, ModelStream, PlaybookModel, ScriptedModel
from greenroom.models._scripted import ScriptStep
from greenroom.permissions import Allow, Deny
from greenroom.session import Session, open_session
from greenroom.tasks import TaskEnded, TaskState, TaskUndelivered
from greenroom.testing import virtual_ports
from greenroom.tools import Tool, tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import Page, agent, answers_in, asked, in_order, last_texts, linger, slowly
from tests.session.crashes import RecordingDisk, recording_ports, tasks_of, told_in
from tests.session.teamwork import main_messages, notices, open_teamwork, violations


class Stalling:
    """A model whose first attempts at each request of a kind of agent stand still forever."""

    def __init__(self, model: PlaybookModel, definition: str, *, stalls: int) -> None:
        self.name = model.name
        self.open = model.open
        self.attempts: Counter[tuple[str, int]] = Counter()
        self._model = model
        self._definition = definition
        self._stalls = stalls

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        place = (request.definition, len(request.messages))
        self.attempts[place] += 1
        if request.definition == self._definition and self.attempts[place] <= self._stalls:
            return ScriptedModel([ScriptStep(answer="Never heard.", wait_s=1e6)]).stream(request)
        return self._model.stream(request)


@pytest.mark.parametrize(("stalls", "state"), [(1, "completed"), (2, "completed"), (3, "failed")])
async def test_a_notice_is_of_the_run_and_its_attempts_are_nobodys_to_hear_of(
    stalls: int, state: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-27. Mechanism: retries are a layer around the model, below the turn; a task ends once, with its actor."""
    book = {"main": in_order(agent("job", run_in_background=True), "It runs."), "general-purpose": in_order("Done.")}
    model = Stalling(PlaybookModel(book), "general-purpose", stalls=stalls)
    models = {"deadlines": {"first_token_s": 60.0}, "retries": {"attempts": 3}}
    async with open_session(
        model=model,
        cwd=tmp_path,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="main"),
        tools=AGENT_TOOLS,
        settings={"models": models},
        ports=virtual_ports(),
    ) as session:
        events = session.events()
        await session.run("go")
        await session.wait_quiet()

    assert model.attempts["general-purpose", 1] == min(stalls + 1, 3)
    (notice,) = notices(session)
    assert f"<status>{state}</status>" in notice
    assert ("timeout" in notice) == (state == "failed")
    assert [event.state async for event in events if isinstance(event, TaskEnded)] == [state]
    assert violations(session) == []


async def test_undeliverable_notice_is_recorded_and_blocks_nobody(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-29, RC-32. Mechanism: waiters wait for the end itself; a notice that nobody takes is given up, on record.

    What it came to is kept: for the handle, in its output file, and for the next process, which tells it once.
    """
    pages = {"general-purpose": slowly}
    async with open_teamwork(tmp_path, in_order("Fine."), pages=pages, tools=(linger,)) as session:
        events = session.events()
        await session.run("go")
        handle = await session.spawn("general-purpose", "job", background=True, notify="main")
        await trio.sleep(50)
        session.main.kill("it has had enough")
        with trio.fail_after(200):
            result = await handle.wait_finished()
            await session.wait_quiet()
        (status,) = session.tasks.all()
    seen = [event async for event in events if isinstance(event, TaskUndelivered)]

    assert (result.state, result.text, result.is_undelivered) == (TaskState.COMPLETED, "Report on: job", True)
    assert [(one.task, one.run, one.status) for one in seen] == [(handle.id, 1, "completed")]
    assert not status.is_told
    assert "Report on: job" in await trio.Path(status.output_file).read_text()
    assert violations(session) == []

    async with open_teamwork(tmp_path, in_order("Fine."), resume=session.run_folder, ports=virtual_ports(1)) as second:
        await second.wait_quiet()
    (notice,) = notices(second)
    assert "<result>Report on: job</result>" in notice
    assert told_in(second.run_folder) == {f"{handle.id}.1": 1}


async def test_end_of_session_records_no_failed_delivery(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-32: main outlives those that it is told of; what it has no time to read, the next process tells."""
    pages = {"general-purpose": slowly}
    async with open_teamwork(tmp_path, in_order("Fine."), pages=pages, tools=(linger,)) as session:
        events = session.events()
        await session.run("go")
        handle = await session.spawn("general-purpose", "job", background=True, notify="main")
    assert [event async for event in events if isinstance(event, TaskUndelivered)] == []
    async with open_teamwork(tmp_path, in_order("Fine."), resume=session.run_folder, ports=virtual_ports(1)) as second:
        await second.wait_quiet()
    assert len(notices(second)) == 1
    assert told_in(second.run_folder) == {f"{handle.id}.1": 1}


class Effects:
    """Effects in the world, and the tools that have them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @property
    def tools(self) -> tuple[Tool, ...]:
        """`Effect` asks nobody, `Ask` asks first."""

        @tool(name="Effect", read_only=True)
        async def effect(name: str) -> str:
            """Do something at once.

            Args:
                name: What.
            """
            self.done.append(name)
            return f"did {name}"

        @tool(name="Ask")
        async def ask(name: str) -> str:
            """Do something that somebody has to allow.

            Args:
                name: What.
            """
            self.done.append(name)
            return f"did {name}"

        return (effect, ask)


def dives(request: ModelRequest) -> AnswerLike:
    """At depth 1 start an agent and wait for it; at depth 2 do something, ask for something, do something."""
    said = answers_in(request)
    told, name = last_texts(request), asked(request)
    if name.startswith("top"):
        return agent(f"deep{name[3:]}") if said == 0 else f"It says: {told}"
    asks = Call("Ask", {"name": f"{name} allowed"})
    if "Go on." in told:
        return asks
    steps = [Call("Effect", {"name": f"{name} before"}), asks, Call("Effect", {"name": f"{name} after"})]
    return steps[said] if said < len(steps) else f"{name} is done."


@asynccontextmanager
async def diving(folder: Path, main: Page, effects: Effects, **options: Any) -> AsyncIterator[Session]:
    """Open a session whose questions wait until they are answered."""
    (folder / "project").mkdir(exist_ok=True)
    options.setdefault("ports", virtual_ports())
    async with open_session(
        model=PlaybookModel({"main": main, "general-purpose": dives}, wait_s=1.0),
        cwd=folder / "project",
        runs=folder / "runs",
        main=AgentDefinition(name="main"),
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS, *effects.tools),
        settings={"child_permission": "inherit", "permissions": {"ask": ["Ask"]}},
        has_approver=True,
        permission_mode="default",
        **options,
    ) as session:
        yield session


async def wait_asked(session: Session, count: int) -> None:
    """Wait until so many questions wait."""
    with trio.fail_after(10_000):
        while len(session.permissions.approvals.waiting()) < count:
            await session.permissions.approvals.wait_changed()


async def test_an_answer_in_the_depth_goes_on_where_it_was_asked_for(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-89. Mechanism: a call that waits for an answer is a call that runs; neither it nor its parents begin anew.

    Two agents of depth 2 ask for the same thing; each gets its own answer.
    """
    effects = Effects()
    main = in_order([agent("top 1"), agent("top 2")], "Fine.")
    async with diving(tmp_path, main, effects) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.run, "go")
        await wait_asked(session, 2)
        await trio.sleep(60)
        first, second = sorted(session.permissions.approvals.waiting(), key=lambda one: str(one.input))
        assert first.agent != second.agent
        session.permissions.approvals.answer(second.id, Deny(message="not that one"))
        await trio.sleep(100)
        session.permissions.approvals.answer(first.id, Allow())

    assert Counter(effects.done) == Counter(
        ["deep 1 before", "deep 1 allowed", "deep 1 after", "deep 2 before", "deep 2 after"]
    )
    depths = [view.depth for view in tasks_of(session.run_folder).values()]
    assert sorted(depths) == [1, 1, 2, 2]
    assert "not that one" not in main_messages(session)[1]
    assert violations(session) == []


async def test_what_was_done_before_a_question_in_the_depth_is_not_done_again_by_another_process(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-89, RC-88: killed while the question waits. Mechanism: each agent has a transcript of its own, by its id."""
    effects, disk = Effects(), RecordingDisk()
    async with (
        diving(tmp_path, in_order(agent("top 1"), "Fine."), effects, ports=recording_ports(disk)) as first,
        trio.open_nursery() as nursery,
    ):

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await first.run("go")

        nursery.start_soon(run)
        await wait_asked(first, 1)
        await trio.sleep(10)
        count = len(disk.writes)
        first.kill()
    assert effects.done == ["deep 1 before"]
    left = disk.restore(count, first.run_folder, tmp_path / "crashed")
    (deep,) = (view.task for view in tasks_of(left).values() if view.depth == 2)

    def main(request: ModelRequest) -> AnswerLike:
        is_asked = last_texts(request).endswith("Let it go on.")
        return Call("SendMessage", {"to": deep, "message": "Go on."}) if is_asked else "Noted."

    async with diving(tmp_path, main, effects, resume=left, ports=virtual_ports(1)) as second:
        await second.wait_quiet()
        assert effects.done == ["deep 1 before"], "nothing begins by itself"
        assert second.permissions.approvals.waiting() == ()
        await second.run("Let it go on.")
        await wait_asked(second, 1)
        second.permissions.approvals.answer(second.permissions.approvals.waiting()[0].id, Allow())
        await second.wait_quiet()

    assert effects.done == ["deep 1 before", "deep 1 allowed"]
    ends = {(view.depth, view.run): (view.state.value, view.cause) for view in tasks_of(left).values()}
    assert ends == {(1, 1): ("failed", "lost"), (2, 1): ("failed", "lost"), (2, 2): ("completed", "")}
    assert violations(second) == []
