"""A lead asks a mate to end: the mate's model decides, a deadline stands behind it, and every request comes to one outcome."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import Note
from greenroom.agents.subagents import SendRefused
from greenroom.core import UsageError
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.teams import LEAD, MemberStatus, ShutdownSettled, Team, TeammateIdled, TeammateWoke, TeamSettings
from greenroom.teams._shutdown_requests import OUTCOMES, ShutdownOutcome, ShutdownState
from greenroom.testing import run_virtual
from tests.agents.crews import Crew, main_messages, told, violations
from tests.agents.pages import Page, in_order, kind, last_texts, mail
from tests.teams.crews import mail_texts, member, open_lead, open_on_filling_disk, open_team, play_by_choices, send_as


def request_in(request: ModelRequest) -> str:
    """Return the id of the latest request to end that a mate has read; empty for none."""
    found = re.findall(r"shutdown-\d+@[\w-]+", last_texts(request))
    return found[-1] if found else ""


def answering(*, approve: bool, reason: str = "", otherwise: AnswerLike = "Done.") -> Page:
    """Return a mate that answers a request to end."""

    def page(request: ModelRequest) -> AnswerLike:
        asked = request_in(request)
        if asked and "shutdown_request" in last_texts(request):
            said = {"type": "shutdown_response", "request_id": asked, "approve": approve}
            return mail(LEAD, {**said, "reason": reason} if reason else said)
        return otherwise

    return page


def outcomes(crew: Crew) -> list[tuple[str, str]]:
    """Return how requests ended, as the record says: mate and outcome."""
    return [(event.to, event.outcome) for event in told(crew, ShutdownSettled)]


async def test_teammate_that_approves_finishes_and_leaves_the_team(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (7), line 7: its items come back, and the lead reads that it has ended."""

    def lead(request: ModelRequest) -> AnswerLike:
        wanted = last_texts(request).endswith("end ann")
        return mail("ann", {"type": "shutdown_request", "reason": "The work is done."}) if wanted else "I see."

    async with (
        open_lead(tmp_path, lead, pages={"ann": answering(approve=True)}) as crew,
        open_team(crew, "t") as team,
    ):
        mate = await team.spawn("ann", definition=kind("ann"))
        home = member(team, LEAD).home
        await home.profile.tools["TaskCreate"].call(
            {"subject": "one", "description": ""}, home.tool_context().for_call("c")
        )
        await crew.wait_quiet()
        assert [item.owner for item in team.board.items()] == ["ann"]
        await crew.run("end ann")
        await crew.wait_quiet()
        assert mate.ref.is_gone
        assert [(item.owner, item.status) for item in team.board.items()] == [("", "pending")]
        assert list(team.roster.members) == [LEAD]
        heard = "\n".join(mail_texts(team, LEAD))
        assert not team.shutdowns.requests

    assert outcomes(crew) == [("ann", "approved")]
    assert "shutdown_approved" in heard
    assert "teammate_terminated" in heard
    assert heard.index("shutdown_approved") < heard.index("teammate_terminated")
    assert violations(crew) == []


async def test_the_lead_is_told_the_id_of_its_request(tmp_path: Path, autojump_clock: MockClock) -> None:
    """`shutdown-<ms>@<name>`; who is asked twice has one request."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        first, second = [await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"}) for _ in range(2)]
        await crew.wait_quiet()
        read = mail_texts(team, "ann")
        assert member(team, "ann").status is MemberStatus.SHUTDOWN_REQUESTED, "a plain text is no answer"
        assert list(team.shutdowns.requests) == [first["request_id"]]

    assert re.fullmatch(r"shutdown-\d{13}@ann", first["request_id"])
    assert first["request_id"] == second["request_id"]
    assert len(read) == 1
    assert outcomes(crew) == [("ann", "ended")]


@settings(max_examples=8)
@given(turns=st.lists(st.sampled_from(["talk", "work"]), max_size=6))
def test_what_the_lead_is_told_of_one_that_was_asked_to_end_is_on_record(turns: list[str]) -> None:
    """Each turn that ends is `mate.woke` and `mate.idle`, and the lead is told of those in which something was done."""

    def page(request: ModelRequest) -> AnswerLike:
        return Call("TaskList") if "work" in last_texts(request) else "Hm."

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with open_lead(Path(folder), in_order(), pages={"ann": page}) as crew:
                async with open_team(crew, "t") as team:
                    await team.spawn("ann", definition=kind("ann"))
                    await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
                    await crew.wait_quiet()
                    for what in turns:
                        member(team, "ann").ref.tell(Note(what, "bob"), Lane.LATER)
                        await crew.wait_quiet()
                    heard = "\n".join(main_messages(crew))
                    assert member(team, "ann").status is MemberStatus.SHUTDOWN_REQUESTED

                    edges = len(told(crew, TeammateIdled))
                    assert edges == len(told(crew, TeammateWoke)) == len(turns) + 1
                    assert heard.count("idle_notification") == 1 + turns.count("work")
            assert violations(crew) == []

    run_virtual(run)


async def test_teammate_that_refuses_continues_and_lead_reads_why(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (7), line 7."""
    pages = {"ann": answering(approve=False, reason="Half of it is missing.")}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        mate = await team.spawn("ann", definition=kind("ann"))
        outcome = await mate.shutdown("Are you done?")
        await crew.wait_quiet()
        heard = mail_texts(team, LEAD)
        assert not mate.ref.is_gone
        assert member(team, "ann").status is MemberStatus.IDLE

    assert outcome == ShutdownOutcome(state=ShutdownState.REJECTED, reason="Half of it is missing.")
    assert not outcome.has_ended
    assert any("shutdown_rejected" in text and "Half of it is missing." in text for text in heard)
    assert outcomes(crew) == [("ann", "rejected")]
    assert len(told(crew, TeammateWoke)) == len(told(crew, TeammateIdled)) == 1, (
        "who has nothing to do has worked before"
    )
    assert violations(crew) == []


async def test_acknowledging_is_not_yet_the_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-52: until its actor has ended it is a member, and the outcome is open."""

    def ann(request: ModelRequest) -> AnswerLike:
        asked = request_in(request)
        if "shutdown_request" in last_texts(request):
            return mail(LEAD, {"type": "shutdown_response", "request_id": asked, "approve": True})
        return "Good bye."

    async with (
        open_lead(tmp_path, in_order(), pages={"ann": ann}, wait_s=10.0) as crew,
        open_team(crew, "t") as team,
    ):
        mate = await team.spawn("ann", definition=kind("ann"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(mate.shutdown)
            await trio.sleep(15)
            (request,) = team.shutdowns.requests.values()
            assert request.state is ShutdownState.AGREED
            assert "ann" in team.roster.members
            assert not mate.ref.is_gone
        assert mate.ref.is_gone
        assert member(team, LEAD).name == LEAD
        assert "ann" not in team.roster.members

    assert outcomes(crew) == [("ann", "approved")]


def _busy(_: ModelRequest) -> AnswerLike:
    return Call("Glob", {"pattern": "*"})


@pytest.mark.parametrize(("teams", "ends_within_s"), [({}, 75), ({"shutdown_s": 5}, 15), ({"shutdown_s": 0}, None)])
async def test_a_request_of_the_leads_model_has_a_deadline_too(
    teams: dict[str, Any], ends_within_s: float | None, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-51: the one of the settings; it reads when that is. Without one, its mate goes on for as long as it wants."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": _busy}, wait_s=1.0) as crew,
        open_team(crew, "t", shutdown_s=TeamSettings(**teams).shutdown_deadline_s) as team,
    ):
        mate = await team.spawn("ann", definition=kind("ann", max_turns=10_000), prompt="Work.")
        await trio.sleep(3)
        asked = await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
        began, ended_s = trio.current_time(), None
        with trio.move_on_after(200):
            await mate.wait_ended()
            ended_s = trio.current_time() - began
        assert mate.ref.is_gone is (ended_s is not None)

    assert ("ended whatever it says" in asked["message"]) is (ends_within_s is not None)
    if ends_within_s is None:
        assert ended_s is None
    else:
        assert ended_s is not None
        assert ends_within_s - 15 <= ended_s <= ends_within_s
        assert outcomes(crew) == [("ann", "forced")]
    assert violations(crew) == []


@pytest.mark.parametrize(
    "page", [_busy, in_order("ok"), answering(approve=True, otherwise=Call("Glob", {"pattern": "*"}))]
)
async def test_at_the_deadline_a_mate_is_ended_whatever_it_does(
    page: Page, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-51, RC-53: it loops, it says ok and nothing else, it approves and does not come to its end."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": page}, wait_s=1.0) as crew,
        open_team(crew, "t") as team,
    ):
        mate = await team.spawn("ann", definition=kind("ann", max_turns=10_000), prompt="Work.")
        await trio.sleep(3)
        began = trio.current_time()
        with trio.fail_after(100):
            outcome = await mate.shutdown(deadline_s=20)
        took = trio.current_time() - began
        assert mate.ref.is_gone

    assert outcome.state is ShutdownState.FORCED
    assert took <= 30
    assert outcomes(crew) == [("ann", "forced")]
    assert violations(crew) == []


async def test_a_mate_whose_end_cannot_be_put_on_record_ends_all_the_same(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-51: a full disk keeps nobody alive."""
    async with open_on_filling_disk(tmp_path) as (_, team, disk):
        mate = await team.spawn("ann", definition=kind("ann"))
        disk.is_full = True
        with pytest.raises(SendRefused) as caught:
            await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
        assert str(caught.value) == "Failed to write the shutdown request to ann's inbox — nothing was sent"
        assert member(team, "ann").status is MemberStatus.IDLE
        outcome = await mate.shutdown(deadline_s=20)
        assert outcome.state is ShutdownState.FORCED
        assert mate.ref.is_gone


async def test_an_approval_that_cannot_be_put_on_record_counts_all_the_same(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It ends, and reads that its lead may not hear of it."""
    async with open_on_filling_disk(tmp_path) as (crew, team, disk):
        mate = await team.spawn("ann", definition=kind("ann"))
        asked = await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
        await crew.wait_quiet()
        disk.is_full = True
        said = {"type": "shutdown_response", "request_id": asked["request_id"], "approve": True}
        result = await send_as(member(team, "ann"), LEAD, said)
        with trio.fail_after(90):
            await mate.wait_ended()

    assert result["message"].endswith("The confirmation could not be written to team-lead's inbox.")


async def test_a_refusal_that_is_on_record_after_the_deadline_is_too_late(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-51: a slow disk gives nobody more time, and there is one outcome."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        mate = await team.spawn("ann", definition=kind("ann"))
        one = member(team, "ann")
        results: list[ShutdownOutcome] = []
        durable = team.roster.wait_durable

        async def slowly() -> None:
            await trio.sleep(5)
            await durable()

        async def wait() -> None:
            results.append(await mate.shutdown(deadline_s=3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(2)
            request = team.shutdowns.open_for("ann")
            assert request is not None
            team.roster.wait_durable = slowly
            said = {"type": "shutdown_response", "request_id": request.id, "approve": False, "reason": "Not yet."}
            with pytest.raises(SendRefused, match="cannot refuse any more"):
                await send_as(one, LEAD, said)

    assert [outcome.state for outcome in results] == [ShutdownState.FORCED]
    assert outcomes(crew) == [("ann", "forced")]


async def test_only_the_lead_asks_and_only_who_was_asked_answers(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order(), "bob": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        for name in ("ann", "bob"):
            await team.spawn(name, definition=kind(name))
        asked = await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
        answer = {"type": "shutdown_response", "request_id": asked["request_id"], "approve": True}
        caught = []
        for sender, to, said in [
            ("bob", "ann", {"type": "shutdown_request"}),
            ("bob", LEAD, answer),
            ("ann", LEAD, {**answer, "request_id": "shutdown-1@ann"}),
            ("ann", LEAD, {**answer, "approve": False}),
            ("ann", LEAD, {**answer, "approve": "ok"}),
            (LEAD, LEAD, {"type": "shutdown_request"}),
        ]:
            with pytest.raises(SendRefused) as refused:
                await send_as(member(team, sender), to, said)
            caught.append(refused.value)
        assert team.roster.members.keys() == {LEAD, "ann", "bob"}
        with pytest.raises(UsageError):
            await team.teammates["ann"].shutdown(deadline_s=0)

    assert [one.kind for one in caught] == [
        "not_yours",
        "unreadable",
        "unreadable",
        "unreadable",
        "unreadable",
        "yourself",
    ]
    assert asked["request_id"] in str(caught[2])
    assert "needs a reason" in str(caught[3])


# --- any order ----------------------------------------------------------------------------------------------------------


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["tool", "host", "patient", "approve", "reject", "abort", "kill", "stop", "mail"]),
        st.sampled_from([0.0, 0.0, 0.3, 2.0]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=30)
@given(acts=ACTS, choices=st.lists(st.integers(0, 5), max_size=30), wait_s=st.sampled_from([0.0, 0.5]))
def test_under_any_interleaving_each_request_has_exactly_one_outcome(
    acts: list[tuple[str, float]], choices: list[int], wait_s: float
) -> None:
    """RC-51, RC-52: requests of lead and host, answers, aborts, kills and deadlines, under any schedule."""

    play_by_choices(lambda folder: _negotiate(folder, acts, wait_s), choices)


async def _negotiate(folder: Path, acts: list[tuple[str, float]], wait_s: float) -> None:
    results: list[ShutdownOutcome] = []
    asked: set[str] = set()
    async with open_lead(folder, in_order(), pages={"ann": in_order()}, wait_s=wait_s) as crew:
        async with open_team(crew, "t", shutdown_s=15) as team, trio.open_nursery() as nursery:
            mate = await team.spawn("ann", definition=kind("ann"))
            for act, pause_s in acts:
                nursery.start_soon(_do, team, act, results, asked)
                await trio.sleep(pause_s)
            await trio.sleep(40)
            assert not asked & team.shutdowns.requests.keys(), "a request of the lead's is open after its deadline"
            mate.kill()
            with trio.fail_after(60):
                await mate.wait_ended()
        settled = told(crew, ShutdownSettled)

    by_request = {one.request: one.outcome for one in settled}
    assert len(by_request) == len(settled), "exactly one"
    assert asked <= set(by_request)
    assert all(ShutdownState(one) in OUTCOMES for one in by_request.values())
    assert len(results) == sum(act in {"host", "patient"} for act, _ in acts)
    assert not team.shutdowns.requests
    assert violations(crew) == []


async def _do(team: Team, act: str, results: list[ShutdownOutcome], asked: set[str]) -> None:
    mate = team.teammates["ann"]
    one = team.roster.members.get("ann")
    request = team.shutdowns.open_for("ann")
    said = {"type": "shutdown_response", "request_id": request.id if request else "none", "reason": "Not yet."}
    try:
        match act:
            case "host" | "patient":
                outcome = await mate.shutdown(deadline_s=1.0 if act == "host" else math.inf)
                results.append(outcome)
                assert outcome.has_ended == (outcome.state not in {ShutdownState.REJECTED, ShutdownState.WITHDRAWN})
                if outcome.has_ended:
                    assert mate.ref.is_gone
            case "tool":
                result = await send_as(member(team, LEAD), "ann", {"type": "shutdown_request"})
                asked.add(result["request_id"])
            case "approve" | "reject" if one is not None:
                await send_as(one, LEAD, {**said, "approve": act == "approve"})
            case "mail":
                await send_as(member(team, LEAD), "ann", "Hello.")
            case "abort":
                mate.abort_turn()
            case "kill":
                mate.kill()
            case "stop":
                mate.ref.stop()
    except SendRefused:
        pass
