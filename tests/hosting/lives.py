"""A run and the host of its agent in virtual time: either may die at a moment, with what is on its disk, and the link may be lost."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal, final
from unittest import mock

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import ActorEnded, AskTimedOut
from greenroom.hosting._hosted_agents import HostPlan
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, Say
from greenroom.remote.hosts import FollowAgent, LaunchAgent, ReleaseAgent, StopAgent, host_codec
from greenroom.remote.links import LinkLost
from greenroom.session import Session, open_session
from greenroom.session.parts._session_remotes import SessionRemotes
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from tests.hosting.expected_ends import Seen
from tests.hosting.host_kit import Desk, opened_host
from tests.session.crashes import tasks_of, told_in

WORK_S: Final = 6.0
"""Seconds of the agent's only call."""
_LATE: Final = "a result came after its end"
_CODEC: Final = host_codec()


@tool(name="Work")
async def work() -> str:
    """Work for a while."""
    await trio.sleep(WORK_S)
    return "worked"


def _far(request: ModelRequest) -> AnswerLike:
    return "I found it." if len(request.messages) > 2 else [Say("I look."), Call("Work", {})]


def _main(request: ModelRequest) -> AnswerLike:
    is_first = not any(message.role == "assistant" for message in request.messages)
    return (
        Call("Agent", {"description": "Far away", "prompt": "Work!", "subagent_type": "far"}) if is_first else "Noted."
    )


FAR: Final = {"far": {"description": "Works elsewhere.", "prompt": "You work.", "isolation": "remote"}}


@final
@attrs.define(eq=False)
class _Life:
    """A process, as long as it lives."""

    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    over: trio.Event = attrs.field(factory=trio.Event)
    is_dead: bool = False


@final
class Lives:
    """A run, a host, and the link between them.

    Args:
        root: A folder for both.
        nursery: For the host, and for the run.
    """

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        self.run_folder, self.host_folder = root / "runs", root / "host"
        self.asked = 0
        """Number of requests of the agent's first turn."""
        self.session: Session | None = None
        self.at: Callable[[str], Awaitable[object]] = _nothing
        """Called at each moment; see `expected_ends`."""
        self.host_folder.mkdir()
        self._root = root
        self._nursery = nursery
        self._desk: Desk | None = None
        self._host = self._run = _Life()
        self._lost = trio.Event()
        self._is_gone = False
        self._is_paused = False
        self._changed = trio.Event()

    # --- the link ---------------------------------------------------------------------------------------------------

    async def connect(self, _: str) -> Any:
        return _Line(self, self._run)

    async def cross(self, life: _Life, outcome: Literal["not_sent", "unknown"]) -> None:
        """Wait while the link is cut; raise `LinkLost` if it is lost."""
        while self._is_paused and not life.is_dead:
            await self._changed.wait()
        if self._is_gone or life.is_dead or self._desk is None:
            await trio.sleep(0.01)
            raise LinkLost("far", outcome)

    async def find(self, name: str, life: _Life) -> Ref[Any] | None:
        await self.cross(life, "not_sent")
        assert self._desk is not None
        return self._desk.published.find(name)

    async def ask(self, ref: Ref[Any], request: Any, life: _Life, timeout_s: float) -> Any:
        if isinstance(request, LaunchAgent):
            await self.at("order on record")
        elif isinstance(request, StopAgent):
            await self.at("stop recorded")
        elif isinstance(request, ReleaseAgent):
            await self.at("end recorded")
        await self.cross(life, "not_sent")
        answers: list[Any] = []
        with trio.move_on_after(timeout_s) as limit:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_lost, nursery.cancel_scope)
                try:
                    request = _CODEC.read(_CODEC.write(request))
                    answers.append(await ref.ask(request, timeout_s=timeout_s, cascade=True))
                except ActorEnded:
                    pass
                nursery.cancel_scope.cancel()
        if limit.cancelled_caught:
            raise AskTimedOut("the host", timeout_s)
        if answers:
            await self._answered(request, answers[0])
        await self.cross(life, "unknown")
        if not answers:
            raise LinkLost("far", "unknown")
        return _CODEC.read(_CODEC.write(answers[0]))

    async def _until_lost(self, scope: trio.CancelScope) -> None:
        await self._lost.wait()
        scope.cancel()

    async def _answered(self, request: Any, answer: Any) -> None:
        if isinstance(request, LaunchAgent):
            await self.at("order taken")
        elif isinstance(request, FollowAgent) and answer.state == "running":
            await self.at("running")
        elif isinstance(request, FollowAgent) and answer.size == request.offset + len(answer.output):
            await self.at("end decided")

    def _lose(self) -> None:
        self._lost.set()
        self._lost = trio.Event()
        self._changed.set()
        self._changed = trio.Event()

    def cut(self, for_s: float) -> None:
        """Cut the link, and resume it later."""
        self._is_paused = True
        self._nursery.start_soon(self._heal, for_s)

    def lose(self, for_s: float) -> None:
        """Lose the link; there is none for a while."""
        self._is_gone = True
        self._lose()
        self._nursery.start_soon(self._heal, for_s)

    async def _heal(self, after_s: float) -> None:
        await trio.sleep(after_s)
        self._is_gone = self._is_paused = False
        self._changed.set()
        self._changed = trio.Event()

    def kill_both(self) -> None:
        """Kill the run and the host."""
        self.kill_run()
        self.kill_host(after_s=0.5)

    # --- the host ---------------------------------------------------------------------------------------------------

    async def start_host(self) -> None:
        """Start the host in its folder."""
        self._host = _Life()
        await self._nursery.start(self._serve, self._host)

    async def _serve(self, life: _Life, task_status: trio.TaskStatus[None]) -> None:
        plan = HostPlan(
            folder=self.host_folder, make_model=lambda: PlaybookModel({"far": self._count}, wait_s=1), tools=(work,)
        )
        try:
            with life.scope:
                async with opened_host(plan) as self._desk:
                    task_status.started()
                    await trio.sleep_forever()
        finally:
            life.over.set()

    def _count(self, request: ModelRequest) -> AnswerLike:
        self.asked += len(request.messages) == 1
        return _far(request)

    def kill_host(self, *, after_s: float = 1.0) -> None:
        """Kill the host; another process of it starts later."""
        life, self._desk = self._host, None
        self._swap_in(self.host_folder, life)
        self._lose()
        self._nursery.start_soon(self._start_again, life, after_s)

    async def _start_again(self, life: _Life, after_s: float) -> None:
        await life.over.wait()
        _take_copy(self.host_folder)
        await trio.sleep(after_s)
        await self.start_host()

    # --- the run ----------------------------------------------------------------------------------------------------

    async def start_run(self, *, is_resumed: bool = False) -> None:
        """Start a process of the run."""
        self._run = _Life()
        await self._nursery.start(self._live, self._run, is_resumed)

    async def _live(self, life: _Life, is_resumed: bool, task_status: trio.TaskStatus[None]) -> None:
        try:
            with life.scope:
                async with open_session(
                    model=PlaybookModel({"main": self._read}, wait_s=1),
                    cwd=self._root,
                    runs=self.run_folder,
                    tools=AGENT_TOOLS,
                    agents=FAR,
                    settings={"remote": {"hosts": {"far": {"address": "unix:/far", "token_file": "none"}}}},
                    ports=virtual_ports(len(list(self.run_folder.glob("*")))),
                    resume="last" if is_resumed else None,
                ) as self.session:
                    task_status.started()
                    if not is_resumed:
                        await self.session.run("Go!")
                    await trio.sleep_forever()
        finally:
            life.over.set()

    def _read(self, request: ModelRequest) -> AnswerLike:
        if "<task-notification>" in str(request.messages[-1]):
            self._nursery.start_soon(self.at, "notice read")
        return _main(request)

    def stop_agent(self) -> None:
        """Stop the agent, as a person does."""
        assert self.session is not None
        [task] = self.session.tasks.all()
        self.session.tasks.kill(task.id, "enough")

    def kill_run(self, *, after_s: float = 1.0) -> None:
        """Kill the process of the run; another one resumes the run later."""
        life = self._run
        self._swap_in(self.run_folder, life)
        self._nursery.start_soon(self._resume, life, after_s)

    async def _resume(self, life: _Life, after_s: float) -> None:
        await life.over.wait()
        _take_copy(self.run_folder)
        await trio.sleep(after_s)
        await self.start_run(is_resumed=True)

    @staticmethod
    def _swap_in(folder: Path, life: _Life) -> None:
        shutil.copytree(folder, _copy_of(folder))
        life.is_dead = True
        life.scope.cancel()

    # --- what is left -----------------------------------------------------------------------------------------------

    async def end(self) -> Seen:
        """End both, check what is left, and return what the run has seen."""
        assert self.session is not None
        assert self._desk is not None
        with trio.fail_after(1000):
            await self.session.wait_quiet()
        assert self._desk.agents.running == 0
        self._run.scope.cancel()
        await self._run.over.wait()
        assert list(self.host_folder.glob("agents/*/*.json")) == []
        self._host.scope.cancel()
        await self._host.over.wait()
        [folder] = self.run_folder.glob("2*")
        [(name, task)] = [(key[0], view) for key, view in tasks_of(folder).items() if view.type == "remote_agent"]
        here, there = folder / "tasks" / f"{name}.output", list(self.host_folder.glob("runs/*/tasks/*.output"))
        if task.cause != "host":
            assert (here.read_bytes() if here.exists() else b"") == b"".join(path.read_bytes() for path in there)
        lines = [line for path in folder.glob("transcripts/*.jsonl") for line in path.read_text().splitlines()]
        late = sum(_LATE in line and '"type":"user"' in line for line in lines)
        return Seen(task.state.value, task.cause, told_in(folder)[task.notice_id], late)


@final
class _Line:
    """A link, as far as the agents of a run use one."""

    def __init__(self, lives: Lives, life: _Life) -> None:
        self._lives = lives
        self._life = life

    async def find(self, name: str) -> Any:
        ref = await self._lives.find(name, self._life)
        return None if ref is None else _Far(self._lives, self._life, ref)


@final
@attrs.frozen
class _Far:
    """A reference over such a link."""

    lives: Lives
    life: _Life
    ref: Ref[Any]

    async def ask(self, request: Any, *, timeout_s: float, cascade: bool = False) -> Any:
        return await self.lives.ask(self.ref, request, self.life, timeout_s)


async def _nothing(_: str) -> None: ...


FAULTS: Final[dict[str, Callable[[Lives], object]]] = {
    "launcher killed": Lives.kill_run,
    "host killed": Lives.kill_host,
    "both killed": Lives.kill_both,
    "link cut": lambda lives: lives.cut(10),
    "link lost": lambda lives: lives.lose(30),
    "host unreachable": lambda lives: lives.lose(1_000),
}
"""The faults of `EXPECTED`."""


async def seen_after(root: Path, strikes: dict[str, Callable[[Lives], object]]) -> Seen:
    """Return what a run has seen of its agent after something happened at each of some moments, once.

    Args:
        root: An empty folder.
        strikes: The functions by their moments.
    """
    is_away = FAULTS["host unreachable"] in strikes.values()

    async with trio.open_nursery() as nursery:
        lives = Lives(root, nursery)

        async def at(name: str) -> None:
            if name in strikes:
                strikes.pop(name)(lives)
                await trio.lowlevel.checkpoint()

        lives.at = at
        with mock.patch.object(SessionRemotes, "_connect", lambda _, host: lives.connect(host)):
            await lives.start_host()
            await lives.start_run()
            await trio.sleep(1_400 if is_away else 120)
            seen = await lives.end()
            nursery.cancel_scope.cancel()
    assert strikes == {}
    assert lives.asked == 1 if seen.state == "completed" else lives.asked <= 1
    return seen


async def seen_of_fault(root: Path, fault: str, moment: str) -> Seen:
    """Return the cell of `EXPECTED` as it is seen."""
    return await seen_after(root, {moment: FAULTS[fault]})


async def seen_of_stop(root: Path, fault: str) -> Seen:
    """Return the cell of `STOPS` as it is seen: the fault is at the moment when the stop is on record, and not sent."""
    return await seen_after(root, {"running": Lives.stop_agent, "stop recorded": FAULTS.get(fault, lambda _: None)})


def _copy_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.copy")


def _take_copy(folder: Path) -> None:
    shutil.rmtree(folder)
    _copy_of(folder).rename(folder)
