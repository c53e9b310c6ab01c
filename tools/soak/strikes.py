"""Runs that are cut at one event: who is cut, by which verb, with what in flight. What is left is checked, not looked at.

    for case in cases():                       # who x verb x what kind of calls x how many side by side
        for event in range(events_of(case)):   # each event of the undisturbed run, and none left out
            assert strike(case, event) == []

A strike comes in the scheduler step after its event, as that of a program that reads the events does.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import pytest
import trio

from greenroom.actors import Ref
from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.core import ActorEnded, Record, Stopping, TurnFailed, TurnKilled
from greenroom.hooks import HookSource, SourceKind, parse_callbacks
from greenroom.mcp._peer import ToolInfo
from greenroom.models import AnswerLike, Call, ModelRequest, ToolResultBlock
from greenroom.session import EVENTS, FOLDS, Session
from greenroom.tasks import TEAMMATE
from greenroom.teams import Team
from greenroom.testing import run_virtual
from greenroom.tools import Tool, tool
from greenroom.trace import JOURNAL, Entry, check_journal, read_journal
from tests.agents.pages import agent, kind, last_texts
from tests.mcp.fakes import FakePeers, FakeServer
from tests.session.teamwork import notices, open_teamwork

LIMIT_S: Final = 10_000.0
"""Seconds of virtual time after which a run counts as hanging: the default limits of all that waits are shorter."""
ENDED: Final = (ActorEnded, Stopping, TurnKilled)
_NOTICE_OF: Final = re.compile(r"<task-id>(\w+)</task-id>")
_TASK: Final = re.compile(r"Task #(\d+)")


@final
@attrs.frozen
class Case:
    """One kind of run."""

    who: str
    """Who is cut: `main`, `foreground`, `background`, `fork` or `mate`."""
    verb: str
    """What cuts it: `abort`, `kill`, `interrupt` or `stop`."""
    calls: int
    """How many calls it makes side by side."""
    what: str = "look"
    """What the calls are, a key of `CALLS`."""


# --- what is in flight --------------------------------------------------------------------------------------------------


@tool(read_only=True)
async def look(number: int) -> str:
    """Wait for a second."""
    await trio.sleep(1)
    return f"saw {number}"


@tool(read_only=True)
async def nest(number: int) -> str:
    """Wait for a second in two tasks of its own."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 1)
        nursery.start_soon(trio.sleep, 1)
    return f"saw {number}"


async def _clash(seconds: float) -> None:
    is_done = False
    try:
        await trio.sleep(seconds)
        is_done = True
    finally:
        if not is_done:
            raise ValueError("the clean-up failed")


@tool(read_only=True)
async def clash(number: int) -> str:
    """Wait for a second in two tasks; cancelled, one of them fails, so that the two leave as a mixed group."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_clash, 1)
        nursery.start_soon(trio.sleep, 1)
    return f"saw {number}"


@tool(read_only=True)
async def fail(number: int) -> str:
    """Fail after half a second, while the others go on."""
    await trio.sleep(0.5 if number == 0 else 1)
    if number == 0:
        raise ZeroDivisionError("a bug")
    return f"saw {number}"


TOOLS: Final[tuple[Tool, ...]] = (look, nest, clash, fail)
CALLS: Final[Mapping[str, Callable[[int], Call]]] = {
    "look": lambda number: Call("Look", {"number": number}),
    "nest": lambda number: Call("Nest", {"number": number}),
    "clash": lambda number: Call("Clash", {"number": number}),
    "fail": lambda number: Call("Fail", {"number": number}),
    "hook": lambda number: Call("Look", {"number": number}),
    "mcp": lambda number: Call("mcp__far__work", {"takes_s": 1, "text": f"saw {number}"}),
    "agent": lambda number: agent(f"helper {number}", subagent_type="helper"),
}
"""`hook` has a callback before and after each call that fails when it is cancelled; `mcp` are calls of a server; `agent` starts
agents of its own."""
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "main": ("abort", "kill", "interrupt", "stop"),
    "foreground": ("abort", "kill", "interrupt", "stop"),
    "background": ("abort", "kill", "interrupt", "stop"),
    "fork": ("abort", "kill", "interrupt", "stop"),
    "mate": ("abort", "kill", "interrupt", "stop"),
}


def cases(*, calls: tuple[int, ...] = (1, 2, 3), kinds: tuple[str, ...] = tuple(CALLS)) -> Iterator[Case]:
    """Yield every case."""
    for (who, verbs), number, what in itertools.product(SUBJECTS.items(), calls, kinds):
        for verb in verbs:
            yield Case(who, verb, number, what)


# --- who says what ------------------------------------------------------------------------------------------------------


def _calls(case: Case) -> list[AnswerLike | Call]:
    return [CALLS[case.what](number) for number in range(case.calls)]


def _is_result(request: ModelRequest) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in request.messages[-1].content)


def worker(case: Case) -> Callable[[ModelRequest], Any]:
    """Return a page that answers each prompt with the calls, and their results with a word."""
    return lambda request: "Done." if _is_result(request) else _calls(case)


def mate(case: Case) -> Callable[[ModelRequest], Any]:
    """Return a page that answers each item with the calls, and completes it when they are done."""

    def page(request: ModelRequest) -> Any:
        if last_texts(request).startswith("Task #"):
            return _calls(case)
        numbers = _TASK.findall("\n".join(last.text for last in request.messages if last.role == "user"))
        if (
            not _is_result(request)
            or not numbers
            or any(tool_use.name == "TaskUpdate" for tool_use in request.messages[-2].tool_uses)
        ):
            return "Done."
        return Call("TaskUpdate", {"taskId": numbers[-1], "status": "completed"})

    return page


def lead(case: Case) -> Callable[[ModelRequest], Any]:
    """Return the page of the main agent."""
    if case.who == "main":
        return worker(case)

    def page(request: ModelRequest) -> Any:
        if _is_result(request) or last_texts(request) not in {"go", "again"} or case.who == "fork":
            return "Done."
        if case.who == "mate":
            if "Created" in str(request.messages):
                return "Done."
            return Call("TaskCreate", {"subject": "one", "description": "Created by the lead."})
        if any(message.role == "assistant" for message in request.messages):
            return "Done."
        return agent("work", subagent_type="worker", run_in_background=case.who == "background")

    return page


# --- one run ------------------------------------------------------------------------------------------------------------


@final
@attrs.define(eq=False)
class Run:
    """A session that is struck once, and what was seen of it."""

    case: Case
    event: int | None
    """The event after which there is a strike; None for none."""
    session: Session
    team: Team | None = None
    count: int = 0
    """Events so far."""
    has_struck: bool = False
    cut_turns: int = 0
    """Turns that ended as killed."""
    entries: list[Entry] = attrs.Factory(list)
    """The journal, once the session has ended."""
    due: trio.Event = attrs.Factory(trio.Event)
    problems: list[str] = attrs.Factory(list)

    def hear(self, _: Record) -> None:
        """Count an event; after the chosen one, strike."""
        if self.count == self.event:
            self.due.set()
        self.count += 1

    async def strike(self) -> None:
        """Strike once that is due: in a task of the program's, or it would seem to be the doing of the actor that runs."""
        await self.due.wait()
        verb, session = self.case.verb, self.session
        self.has_struck = True
        if verb == "interrupt":
            session.interrupt()
        elif self.case.who == "main":
            self._end(verb, session.main, session)
        elif (ref := self._victim()) is not None:
            self._end(verb, ref, ref)

    def _end(self, verb: str, ref: Ref[Any], whole: Ref[Any] | Session) -> None:
        if verb == "abort":
            ref.abort_turn(why="asked")
        elif verb == "kill":
            whole.kill("asked")
        else:
            whole.stop(why="asked")

    def _victim(self) -> Any:
        if self.team is not None:
            found = self.team.teammates.get("ann")
            return None if found is None else found.ref
        members = self.session.agents.pool.subagents.values()
        return next((member.ref for member in members if member.order.definition.name in {"worker", "fork"}), None)

    @property
    def is_over(self) -> bool:
        """Whether the strike ended the session itself."""
        return self.has_struck and self.case.who == "main" and self.case.verb in {"kill", "stop"}

    async def prompt(self, text: str) -> None:
        """Let the main agent take a turn; only a strike at it may end that."""
        try:
            with trio.fail_after(LIMIT_S):
                answer = await self.session.run(text)
        except ENDED as error:
            if not self.has_struck or not (self.case.who == "main" or self.case.verb == "interrupt"):
                self.problems.append(f"{text!r} ended with {error!r}")
        except TurnFailed as error:
            self.problems.append(f"{text!r} failed: {error}")
        except trio.TooSlowError:
            self.problems.append(f"{text!r} hangs")
        else:
            if answer.text != "Done.":
                self.problems.append(f"{text!r} was answered with {answer.text!r}")

    async def quiet(self) -> None:
        """Wait until all is quiet."""
        if self.is_over:
            return
        with trio.move_on_after(LIMIT_S) as scope:
            await self.session.wait_quiet()
        if scope.cancelled_caught:
            self.problems.append("it hangs")

    def look(self) -> None:
        """Look at what is left while the session is open."""
        if self.is_over:
            return
        for status in self.session.tasks.all():
            if status.state not in {"completed", "failed", "killed"} and status.kind != TEAMMATE:
                self.problems.append(f"task {status.id} is {status.state}")
        told = Counter(found.group(1) for notice in notices(self.session) if (found := _NOTICE_OF.search(notice)))
        self.problems += [f"{task} is told {times} times" for task, times in told.items() if times > 1]
        for status in self.session.tasks.all():
            if (
                self.case.who in {"background", "fork"}
                and status.agent_type in {"worker", "fork"}
                and not told[status.id]
            ):
                self.problems.append(f"the end of {status.id} is not told")
        if self.team is not None:
            open_items = [item for item in self.team.board.items() if item.status.value != "completed"]
            self.problems += [
                f"item {open_item.id} is {open_item.status.value}, owner {open_item.owner!r}"
                for open_item in open_items
            ]

    def look_back(self) -> None:
        """Look at what is left on disk when the session has ended."""
        self.entries = read_journal(self.session.run_folder / JOURNAL, EVENTS).entries
        self.problems += [f"{finding.id}: {finding.text}" for finding in check_journal(self.entries, folds=FOLDS)]
        self.cut_turns = sum(entry.kind == "turn.end" and entry["state"] == "killed" for entry in self.entries)
        for path in sorted((self.session.run_folder / "transcripts").glob("*.jsonl")):
            self.problems += [f"{path.name}: {fault}" for fault in faults_of(load_conversation(path).messages)]


async def carry_out(case: Case, event: int | None, folder: Path) -> Run:
    """Run a case, struck after an event, to its end."""
    pages = {"worker": worker(case), "fork": worker(case), "mate": mate(case), "helper": worker(Case("", "", 1))}
    agents = {name: {"description": name, "prompt": f"You are {name}."} for name in ("worker", "helper")}
    async with trio.open_nursery() as nursery:
        settings = {"mcpServers": {"far": {"command": "far"}}} if case.what == "mcp" else None
        teamwork = open_teamwork(folder, lead(case), pages=pages, tools=TOOLS, agents=agents, settings=settings)
        async with teamwork as session:
            if case.what == "hook":
                groups = {name: [{"hookCallbackIds": ["one"]}] for name in ("PreToolUse", "PostToolUse")}
                session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), _call_back))
            run = Run(case, event, session)
            nursery.start_soon(run.strike)
            if case.who == "mate":
                async with session.open_team("crew") as run.team:
                    for name in ("ann", "bob"):
                        await run.team.spawn(name, definition=kind("mate"))
                    await _work(run)
            else:
                await _work(run)
        nursery.cancel_scope.cancel()
    run.look_back()
    return run


async def _work(run: Run) -> None:
    recorder = run.session.runtime.recorder
    stop_listening = recorder.listen(run.hear)
    if run.case.who == "fork":
        with suppress(*ENDED):
            await run.session.spawn("fork", "work", background=True, notify="main")
    await run.prompt("go")
    await run.quiet()
    stop_listening()
    if not run.is_over:
        await run.prompt("again")
        await run.quiet()
    run.look()


async def _call_back(_: str, __: Mapping[str, Any]) -> Mapping[str, Any]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_clash, 0.25)
        nursery.start_soon(trio.sleep, 0.25)
    return {}


def strike(case: Case, event: int | None, folder: Path | None = None) -> Run:
    """Carry out a case in virtual time, by default in a folder of its own that is removed afterwards."""
    work = ToolInfo(name="work", input_schema={"type": "object"}, is_read_only=True)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ends") as own:
        patch.setattr("greenroom.mcp._server_group.SdkPeers", lambda **_: FakePeers(far=FakeServer(work)))
        return run_virtual(carry_out, case, event, folder or Path(own)).result
