"""One sub-agent from its spawn to its archive, with a kill at points of the way: what is left, what it cost, and when its timers fire."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio

from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.gateway._gateway import Gateway
from greenroom.models import ModelRequest
from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.places import counting, open_place
from tests.gateway.process.town import Line, RecordingTownDisk, Town, living, wait_quiet

EVENTS: Final = (
    "run.began",
    "run.ended",
    "completion.composed",
    "delivery.began",
    "delivery.ended",
    "session.archived",
)
JOINED: Final = "two messages of the user in a row were joined"
"""A provider takes them as they are."""
TIMES: Final = {"in a stream": 1.5, "in a call": 4.02, "between rounds": 5.5}
"""Seconds after the start; each answer of the model takes one."""
OPEN: Final = "a call is open"
END_S: Final = 4200.0


@attrs.define
class Left:
    """A town after its last process, and what was asked of the model in each process."""

    town: Town
    asked: list[int]
    faults: list[str]
    """Faults of the conversations that the model was sent."""
    lanes: dict[str, tuple[int, int, int]]

    def billed(self) -> dict[str, int]:
        """Return the number of requests that the journal of each session has on record."""
        return {
            path.parent.name: sum(
                event.get("ev") == "model.end" for event in map(json.loads, path.read_text().splitlines()[1:])
            )
            for path in self.town.state.glob(f"agents/*/sessions/*/{JOURNAL}")
        }


def answers_of(town: Town) -> Counter[str]:
    """Return the number of the model's answers in the transcript of each session."""
    found = Counter[str]()
    for path in town.state.glob("agents/*/sessions/*/transcripts/*.jsonl*"):
        messages = load_conversation(path).messages
        found[path.parents[1].name] += sum(message.role == "assistant" for message in messages)
    return found


def unsound(town: Town) -> list[str]:
    """Return what is wrong with transcripts: their faults, and what a reader had to repair that a provider refuses."""
    paths = sorted(town.state.glob("agents/*/sessions/*/transcripts/*.jsonl*"))
    assert len(paths) == 2
    loaded = [load_conversation(path) for path in paths]
    return [fault for each in loaded for fault in (*faults_of(each.messages), *each.notes) if fault != JOINED]


def has_open_call(town: Town) -> bool:
    """True if the transcript of the sub-agent ends with a call."""
    paths = list(town.state.glob("agents/*/sessions/*/transcripts/main.jsonl"))
    loaded = [load_conversation(path).messages for path in paths]
    return len(paths) == 2 and any(each[-1].tool_uses for each in loaded if "look deeper" in str(each[:1]))


async def run_out(town: Town, disk: Any = None, on_time: Any = None) -> Left:
    """Run a gateway until nothing is left to do and the archive is past."""
    plain, count, faults = town.play, 0, list[str]()

    def play(request: ModelRequest) -> Any:
        nonlocal count
        count += 1
        faults.extend(faults_of(request.messages))
        return plain(request)

    before, counted = answers_of(town).total(), attrs.evolve(town, play=play)
    async with living(counted, disk=disk) as gateway, trio.open_nursery() as nursery:
        if on_time is not None:
            nursery.start_soon(on_time)
        await wait_quiet(gateway, counted, until_s=END_S)
        left = Left(counted, [before, count], faults, used(gateway))
        nursery.cancel_scope.cancel()
    return left


def used(gateway: Gateway) -> dict[str, tuple[int, int, int]]:
    lanes = gateway.parts.lanes.statistics()
    return {name: (lane.active, lane.lent, lane.waiting) for name, lane in lanes.items()}


@cache
def killed_towns(folder: Path) -> tuple[Left, dict[str, Town]]:
    """Run the way once; return its end, and what a kill at each point would have left."""
    town = open_place(folder / "whole", Line(1, "plain", "ann", "dig here"), play=counting("the summary", rounds=4))
    found: dict[str, Town] = {}

    def note(kind: str) -> None:
        if kind == "append to main.jsonl" and OPEN not in found and has_open_call(town):
            found[OPEN] = town.copy(folder / "open", trio.current_time())
        if kind in EVENTS and kind not in found:
            found[kind] = town.copy(folder / kind, trio.current_time())

    async def note_times() -> None:
        for name, at_s in TIMES.items():
            await trio.sleep_until(at_s)
            found[name] = town.copy(folder / name.replace(" ", "-"), at_s)

    disk = RecordingTownDisk(town.state / JOURNAL, note, has_others=True)
    return run_virtual(run_out, town, disk, note_times).result, found


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Left, dict[str, Town]]:
    return killed_towns(tmp_path_factory.mktemp("way"))


@pytest.mark.promise("A18-c", "A18-d", "A18-e", "A18-f")
@pytest.mark.parametrize("point", [*EVENTS, *TIMES, OPEN])
def test_a_kill_leaves_nothing_and_costs_nothing_twice(point: str, way: tuple[Left, dict[str, Town]]) -> None:
    """Conversations stay valid, what a transcript holds is not asked again, and the archive comes at its time."""
    _, towns = way
    left = run_virtual(run_out, towns[point]).result

    assert set(left.lanes.values()) <= {(0, 0, 0)}
    assert left.faults == []
    assert unsound(left.town) == []
    before, asked = left.asked
    answers = answers_of(left.town)
    assert asked == sum(answers.values()) - before
    assert left.billed() == answers, "each session has its own bill, and no other one's"
    assert at_of(left.town, "session.archived") - at_of(left.town, "run.ended") <= 3_661
    assert len(answers) == 2


def at_of(town: Town, kind: str) -> float:
    """Return the time of the last event of a kind that is about the sub-agent."""
    found = [event for event in town.events() if event.get("ev") == kind]
    runs = {
        event["run"]
        for event in town.events()
        if event.get("ev") == "run.registered" and event["task"] == "look deeper"
    }
    return float([event for event in found if event.get("run", "") in {*runs, ""}][-1]["at_s"])
