"""A session in which something happens to a kind of work at one of its events: one cell of the matrix, and what came of it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from greenroom.agents import Appended, load_conversation
from greenroom.agents._repair import faults_of, repair
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import Cause, GreenroomError, JournalError, ProviderError
from greenroom.models import Call, Message, ModelRequest, ModelStream, Say, ScriptedModel, TextBlock, ToolResultBlock
from greenroom.models._scripted import ScriptStep
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.tasks import Task
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import Tool, ToolContext, tool
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.trace.disks import FillingDisk
from tools.fire.expected import ROUNDS, Fault, Moment, Truth, Work, is_hit_in_call, line, number_of

Cell = tuple[Work, Fault, Moment]
CELLS: Final[tuple[Cell, ...]] = tuple(itertools.product(Work, Fault, Moment))

MARK: Final = "under fire"
"""What the agent under fire is told."""
STEP_S: Final = 1.0
HUNG_S: Final = 300.0
"""Seconds after which somebody kills what hangs."""
NOT_ENDED: Final = ("Async agent launched", "in the background", "it was done, and cannot be recorded")
"""What the result of a call has in it that tells of a beginning."""
JOINED: Final = "in a row were joined"
"""What a reader notes of lines that are one message for the provider."""
LONG_S: Final = 5_000.0
ERRORS: Final = {
    Fault.FAIL: ProviderError("refused", kind="bad_request", status=400, is_retryable=False),
    Fault.RATE_LIMITED: ProviderError("slow down", kind="rate_limited", status=429, is_retryable=True),
    Fault.PASSING: ProviderError("slow down", kind="rate_limited", status=429, is_retryable=True),
    Fault.OVERLOADED: ProviderError("overloaded", kind="overloaded", status=529, is_retryable=True),
    Fault.CUT: ProviderError("the connection was cut", kind="cut", is_retryable=True),
}
AGENTS: Final = {
    "victim": {"description": "Works under fire.", "prompt": "You work."},
    "middle": {"description": "Starts another agent.", "prompt": "You delegate."},
}
RETRIES: Final = {"retries": {"attempts": 3}}


@attrs.define(kw_only=True)
class Seen:
    """What came of a cell."""

    task: Task | None = None
    reader: str = ""
    """Who has to be told: the id of an agent."""
    above: str = ""
    """Who asked for the reader, and is told in its place when it has ended; empty above main."""
    said: dict[str, list[Message]] = attrs.field(factory=dict)
    """What each agent's conversation got, in order."""
    error: GreenroomError | None = None
    """What the host got."""
    faults: list[str] = attrs.field(factory=list)
    """What is wrong with conversations and the journal."""

    def blocks(self, reader: str) -> Iterator[TextBlock | ToolResultBlock]:
        for message in self.said.get(reader, ()):
            if message.role == "user":
                yield from (block for block in message.content if isinstance(block, TextBlock | ToolResultBlock))

    @property
    def notices(self) -> list[str]:
        """The notices of its end, whoever read them."""
        if self.task is None:
            return []
        tag = f"<task-id>{self.task.info.id}</task-id>"
        found = [(reader, block) for reader in self.said for block in self.blocks(reader)]
        return [block.text for _, block in found if isinstance(block, TextBlock) and tag in block.text]

    @property
    def results(self) -> list[str]:
        """What the call that began it told of its end."""
        if self.task is None:
            return []
        call = self.task.info.tool_use_id
        found = [
            block
            for block in self.blocks(self.reader)
            if isinstance(block, ToolResultBlock) and block.tool_use_id == call
        ]
        return [one.content for one in found if not any(text in one.content for text in NOT_ENDED)]

    @property
    def told(self) -> str:
        """By what its end was told to models."""
        return " + ".join(["notice"] * len(self.notices) + ["result"] * len(self.results)) or "nothing"

    def problems(self, truth: Truth) -> list[str]:
        """Return how it differs from what was expected."""
        task = self.task
        if task is None:
            return ["it never began"]
        found = list(self.faults)
        if task.state != truth.state:
            found.append(f"state {task.state}")
        if self.told != truth.told:
            found.append(f"told by {self.told}")
        if (task.result or "") != truth.text:
            found.append(f"text {task.result!r}, not {truth.text!r}")
        if type(self.error).__name__ != (truth.error or "NoneType"):
            found.append(f"the host got {self.error!r}")
        words = " ".join(self.notices + self.results)
        if truth.text not in words:
            found.append(f"the text is not in {words!r}")
        if truth.reason not in words:
            found.append(f"the reason is not in {words!r}")
        if truth.told == "notice":
            if f"<status>{truth.state}</status>" not in words:
                found.append(f"the state is not in {words!r}")
            read = self.blocks(self.above if truth.goes_up else self.reader)
            if not any(isinstance(one, TextBlock) and one.text in self.notices for one in read):
                found.append("the notice went to somebody else")
        return found


class FireModel:
    """Plays main, a middle agent and the agent under fire; fails where the cell says so."""

    name = "fire"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        return ScriptedModel([self._step], wait_s=STEP_S).stream(request)

    def _step(self, request: ModelRequest) -> ScriptStep:
        stage = self._stage
        kind = request.definition
        told = [number for number, one in enumerate(request.messages) if _begins_work(one, kind)]
        number = 1 + sum(message.role == "assistant" for message in request.messages[told[-1] :])
        if kind in {"victim", "fork"}:
            stage.find_task()
            return self._under_fire(number)
        if kind == "middle":
            return ScriptStep(answer=_MIDDLE[min(number, len(_MIDDLE)) - 1])
        if stage.work is Work.SHELL and request.messages[told[-1]].text == MARK:
            return self._beside_shell(number)
        if number == 1 and request.messages[told[-1]].text == MARK:
            return ScriptStep(answer=_FIRST_CALL[stage.work])
        return ScriptStep(answer="I see.")

    def _under_fire(self, number: int) -> ScriptStep:
        stage = self._stage
        hit = number == stage.number and not is_hit_in_call(stage.fault, stage.moment)
        is_end = number == ROUNDS or (hit and stage.fault is Fault.FINISH)
        call = Call("Probe", {"number": number})
        answer = (Say(line(number)),) if is_end else (Say(line(number)), call)
        return stage.hit_request(ScriptStep(answer=answer)) if hit else ScriptStep(answer=answer)

    def _beside_shell(self, number: int) -> ScriptStep:
        """Main starts the command, and goes on asking while it runs."""
        stage = self._stage
        if number == 1:
            return ScriptStep(answer=Call("Launch"))
        answer = "I wait." if number > ROUNDS else Call("Look")
        is_hit = stage.fault in ERRORS and stage.fault is not Fault.FAIL and number == stage.number + 1
        return stage.hit_request(ScriptStep(answer=answer)) if is_hit else ScriptStep(answer=answer)


_FIRST_CALL: Final = {
    Work.FOREGROUND: Call("Agent", {"description": "fire", "prompt": MARK, "subagent_type": "victim"}),
    Work.BACKGROUND: Call(
        "Agent", {"description": "fire", "prompt": MARK, "subagent_type": "victim", "run_in_background": True}
    ),
    Work.FORK: Call("Agent", {"description": "fire", "prompt": MARK, "subagent_type": "fork"}),
    Work.NESTED: Call(
        "Agent", {"description": "middle", "prompt": MARK, "subagent_type": "middle", "run_in_background": True}
    ),
}
_MIDDLE: Final = (
    Call("Agent", {"description": "fire", "prompt": MARK, "subagent_type": "victim", "run_in_background": True}),
    Call("Hold"),
    "The middle has seen it.",
)


def _begins_work(message: Message, kind: str) -> bool:
    """Whether a turn of main, or the work of another agent, begins with this message."""
    if message.role != "user":
        return False
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    if kind == "main":
        return bool(texts) and not any(isinstance(block, ToolResultBlock) for block in message.content)
    return any(text.endswith(MARK) for text in texts)


@attrs.define(kw_only=True)
class Stage:
    """One cell while it runs."""

    work: Work
    fault: Fault
    moment: Moment
    seen: Seen = attrs.field(factory=Seen)
    disk: FillingDisk = attrs.field(factory=FillingDisk)
    session: Session | None = None
    nursery: trio.Nursery | None = None
    begun: trio.Event = attrs.field(factory=trio.Event)
    """Set when the agent under fire is known."""
    failures: int = 0
    kill_s: float = STEP_S / 2
    """Seconds between the event and a kill."""

    @property
    def number(self) -> int:
        return number_of(self.fault, self.moment)

    def hit_request(self, step: ScriptStep) -> ScriptStep:
        """Let it happen at this request."""
        error = ERRORS.get(self.fault)
        if error is not None:
            self.failures += 1
            if self.fault is Fault.PASSING and self.failures > 1:
                return step
            return attrs.evolve(step, error=error, error_after=2 if self.fault is Fault.CUT else 0)
        self.hit()
        return step

    def hit(self) -> None:
        """Let happen what does not come from the model or a tool."""
        assert self.nursery is not None
        if self.fault is Fault.KILL:
            self.nursery.start_soon(self._kill_after, self.kill_s)
        elif self.fault is Fault.HANG:
            self.nursery.start_soon(self._kill_after, HUNG_S)
        elif self.fault is Fault.DISK:
            self.disk.is_full = True

    async def _kill_after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        assert self.seen.task is not None
        self.seen.task.kill(Cause("host", "somebody killed it"))

    async def in_call(self, number: int) -> None:
        """Let it happen in this tool call, if it is the one."""
        if number != self.number or not is_hit_in_call(self.fault, self.moment):
            await trio.sleep(STEP_S)
            return
        self.hit()
        if self.fault is Fault.CRASH:
            raise ZeroDivisionError("a bug")
        await trio.sleep_forever()

    async def command(self) -> int:
        """Take four steps; what happens to the models does not concern it."""
        for number in range(1, ROUNDS + 1):
            if number == self.number and self.fault not in ERRORS.keys() - {Fault.FAIL}:
                if self.fault is Fault.FAIL:
                    return 3
                if self.fault is Fault.FINISH:
                    return 0
                if self.fault in {Fault.HANG, Fault.CRASH}:
                    await self._break_down()
                self.hit()
            await trio.sleep(STEP_S * 3)
        return 0

    async def _break_down(self) -> None:
        self.hit()
        if self.fault is Fault.CRASH:
            raise ZeroDivisionError("a bug")
        await trio.sleep_forever()

    def tools(self) -> list[Tool]:
        @tool(read_only=True)
        async def probe(number: int) -> str:
            """Do something.

            Args:
                number: Of the call.
            """
            await self.in_call(number)
            return f"done {number}"

        @tool(read_only=True)
        async def look() -> str:
            """Look, for a second."""
            await trio.sleep(STEP_S)
            return "nothing"

        @tool(read_only=True)
        async def hold() -> str:
            """Wait until the agent under fire has ended."""
            await self.begun.wait()
            assert self.seen.task is not None
            await self.seen.task.wait_finished()
            return "held"

        @tool(read_only=True)
        async def launch(*, ctx: ToolContext) -> str:
            """Start a command in the background."""
            task = ctx.background.start(
                self.command,
                id="b12345678",
                description="fire",
                owner=ctx.actor,
                tool_use_id=ctx.tool_use_id,
                output_file=Path("/output"),
                command="fire",
                is_background=True,
            )
            assert isinstance(task, Task)
            self.seen.task, self.seen.reader = task, ctx.actor
            return "in the background"

        return [probe, look, hold, launch]

    async def run(self, folder: Path) -> None:
        """Open a session, let main begin, and wait until nothing goes on any more."""
        async with open_session(
            model=FireModel(self),
            cwd=folder,
            runs=folder / "runs",
            tools=(*self.tools(), *AGENT_TOOLS),
            agents=AGENTS,
            settings={"models": RETRIES, "delegation": {"fork": "explicit" if self.work is Work.FORK else "off"}},
            ports=attrs.evolve(virtual_ports(), disk=self.disk),
            on_message=self.hear,
        ) as session:
            self.session = session
            try:
                await session.run(MARK)
            except GreenroomError as error:
                self.seen.error = error
            with trio.move_on_after(LONG_S) as scope:
                await session.wait_quiet()
                for task in session.tasks.table.running():  # commands keep nobody from being quiet
                    await task.wait_finished()
                await session.wait_quiet()
            if scope.cancelled_caught:
                self.seen.faults.append("it never came to rest")

    def hear(self, appended: Appended) -> None:
        self.seen.said.setdefault(appended.agent, []).append(appended.message)
        self.find_task()

    def find_task(self) -> None:
        """Take note of the work as soon as it is in the table."""
        if self.seen.task is not None or self.session is None:
            return
        for one in self.session.tasks.table.running():
            if one.info.description == "fire":
                self.seen.task, self.seen.reader = one, one.info.owner
                asker = self.session.tasks.table.find(one.info.owner)
                self.seen.above = "" if asker is None else asker.info.owner
                self.begun.set()


async def play(cell: Cell, folder: Path, kill_s: float = STEP_S / 2) -> Seen:
    """Play one cell in a folder of its own."""
    stage = Stage(work=cell[0], fault=cell[1], moment=cell[2], kill_s=kill_s)
    async with trio.open_nursery() as stage.nursery:
        try:
            await stage.run(folder)
        except JournalError as error:
            stage.seen.error = error
        stage.nursery.cancel_scope.cancel()
    (run_folder,) = (folder / "runs").iterdir()
    stage.seen.faults += faults_on_disk(run_folder, is_whole=stage.fault is not Fault.DISK)
    for agent, messages in stage.seen.said.items():
        if not isinstance(messages[0].content[0], ToolResultBlock):  # a fork's begins with its parent's
            stage.seen.faults += [f"{agent}: {fault}" for fault in faults_in(messages, is_whole=True)]
    return stage.seen


def faults_on_disk(run_folder: Path, *, is_whole: bool) -> list[str]:
    """Return what is wrong with the transcripts and the journal of a run; one on a full disk may end in the middle."""
    found = []
    for path in sorted((run_folder / "transcripts").glob("*.jsonl")):
        loaded = load_conversation(path)
        notes = [note for note in loaded.notes if is_whole and not note.endswith(JOINED)]
        found += [f"{path.name}: {note}" for note in (*notes, *faults_in(loaded.messages, is_whole=is_whole))]
    if is_whole:
        journal = read_journal(run_folder / JOURNAL, EVENTS)
        found += [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]
    return found


def faults_in(messages: Sequence[Message], *, is_whole: bool) -> list[str]:
    """Return what a provider would refuse; calls at the end of one that may be cut have no results yet."""
    repaired = repair(messages, closes=not is_whole)
    return [*(note for note in repaired.notes if is_whole and not note.endswith(JOINED)), *faults_of(repaired.messages)]


def play_virtually(cell: Cell, folder: Path, *, kill_s: float = STEP_S / 2) -> Seen:
    """Play one cell in virtual time.

    Args:
        cell: Which.
        folder: An empty one.
        kill_s: Seconds between the event and a kill.
    """
    return run_virtual(play, cell, folder, kill_s).result
