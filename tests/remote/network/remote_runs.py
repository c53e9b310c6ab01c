"""A launcher whose agents run on other nodes, and the hosts of these: a small model of both, over real links and simulated disks.

The launcher (the first node) asks a host to take a run, and says every three seconds that it still wants it; a host ends a run whose launcher
was not heard for `ORPHAN_S`. A result is kept at the host until the launcher has it in its box; it is read into a transcript there. What is
written counts with `sync`; what is recorded in that step is true as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import trio

import greenroom as gr
from greenroom.core import AskTimedOut, Undelivered
from greenroom.inbox import EntryKind, InboxAccepted, InboxTaken, OriginKind
from greenroom.mailbox import Lane
from greenroom.remote import LinkLost, LinkPace, MessageCodec, RemoteError
from greenroom.tasks import TaskBegan, TaskEnded, TaskRegistered
from greenroom.testing import Sim, SimNetwork, SimProcess

ORPHAN_S: Final = 12.0
MARGIN_S: Final = 10.0
PACE: Final = LinkPace(tick_s=2.0, resume_s=6.0)
STEPS: Final = 18
STEP_S: Final = 3.0
LONG_S: Final = (60.0, 0.0)
"""Times of the last silence, in seconds: the longer one has a run moved."""
LAUNCHER: Final = "red"
_WORD_S: Final = 3.0
_ASK_S: Final = 4.0
_SETTLE_S: Final = 240.0


@attrs.frozen
class Wanted(gr.Request[str]):
    """Asks a host to take a run, or to go on with it."""

    task: str
    place: int
    """Counts the places of the run, from 0."""


@attrs.frozen
class Unwanted(gr.Request[str]):
    """Asks a host to end a run, and to keep it ended in this place."""

    task: str
    place: int


@attrs.frozen
class Result(gr.Request[str]):
    """Hands a result over, under its id."""

    task: str


CODEC: Final = MessageCodec([Wanted, Unwanted, Result])


class Desk(gr.Behavior[Any]):
    """Answers what other nodes ask, at once."""

    def __init__(self, answers: Callable[[Any], str]) -> None:
        self._answers = answers

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        ctx.reply(self._answers(message))


async def open_desk(process: SimProcess, answers: Callable[[Any], str]) -> None:
    process.node.publish("desk", await process.runtime.spawn(Desk, answers, name="desk"))


async def asked(process: SimProcess, node: str, request: gr.Request[str]) -> str:
    """Ask the desk of a node; return an empty text if no answer came."""
    try:
        desk = await (await process.node.connect(node)).find("desk", timeout_s=_ASK_S)
        return "" if desk is None else await desk.ask(request, timeout_s=_ASK_S)
    except (gr.PeerError, AskTimedOut, LinkLost, RemoteError, Undelivered):
        return ""


async def ask_until_answered(process: SimProcess, node: str, request: gr.Request[str]) -> None:
    """Ask again and again, over whatever happens to links and processes, until an answer has come."""
    answer = ""
    while not answer:
        answer = await asked(process, node, request)
        await trio.sleep(0 if answer else _WORD_S)


# --- hosts --------------------------------------------------------------------------------------------------------------


class Host:
    """Runs agents for the launcher."""

    def __init__(self, process: SimProcess) -> None:
        self._process = process
        self._disk = process.storage
        self._words: dict[str, float] = {}
        self._running: set[str] = set()

    async def open(self) -> None:
        await open_desk(self._process, self._answers)
        for name in self._disk.names("end/"):
            self._process.start_soon(self._hand_over, name.removeprefix("end/"))

    def _answers(self, message: Any) -> str:
        task = message.task
        if isinstance(message, Unwanted):
            self._disk.write(f"gone/{task}", message.place)
            self._disk.sync()
            self._words.pop(task, None)
            return "gone"
        self._words[task] = trio.current_time()
        is_over = self._disk.read(f"end/{task}") or self._disk.read(f"gone/{task}", -1) >= message.place
        if not is_over and task not in self._running:
            self._running.add(task)
            self._process.start_soon(self._work, task)
        return "taken"

    async def _work(self, task: str) -> None:
        """Work step by step; before each, look at when the launcher was heard last."""
        emit = self._process.recorder.emit
        emit(TaskBegan(task=task, type="local_agent", description=""))
        state = "completed"
        for _ in range(STEPS):
            await trio.sleep(STEP_S)
            if trio.current_time() - self._words.get(task, -ORPHAN_S) >= ORPHAN_S:
                state = "killed"
                break
        emit(TaskEnded(task=task, state=state, exit_code=None, error=""))
        self._running.discard(task)
        if state == "completed":
            self._disk.write(f"end/{task}", True)
            self._disk.sync()
            await self._hand_over(task)

    async def _hand_over(self, task: str) -> None:
        await ask_until_answered(self._process, LAUNCHER, Result(task))


# --- the launcher -------------------------------------------------------------------------------------------------------


class Launcher:
    """Has its agents run on hosts, and moves one to the next host when the first cannot have it any more."""

    def __init__(self, process: SimProcess, hosts: tuple[str, ...], tasks: int) -> None:
        self._process = process
        self._disk = process.storage
        self._hosts = hosts
        self._tasks = tasks

    async def open(self) -> None:
        await open_desk(self._process, self._answers)
        for name in self._disk.names("box/"):
            self._process.start_soon(self._read, name.removeprefix("box/"))
        for name in self._disk.names("left/"):
            _, task, place = name.split("/")
            self._process.start_soon(self._leave, task, int(place))
        for number in range(self._tasks):
            self._process.start_soon(self._launch, f"r{number:08}")

    def _host(self, task: str, place: int) -> str:
        return self._hosts[(int(task[1:]) + place) % len(self._hosts)]

    async def _launch(self, task: str) -> None:
        """Place a run, and say that it is wanted until its result has come."""
        disk, process = self._disk, self._process
        if disk.read(f"place/{task}") is None:
            disk.write(f"place/{task}", 0)
            disk.sync()
            process.recorder.emit(TaskRegistered(task=task, type="remote_agent", description=""))
        heard_s = trio.current_time()
        while not disk.read(f"over/{task}"):
            place = disk.read(f"place/{task}")
            if await asked(process, self._host(task, place), Wanted(task, place)):
                heard_s = trio.current_time()
            elif len(self._hosts) > 1 and self._may_move(heard_s):
                disk.write(f"place/{task}", place + 1)
                disk.write(f"left/{task}/{place}", True)
                disk.sync()
                heard_s = trio.current_time()
                process.start_soon(self._leave, task, place)
            await trio.sleep(_WORD_S)

    async def _leave(self, task: str, place: int) -> None:
        await ask_until_answered(self._process, self._host(task, place), Unwanted(task, place))

    @staticmethod
    def _may_move(heard_s: float) -> bool:
        """True if the host has ended the run, unless it hears this node, whose words may be under way until links are lost."""
        silent_s = 3 * PACE.tick_s + PACE.resume_s + _ASK_S
        return trio.current_time() - heard_s > silent_s + ORPHAN_S + MARGIN_S

    def _answers(self, message: Any) -> str:
        task, item = message.task, f"{message.task}.1"
        if not self._disk.read(f"over/{task}"):
            self._disk.write(f"over/{task}", True)
            self._disk.write(f"box/{item}", True)
            self._disk.sync()
            emit = self._process.recorder.emit
            emit(TaskEnded(task=task, state="completed", exit_code=None, error=""))
            emit(
                InboxAccepted(
                    item=item,
                    origin=OriginKind.TASK_NOTIFICATION,
                    lane=Lane.NEXT,
                    entry=EntryKind.TASK_NOTIFICATION,
                    chars=1,
                )
            )
            self._process.start_soon(self._read, item)
        return "stored"

    async def _read(self, item: str) -> None:
        """Read an item: first its line is in the transcript for good, then it leaves the box."""
        await self._process.point()
        if not self._disk.read(f"line/{item}"):
            self._disk.write(f"line/{item}", True)
            self._disk.sync()
            self._process.recorder.emit(InboxTaken(item=item))
        await self._process.point()
        self._disk.write(f"box/{item}", None)
        self._disk.sync()


def remote_runs(
    hosts: int = 2, *, tasks: int = 2, faults: int = 4, after: Callable[[SimNetwork], object] = lambda _: None
) -> Callable[[Sim], Awaitable[None]]:
    """Return a scenario: a launcher has runs on hosts while faults come; then each has one end and one report."""
    names = ("green", "blue")[:hosts]

    async def scenario(sim: Sim) -> None:
        programs: dict[str, Callable[[SimProcess], Awaitable[object]]] = {
            LAUNCHER: lambda process: Launcher(process, names, tasks).open(),
            **{name: lambda process: Host(process).open() for name in names},
        }
        async with sim.network(programs, codec=CODEC, pace=PACE) as network:
            await network.disturb(faults)
            await trio.sleep(5)
            host = names[sim.choose(len(names))]
            for here, there in ((LAUNCHER, host), (host, LAUNCHER)):
                if not sim.choose(2):
                    network.silence(here, there)
            await trio.sleep(LONG_S[sim.choose(2)])
            network.heal()
            await trio.sleep(70)  # results come, and processes may still die at a point
            await network.settle(within_s=_SETTLE_S)
            after(network)

    return scenario
