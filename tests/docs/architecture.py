"""The tables and the picture of docs/explanation/architecture.md, made by running the code: `python -m tests.docs` writes them."""

from __future__ import annotations

import dis
import importlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final
from unittest.mock import patch

import trio
import trio.testing

import greenroom as gr
from greenroom.models import Call
from tests.architecture.floors import FLOORS, folder, imported_folders
from tests.architecture.source_tree import sources
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "architecture.md"
PARTS: Final = re.compile(r"(<!-- (picture|message|prompt|item) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)

ITEM: Final[tuple[tuple[str, str], ...]] = (
    ("teams._board_tools:_creating", "The lead's model called `TaskCreate`."),
    ("teams._board_tools:_ask", "The tool asks the board and waits for the reply."),
    ("teams._board:Board.on_message", "The board handles one request at a time, so claims cannot conflict."),
    ("teams._board:Board._record", "The event is recorded ..."),
    ("teams._board_state:BoardState.fold", "... and folded into the state of the board."),
    ("teams._board:Board._hand_out", "The next open item goes to an idle teammate."),
    ("teams._board:Board._send_work", "The work is told to it."),
    ("teams._teammate:TeammateAgent.on_message", "The teammate takes it when its turn is over,"),
    ("teams._teammate_status:plan_next", "in the order that a pure function decides,"),
    ("teams._teammate:TeammateAgent._begin", "and begins a turn of its own."),
    ("teams._board_tools:_updating", "Its model called `TaskUpdate`."),
    ("teams._edits:plan_edit", "A pure function decides what the edit may change."),
    ("teams._board_state:BoardState.fold", "The item is completed."),
)
"""The walk of a swarm item: functions in the order in which they are called, and what each is for."""


# --- watching calls ---------------------------------------------------------------------------------------------------


@cache
def _start_of(code: CodeType) -> int:
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


@contextmanager
def watched(wanted: Callable[[str], bool]) -> Iterator[list[tuple[str, str]]]:
    """Collect the calls of functions in wanted modules; resuming a coroutine is not a call."""
    calls: list[tuple[str, str]] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and wanted(module) and frame.f_lasti <= _start_of(frame.f_code):
            calls.append((module.removeprefix("greenroom."), frame.f_code.co_qualname))

    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)


class Echo(gr.Behavior[str]):
    """An actor with a task, which does nothing."""

    async def on_message(self, message: str, ctx: gr.Context) -> None:
        """Do nothing."""


def message_walk() -> list[tuple[str, str]]:
    """Return the calls from `tell` to the acknowledgement of a message."""

    async def main() -> list[tuple[str, str]]:
        async with gr.open_runtime() as runtime:
            echo = await runtime.spawn(Echo)
            echo.tell("warm up")
            await trio.testing.wait_all_tasks_blocked()
            with watched(lambda module: module.startswith("greenroom") or module == __name__) as calls:
                echo.tell("a message")
                await trio.sleep(0.01)
            return calls

    calls = trio.run(main)
    last = next(number for number, (_, name) in enumerate(calls) if name.rpartition(".")[2] == "ack")
    return [call for call in calls[: last + 1] if call[1] != "message_walk.<locals>.main"]


def item_walk() -> list[tuple[str, str]]:
    """Return the calls in `teams` from the creation of an item to its completion."""

    def lead(request: Any) -> Any:
        return Call("TaskCreate", {"subject": "a", "description": "b"}) if len(request.messages) == 1 else "Done."

    def teammate(request: Any) -> Any:
        if request.messages[-1].text.startswith("Task #"):
            return Call("TaskUpdate", {"taskId": "1", "status": "completed"})
        return "Done."

    async def main(place: Path) -> list[tuple[str, str]]:
        model = gr.PlaybookModel({"lead": lead, "teammate": teammate})
        async with (
            gr.open_session(model=model, cwd=place, runs=place, main=gr.AgentDefinition(name="lead")) as session,
            session.open_team("team") as team,
        ):
            await team.spawn("ann", definition=gr.AgentDefinition(name="teammate"))
            await session.wait_quiet()
            with watched(lambda module: module.startswith("greenroom.teams")) as calls:
                await session.run("Go.")
                await session.wait_quiet()
            return calls

    with tempfile.TemporaryDirectory() as place:
        return trio.run(main, Path(place))


# --- the prompt -------------------------------------------------------------------------------------------------------


@cache
def prompt_walk() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the frames on the stack where `greenroom run` asks its main agent, and where that asks the model."""
    from greenroom.actors import Ref
    from greenroom.cli import main
    from greenroom.models import PlaybookModel

    stacks: dict[str, list[tuple[str, str]]] = {}

    def seen(name: str, start: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name not in stacks and (frames := _frames_from(sys._getframe(1), start)):
                stacks[name] = frames
            return function(*args, **kwargs)

        return call

    ask, stream = Ref.ask, PlaybookModel.stream
    with (
        tempfile.TemporaryDirectory() as place,
        patch.object(Ref, "ask", seen("ask", "run_command", ask)),
        patch.object(PlaybookModel, "stream", seen("stream", "run_cell", stream)),
        patch.dict(os.environ, {"HOME": place}),
        patch.object(sys, "stdin", io.StringIO("")),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        before = Path.cwd()
        os.chdir(place)
        try:
            main(["run", "--model", "playbook", "--runs", f"{place}/runs", "Where is the overflow folder?"])
        finally:
            os.chdir(before)
    return stacks["ask"], stacks["stream"]


def _frames_from(frame: FrameType | None, start: str) -> list[tuple[str, str]]:
    """Return the frames of greenroom from the function `start` down to `frame`; none if it is not on the stack."""
    frames: list[tuple[str, str]] = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("greenroom."):
            frames.append((module.removeprefix("greenroom."), frame.f_code.co_qualname))
            if frame.f_code.co_name == start:
                return frames[::-1]
        frame = frame.f_back
    return []


# --- the page ---------------------------------------------------------------------------------------------------------


@cache
def arrows() -> Mapping[str, frozenset[str]]:
    """Return for each folder those that it imports."""
    found: dict[str, set[str]] = {}
    for module, source in sources().items():
        here = folder(module)
        if here and here not in ("__main__", "_exit_signals", "_lazy_names", "_version"):
            found.setdefault(here, set()).update(imported_folders(source) - {here, "", "_lazy_names", "_version"})
    return {here: frozenset(there) for here, there in found.items()}


def picture() -> str:
    """Return the folders as a graph; an arrow that others imply is left out."""
    direct = arrows()
    below: dict[str, set[str]] = {}
    for here in TopologicalSorter(direct).static_order():
        below[here] = set(direct.get(here, ())).union(*(below[there] for there in direct.get(here, ())))
    lines = ["flowchart TD"]
    for floor in reversed(FLOORS):
        for here in sorted(floor & direct.keys()):
            implied = set().union(*(below[there] for there in direct[here]))
            lines += [f"    {here} --> {there}" for there in sorted(direct[here] - implied)]
    return "```mermaid\n" + "\n".join(lines) + "\n```"


def _calls(walk: list[tuple[str, str]]) -> str:
    return "\n".join(f"{number}. `{module}`: `{name}`" for number, (module, name) in enumerate(walk, 1))


def insert(page: str) -> str:
    """Return the page with the picture and the walks of the code."""
    made: dict[str, Callable[[], str]] = {
        "picture": picture,
        "message": lambda: _calls([(module.replace(__name__, "your code"), name) for module, name in message_walk()]),
        "prompt": lambda: "\n\n".join(
            f"{title}\n\n{_calls(walk)}"
            for title, walk in zip(
                ("From the command line to the agent:", "From the actor's loop to the model:"),
                prompt_walk(),
                strict=True,
            )
        ),
        "item": lambda: table(
            ("function", "what happens"), [(f"`{name.replace(':', '.')}`", said) for name, said in ITEM]
        ),
    }
    return PARTS.sub(lambda found: f"{found[1]}{made[found[2]]()}\n{found[3]}", page)


def exists(name: str) -> bool:
    """True if `module:qualified.name` names something of greenroom."""
    module, _, path = name.partition(":")
    value: Any = importlib.import_module(f"greenroom.{module}")
    for part in path.split("."):
        value = getattr(value, part, None)
    return value is not None
