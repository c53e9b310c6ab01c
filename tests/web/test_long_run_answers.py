"""Answers of the server about a long run: mailboxes at any moment, moments in parts, and problems once for all viewers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from benchmarks.long_runs import RUN, write_run
from greenroom.core.ports import InlineBlocking
from greenroom.replay import problem_facts
from greenroom.session import EVENTS, FOLDS
from greenroom.trace import RunIndex, fold, read_journal
from greenroom.web import _run_findings
from greenroom.web._run_findings import RunFindings
from greenroom.web._shown_run import ShownRun
from tests.web.recorded_run import RECORDED, make_run

LANES = ("now", "next", "later", "leased", "postponed")


async def shown_run(journal: Path) -> ShownRun:
    shown = ShownRun(journal)
    while shown.step():
        await trio.lowlevel.checkpoint()
    return shown


def resumed_run(folder: Path) -> Path:
    """Write a run whose first process ended with mail in its mailboxes, and that another one resumed."""
    journal = write_run(folder / RUN, events=400, actors=6, seed=3)
    lines = journal.read_bytes().splitlines(keepends=True)
    lines = lines[: max(place for place, line in enumerate(lines) if b'"message.put"' in line) + 1]
    again = [json.loads(line) for line in lines[1:120]]
    for event in again:
        event["seq"] += len(lines) - 1
        event["parent"] = event.get("parent", 0) and event["parent"] + len(lines) - 1
    journal.write_bytes(b"".join(lines) + b"".join(json.dumps(event).encode() + b"\n" for event in again))
    return journal


async def test_a_mailbox_at_any_moment_is_that_of_the_fold(tmp_path: Path) -> None:
    for journal in (make_run(tmp_path), resumed_run(tmp_path / "other")):
        entries, shown = read_journal(journal, EVENTS).entries, await shown_run(journal)
        for count in (*range(0, len(entries), 23), len(entries)):
            boxes = fold(entries[:count], FOLDS).section("mailboxes")
            for actor in {entry.event.actor for entry in entries}:
                box, said = boxes.get(actor), shown.mailbox(actor, count)
                lanes = {name: [put["msg"] for put in puts] for name, puts in said.get("lanes", {}).items()}

                assert lanes == {name: [*getattr(box, name)] for name in LANES if box and getattr(box, name)}
                assert box is None or (said["accepted"], said["died"]) == (box.accepted, box.died)
        shown.close()


async def test_moments_are_those_of_the_fold_while_the_run_is_still_read(tmp_path: Path) -> None:
    journal = write_run(tmp_path / RUN, events=5_000, actors=30)
    entries, shown = read_journal(journal, EVENTS).entries, ShownRun(journal)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shown.read_on)
            while len(shown.index) < len(entries):
                await trio.lowlevel.checkpoint()
                moment = await shown.moment(len(shown.index) // 2)
                count = next((place for place, entry in enumerate(entries, 1) if entry.seq == moment["seq"]), 0)
                world = fold(entries[:count], FOLDS)
                assert moment["sections"]["actors"].keys() == world.section("actors").keys()
                assert [box["accepted"] for box in moment["sections"]["mailboxes"].values()] == [
                    box.accepted for box in world.section("mailboxes").values()
                ]
            nursery.cancel_scope.cancel("all is read")
    shown.close()


def index_of(journal: Path) -> RunIndex:
    index = RunIndex(journal, EVENTS)
    while index.grow():
        pass
    return index


async def look(findings: RunFindings, index: RunIndex) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await findings.look(index))
    return found


async def test_problems_of_a_run_too_long_to_be_held_are_those_that_single_events_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = write_run(tmp_path / RUN, events=9_000, actors=60, seed=2)
    index = index_of(journal)
    whole = await look(RunFindings(journal, problem_facts, InlineBlocking()), index)
    monkeypatch.setattr(_run_findings, "MAX_CHECKED", 1_000)
    part = await look(RunFindings(journal, problem_facts, InlineBlocking()), index)
    kinds = {problem["kind"] for problem in part["problems"]}

    assert {"failed", "restarted", "retried", "returned"} <= kinds
    assert part["problems"] == [problem for problem in whole["problems"] if problem["kind"] in kinds]
    assert (whole["why"], part["why"] != "", part["events"]) == ("", True, len(index))
    index.close()


async def test_problems_of_a_run_that_grows_are_looked_for_once_and_then_rested_from(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    journal = make_run(tmp_path, RECORDED[:101])
    index, looks = index_of(journal), list[int]()

    class Slow:
        async def run(self, function: Any, /, *arguments: Any, **more: Any) -> Any:
            await trio.sleep(1)
            return function(*arguments, **more)

    def find(text: Any, folder: Path) -> list[Mapping[str, Any]]:
        looks.append(len(text.entries))
        return []

    findings = RunFindings(journal, find, Slow())
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(findings.look, index)
    assert looks == [100]
    with journal.open("ab") as file:
        file.write(b"".join(RECORDED[101:]))
    index.grow()
    assert (await look(findings, index))["events"] == 100
    await trio.sleep(_run_findings.REST + 1)
    assert (await look(findings, index))["events"] == len(index) == len(RECORDED) - 1
    assert len(looks) == 2
    index.close()
