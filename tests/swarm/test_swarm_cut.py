"""A swarm that is cut anywhere and resumed comes to the same report, for few requests more; in virtual time."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import pytest
from trio.testing import MockClock

from greenroom.core import Record
from greenroom.core.ports import Ports
from greenroom.models import PlaybookModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.swarm import _swarm
from greenroom.swarm._resumption import LeadStep, plan_lead
from greenroom.swarm._swarm_plan import SwarmOptions, make_swarm_plan
from greenroom.swarm._swarm_summary import SwarmOpening
from greenroom.swarm.recipes import SURVEY
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.crashes import RecordingDisk, recording_ports
from tests.swarm.small_repo import make_small_repo

LATENCY_S: Final = 0.2
MATES: Final = 4
MORE: Final = MATES + 2
"""Requests of a swarm that is cut: one for each turn that may be cut, and the lead's look at the board."""


def ignore(_: Record) -> None: ...


@attrs.frozen
class Swarm:
    """A folder with a small repository, and swarms on it."""

    folder: Path

    async def run(
        self,
        ports: Ports,
        monkeypatch: pytest.MonkeyPatch,
        *,
        resume: Path | None = None,
        watch: Callable[[Record], None] = ignore,
    ) -> tuple[int, Path]:
        """Run a swarm to its end; return the exit code and the run folder."""
        runs = self.folder / "runs" if resume is None else resume.parent
        options = SwarmOptions(path=self.folder / "small", runs=runs, resume=resume, agents=MATES)
        plan = make_swarm_plan(options, SURVEY, options.path)
        model = PlaybookModel(SURVEY.playbook, name="playbook", wait_s=LATENCY_S)
        opening = SwarmOpening(model=model.name, is_rule_based=True, folder="small", task=plan.task, mates=MATES)
        folders: list[Path] = []

        def note_session(_watchers: object, _view: object, session: Session) -> None:
            folders.append(session.run_folder)
            session.runtime.recorder.listen(watch)

        monkeypatch.setattr(_swarm, "open_session", partial(open_session, ports=ports))
        monkeypatch.setattr(_swarm, "_start_view", note_session)
        code = await _swarm._swarm(options, opening, model, plan, runs, _swarm.PLAYBOOK_SETTINGS)
        return code, folders[0]


def make_swarm(folder: Path) -> Swarm:
    make_small_repo(folder / "small")
    return Swarm(folder)


@pytest.fixture
def swarm(tmp_path: Path) -> Swarm:
    return make_swarm(tmp_path)


def requests_of(run: Path) -> int:
    return (run / JOURNAL).read_text("utf-8").count('"ev":"model.begin"')


def failed_calls_of(run: Path) -> list[str]:
    lines = (run / JOURNAL).read_text("utf-8").splitlines()
    return [line for line in lines if '"ev":"tool.end"' in line and '"failed"' in line]


def report_of(run: Path) -> str:
    report = run / "report.md"
    return report.read_text("utf-8") if report.exists() else ""


def is_of_team(line: bytes) -> bool:
    return any(mark in line for mark in (b'"item.', b'"mail.', b'"model.', b'"mate.'))


def stop_at(seq: int, record: Record) -> None:
    if record[0] == seq:
        signal.raise_signal(signal.SIGINT)


@attrs.frozen
class Whole:
    """The result of a swarm that nobody stops."""

    report: str
    requests: int

    def problems(self, code: int, run: Path) -> list[str]:
        """Return what is wrong with a run that was cut and resumed."""
        found = [finding.text for finding in check_journal(read_journal(run / JOURNAL, EVENTS).entries, folds=FOLDS)]
        if code:
            found.append(f"it ended with {code}")
        if report_of(run) != self.report:
            found.append(f"the report differs: {set(report_of(run).splitlines()) ^ set(self.report.splitlines())}")
        if requests_of(run) > self.requests + MORE:
            found.append(f"{requests_of(run)} requests instead of {self.requests}")
        return found


@pytest.mark.promise("R7-b")
async def test_a_killed_swarm_comes_to_the_same_report(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """R7-a, R7-b: killed at lines on disk of the whole run; each turn that was cut asks its model once more."""
    disk = RecordingDisk()
    code, run = await swarm.run(recording_ports(disk), monkeypatch)
    assert code == 0
    assert [path.name for path, _, _ in disk.writes[:2]] == ["swarm.json", JOURNAL]
    whole = Whole(report_of(run), requests_of(run))
    told = [place for place, (path, line, _) in enumerate(disk.writes) if path.name == JOURNAL and is_of_team(line)]

    wrong = {}
    for place in told[::7]:
        again = disk.restore(place, run, swarm.folder / "killed")
        if (again / "transcripts/main.jsonl").is_file():
            wrong[place] = whole.problems(*await swarm.run(virtual_ports(place), monkeypatch, resume=again))

    assert len(wrong) >= 8
    assert {place: found for place, found in wrong.items() if found} == {}


@pytest.mark.promise("R7-a")
async def test_a_stopped_swarm_comes_to_the_same_report(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """R7-a, R7-b: stopped by SIGINT at events of the whole run: what teammates complete in their last turns counts."""
    events: list[int] = []
    code, run = await swarm.run(virtual_ports(), monkeypatch, watch=lambda record: events.append(record[0]))
    assert code == 0
    whole = Whole(report_of(run), requests_of(run))

    wrong = {}
    for seq in [seq for seq in events if 100 <= seq < 400][::34]:  # the lead plans at first
        other = make_swarm(swarm.folder / f"stopped-{seq}")
        code, cut = await other.run(virtual_ports(), monkeypatch, watch=partial(stop_at, seq))
        if code:
            failed = failed_calls_of(cut)  # such as those of a lead that plans on a board that has ended
            wrong[seq] = failed + whole.problems(*await other.run(virtual_ports(seq), monkeypatch, resume=cut))

    assert len(wrong) >= 8
    assert {seq: found for seq, found in wrong.items() if found} == {}


@pytest.mark.promise("R7-b")
@pytest.mark.parametrize(
    ("is_busy", "was_cut", "is_coming", "expected"),
    [
        (False, True, False, LeadStep.RESUME),
        (False, True, True, LeadStep.RESUME),
        (True, True, True, LeadStep.RESUME),
        (True, False, False, LeadStep.WAIT),
        (False, False, True, LeadStep.WAIT),
        (False, False, False, LeadStep.PROMPT),
    ],
)
def test_a_lead_is_prompted_only_where_nothing_wakes_it(
    is_busy: bool, was_cut: bool, is_coming: bool, expected: LeadStep
) -> None:
    assert plan_lead(is_busy=is_busy, was_cut=was_cut, is_coming=is_coming) is expected
