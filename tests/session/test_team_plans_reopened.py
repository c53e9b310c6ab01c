"""A plan that waits when its team is closed, or its process ends, waits when the team is open again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import attrs
import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.core import UsageError
from greenroom.models import Call
from greenroom.session import EVENTS, FOLDS, Session
from greenroom.teams import LEAD, MemberStatus, PlanAnswered, PlanSubmitted, Team
from greenroom.teams._board_messages import CreateItem
from greenroom.testing import run_virtual, virtual_ports
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.agents.pages import Page, in_order, kind
from tests.session.crashes import RecordingDisk, recording_ports
from tests.session.teamwork import open_teamwork, told, violations
from tests.teams.crews import mail_texts, member
from tests.teams.plans import PLAN, deciding, write

ANN = kind("Explore")
HAND_IN = Call("ExitPlanMode", {"plan": PLAN})


def planning(*more: Call) -> Page:
    return in_order(HAND_IN, "I wait.", *more, otherwise="Noted.")


async def hand_in(team: Team) -> str:
    """Have a teammate hand in a plan; return the id of the request."""
    home = member(team, "ann").home
    await home.profile.tools["ExitPlanMode"].call({"plan": PLAN}, home.tool_context().for_call("c"))
    home.workspace.attachments.pop("c")
    request = team.plans.open_for("ann")
    assert request is not None
    return request.id


ACTS = st.lists(
    st.sampled_from(
        ["submit", "submit", "approve", "approve into dontAsk", "reject", "close", "close", "resume", "tell", "kill"]
    ),
    max_size=9,
)


@attrs.define
class Life:
    """What should be so of a mate that plans, whatever is closed in between."""

    waiting: str = ""
    must_plan: bool = True
    mode: str = "plan"
    is_there: bool = True
    files: set[str] = attrs.field(factory=set)

    def check(self, team: Team) -> None:
        assert list(team.plans.requests) == ([self.waiting] if self.waiting else [])
        assert list(team.roster.members) == [LEAD, *(["ann"] if self.is_there else [])]
        if self.is_there:
            mate = member(team, "ann")
            assert mate.home.profile.must_plan is self.must_plan
            assert mate.home.profile.policy is not None
            assert mate.home.profile.policy.mode == self.mode
            assert (mate.status is MemberStatus.AWAITING_PLAN) is (self.waiting != "")
            assert not self.waiting or team.plans.requests[self.waiting].plan == PLAN

    async def do(self, act: str, team: Team) -> None:
        if not self.is_there:
            return
        if act == "submit" and self.must_plan and not self.waiting:
            self.waiting = await hand_in(team)
            name = team.plans.requests[self.waiting].path.name
            assert name not in self.files, "a plan was written over"
            self.files.add(name)
        elif act.startswith("approve") and self.waiting:
            mode = act.removeprefix("approve into ") if "into" in act else None
            await team.plans.answer(self.waiting, approve=True, permission_mode=mode)
            self.waiting, self.must_plan, self.mode = "", False, mode or "bypassPermissions"
        elif act == "reject" and self.waiting:
            await team.plans.answer(self.waiting, approve=False)
            self.waiting = ""
        elif act == "tell":
            team.teammates["ann"].tell("Hello.")
        elif act == "kill":
            team.teammates["ann"].kill()
            await team.teammates["ann"].wait_ended()
            self.is_there, self.waiting = False, ""


@settings(max_examples=25)
@example(["submit", "reject", "close", "submit", "resume", "approve"])
@example(["submit", "approve into dontAsk", "close", "tell", "resume"])
@given(ACTS)
def test_whatever_is_closed_in_between_a_plan_waits_until_it_is_answered(acts: list[str]) -> None:
    """In the same process and in the next; the fold of the journal says the same."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            life, run, left = Life(), None, [*acts, "resume"]
            while left:
                ports = virtual_ports(len(left))
                async with open_teamwork(
                    Path(folder), in_order(), pages={"Explore": in_order()}, resume=run, ports=ports
                ) as session:
                    run = session.run_folder
                    while await _open_once(session, life, left) == "close":
                        pass
                journal = read_journal(run / JOURNAL, EVENTS)
                assert [finding.text for finding in check_journal(journal.entries, folds=FOLDS)] == []

    run_virtual(run)


async def _open_once(session: Session, life: Life, left: list[str]) -> str:
    """Do what is to be done until the team is to be closed; returns what closes it."""
    await session.run("You lead.")
    async with session.open_team("t") as team:
        if not team.roster.joined - {LEAD}:
            await team.spawn("ann", definition=ANN, plan_required=True)
        life.check(team)
        while (act := left.pop(0)) not in {"close", "resume"}:
            await life.do(act, team)
            await session.wait_quiet()
            life.check(team)
    return act


async def test_a_plan_that_waited_waits_and_its_answer_lets_the_mate_work(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    pages = {"Explore": planning(write("after.txt"))}
    async with open_teamwork(tmp_path, in_order(), pages=pages) as session:
        async with session.open_team("t") as team:
            await team.spawn("ann", definition=ANN, prompt="Plan.", plan_required=True)
            await session.wait_quiet()
            (before,) = team.plans.requests.values()
        read = len(mail_texts(team, LEAD))
        async with session.open_team("t") as team:
            await session.wait_quiet()
            (request,) = team.plans.requests.values()
            assert (request.id, request.plan, request.path) == (before.id, PLAN, before.path)
            assert member(team, "ann").status is MemberStatus.AWAITING_PLAN
            assert len(mail_texts(team, LEAD)) == read, "who has read of it reads of it once"
            await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
            await session.wait_quiet()
            assert team.board.items()[0].owner == "", "nobody is handed work who waits for a word"
            await team.plans.answer(request.id, approve=True)
            await session.wait_quiet()
            assert team.board.items()[0].owner == "ann"

    assert (tmp_path / "project/after.txt").exists()
    assert violations(session) == []


async def test_a_lead_that_had_not_read_of_a_plan_reads_of_it_and_how_to_answer(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_teamwork(tmp_path, in_order(), pages={"Explore": in_order()}, wait_s=50) as first:
        await first.run("You lead.")
        async with first.open_team("t") as team, trio.open_nursery() as nursery:
            await team.spawn("ann", definition=ANN, plan_required=True)
            nursery.start_soon(first.run, "Look for a while.")
            await trio.sleep(1)
            await hand_in(team)
            nursery.cancel_scope.cancel()

    async with open_teamwork(
        tmp_path, deciding(True), pages={"Explore": in_order()}, resume=first.run_folder, ports=virtual_ports(1)
    ) as second:
        async with second.open_team("t") as team:
            await second.wait_quiet()
            assert not team.plans.requests
            assert not member(team, "ann").home.profile.must_plan
            (text,) = (text for text in mail_texts(team, LEAD) if "plan_approval_request" in text)
            assert "Answer with SendMessage, to ann" in text
        answered = told(second, PlanAnswered)

    assert [one.is_approved for one in answered] == [True]
    assert violations(second) == []


async def test_a_plan_whose_mate_is_not_back_waits_for_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    private = kind("private")
    pages = {"private": in_order()}
    async with open_teamwork(tmp_path, in_order(), pages=pages) as first:
        await first.run("You lead.")
        async with first.open_team("t") as team:
            await team.spawn("ann", definition=private, plan_required=True)
            request = await hand_in(team)
            await first.wait_quiet()

    async with open_teamwork(
        tmp_path, in_order(), pages=pages, resume=first.run_folder, ports=virtual_ports(1)
    ) as second:
        async with second.open_team("t") as team:
            with pytest.raises(UsageError):
                await team.plans.answer(request, approve=True)
            await team.spawn("ann", definition=private)
            assert list(team.plans.requests) == [request]
            await team.plans.answer(request, approve=True)
            assert not member(team, "ann").home.profile.must_plan


async def test_a_plan_waits_wherever_the_crash_was(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What is on record of it is what there is."""
    disk = RecordingDisk()
    pages = {"Explore": planning()}
    async with open_teamwork(tmp_path, deciding(False), pages=pages, ports=recording_ports(disk), wait_s=0.1) as first:
        await first.run("You lead.")
        async with first.open_team("t") as team:
            await team.spawn("ann", definition=ANN, prompt="Plan.", plan_required=True)
            await first.wait_quiet()
    tried = 0
    for count in range(1, len(disk.writes) + 1):
        path, line, _ = disk.writes[count - 1]
        if path.name == JOURNAL and not any(mark in line for mark in (b'"plan.', b'"mail.', b'"mate.')):
            continue
        run = disk.restore(count, first.run_folder, tmp_path / "crashed")
        if not (run / "transcripts/main.jsonl").is_file():
            continue
        entries = [entry.event for entry in read_journal(run / JOURNAL, EVENTS).entries]
        submitted = {entry.request for entry in entries if isinstance(entry, PlanSubmitted)}
        answered = {entry.request for entry in entries if isinstance(entry, PlanAnswered)}
        tried += 1
        async with open_teamwork(
            tmp_path, in_order(), pages={"Explore": in_order()}, resume=run, ports=virtual_ports(count)
        ) as again:
            async with again.open_team("t") as team:
                assert set(team.plans.requests) == submitted - answered
                await _answer_all(again, team)
        journal = read_journal(run / JOURNAL, EVENTS)
        assert [finding.text for finding in check_journal(journal.entries, folds=FOLDS)] == [], count
    assert tried > 5


async def _answer_all(session: Session, team: Team) -> None:
    await session.wait_quiet()
    for request in list(team.plans.requests):
        await team.plans.answer(request, approve=True)
    with trio.fail_after(1_000):
        await session.wait_quiet()
    assert {teammate.status for teammate in team.roster.teammates} <= {MemberStatus.IDLE}


@pytest.mark.parametrize(
    ("approved", "now", "expected"),
    [
        ("acceptEdits", "default", "acceptEdits"),
        ("default", "acceptEdits", "default"),
        ("bypassPermissions", "default", "default"),
        ("bypassPermissions", "bypassPermissions", "bypassPermissions"),
    ],
)
async def test_a_mate_works_on_in_the_mode_that_its_plan_was_approved_into(
    tmp_path: Path, autojump_clock: MockClock, approved: str, now: str, expected: str
) -> None:
    """It skips no permissions that the session does not skip now."""
    async with open_teamwork(tmp_path, in_order(), pages={"Explore": planning()}) as session:
        async with session.open_team("t") as team:
            await team.spawn("ann", definition=ANN, prompt="Plan.", plan_required=True)
            await session.wait_quiet()
            (request,) = team.plans.requests
            await team.plans.answer(request, approve=True, permission_mode=approved)
            await session.wait_quiet()
        run = session.run_folder

    async with open_teamwork(tmp_path, in_order(), pages={"Explore": planning()}, resume=run, mode=now) as session:
        async with session.open_team("t") as team:
            policy = member(team, "ann").home.profile.policy

    assert policy is not None
    assert policy.mode == expected
