"""What has to be true of a whole team when all is quiet, when it was closed, when it is open again, and after all of it.

Each check names what it holds: lines of the behaviours of teams (7), rows of the regressions. They read what the team shows (board,
roster, requests), what its members heard, transcripts and the record; none of them asks how it came to that.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar, final

import attrs

from greenroom.actors import TurnEnded
from greenroom.core import Event, event_of
from greenroom.session import FOLDS
from greenroom.session.record._recovery import read_team_records
from greenroom.supervisor import TreeNode
from greenroom.tasks import TEAMMATE
from greenroom.teams import (
    LEAD,
    Item,
    ItemStatus,
    MemberStatus,
    PlanAnswered,
    PlanSubmitted,
    ShutdownAnswered,
    ShutdownAsked,
    ShutdownSettled,
    TeammateIdled,
    TeammateJoined,
    TeammateLeft,
    TeammateParked,
    TeammateWoke,
)
from greenroom.teams._mail_events import MailState
from greenroom.teams._shutdown_requests import ShutdownState
from greenroom.teams._teammate_events import TeammateEvent
from greenroom.teams._teammate_status import Availability
from greenroom.trace import check_journal, entries_of, fold
from tests.actors.invariants import violations
from tests.teams.machine import check_record
from tools.soak.team_machine import TEAM, World
from tools.soak.team_orders import say

ENDING_S: Final = 10.0
"""So long after its deadline a mate may be there still: its turn is aborted, it is stopped, it is killed."""
FOLLOWS: Final[dict[type[TeammateEvent], tuple[type[TeammateEvent], ...]]] = {
    TeammateJoined: (TeammateWoke, TeammateParked, TeammateLeft),
    TeammateWoke: (TeammateIdled, TeammateParked, TeammateLeft),
    TeammateIdled: (TeammateWoke, TeammateParked, TeammateLeft),
    TeammateParked: (TeammateJoined,),
    TeammateLeft: (),
}
"""What may be put on record about a mate behind what."""
_IDLE: Final = re.compile(r'\{"type": "idle_notification".*?\}')
_MARK: Final = re.compile(rf"mail\.{TEAM}\.(\d+)")

E = TypeVar("E", bound=Event)


def events(world: World, *kinds: type[E]) -> list[E]:
    """Return what was put on record of some classes, in order."""
    found = [event_of(record) for record in world.records if record[0] > 0 and issubclass(record[2], kinds)]
    return [one for one in found if isinstance(one, kinds)]


# --- at rest ------------------------------------------------------------------------------------------------------------


def check_at_rest(world: World) -> None:
    """Check a team in which nothing happens any more, and which is open."""
    check_members(world)
    check_items(world)
    check_mail_at_rest(world)
    check_last_notices(world)
    check_deadlines(world)


def check_members(world: World) -> None:
    """Whoever lives has nothing to do, and the board knows it; whoever waits for something, that is there (RC-49, CL-20)."""
    team = world.team
    alive = {teammate.name for teammate in team.roster.teammates}
    home = team.roster.home
    assert sorted(filter(home.is_at_rest, home.availability)) == sorted(alive)
    assert set(home.members) == alive
    assert alive == {name for name, mate in team.teammates.items() if not mate.ref.is_gone}
    asked = {request.name for request in team.shutdowns.requests.values()}
    planning = {request.name for request in team.plans.requests.values()}
    assert planning <= alive, f"plans of those that are gone: {planning - alive}"
    for teammate in team.roster.teammates:
        assert not teammate.item, f"{teammate.name} rests with the turn of #{teammate.item}"
        assert not teammate.ref.is_busy
        expected = (
            MemberStatus.SHUTDOWN_REQUESTED
            if teammate.name in asked
            else MemberStatus.AWAITING_PLAN
            if teammate.name in planning
            else MemberStatus.IDLE
        )
        assert teammate.status is expected, f"{teammate.name} is {teammate.status}, not {expected}"
    pausing = {name for name, known in home.availability.items() if known is Availability.PAUSING}
    assert pausing == {mate.name for mate in team.roster.teammates if mate.status is MemberStatus.AWAITING_PLAN}
    assert {request.state for request in team.shutdowns.requests.values()} <= {ShutdownState.ASKED}


def check_items(world: World) -> None:
    """No item is with one who is not there, or waits although somebody could begin (RC-97)."""
    team, home = world.team, world.team.roster.home
    alive = {teammate.name for teammate in team.roster.teammates}
    for item in team.board.items():
        assert item.status is ItemStatus.COMPLETED or item.owner in {"", LEAD, *alive}, f"{item} is with nobody"
        assert item.owner or item.status is not ItemStatus.IN_PROGRESS
    for name in home.ready:
        assert home.state.claimable(name) is None, f"{name} waits, and so does {home.state.claimable(name)}"
    assert not [name for name in home.ready if home.state.startable(name)]
    check_record(_of_record(world), home.state)


def _of_record(world: World) -> list[Any]:
    return [record for record in world.records if record[0] > 0]


def check_mail_at_rest(world: World) -> None:
    """All mail was read or has come back, save what waits until a plan was answered."""
    waiting = {one.mail for one in world.team.mail.waiting}
    planning = {
        teammate.name for teammate in world.team.roster.teammates if teammate.status is MemberStatus.AWAITING_PLAN
    }
    assert {one.to for one in world.team.mail.waiting} <= planning
    sent = {mail.mail for mail in _mails(world) if mail.state is MailState.SENT}
    assert sent == waiting, f"on record wait {sent}, in memory {waiting}"


def _mails(world: World) -> list[Any]:
    folded = fold(entries_of(world.records), FOLDS)
    assert not folded.faults, folded.faults
    return list(folded.section("mail").values())


def check_last_notices(world: World) -> None:
    """What the lead read last of who lives is how that one is: no notice is lost."""
    last = {notice["from"]: notice for notice in _notices(world)}
    for teammate in world.team.roster.teammates:
        if teammate.told is not None:
            assert teammate.name in last, f"the lead has never read that {teammate.name} is idle"
            said = last[teammate.name]
            assert said.get("idleReason", "available") == teammate.told.reason.value, (said, teammate.told)


def _notices(world: World) -> list[dict[str, Any]]:
    """Return the notices that the lead has read, in order."""
    lead = world.session.main.id
    return [json.loads(found) for text in world.texts_of(lead) for found in _IDLE.findall(text)]


def check_deadlines(world: World) -> None:
    """Each request of the host had come to its outcome soon after its deadline."""
    for late_s, outcome in world.outcomes:
        assert late_s <= ENDING_S, f"{outcome} came {late_s} s after the deadline"
        assert outcome.state is not ShutdownState.ASKED


# --- whether it can still work ------------------------------------------------------------------------------------------


async def probe(world: World) -> None:
    """Let everybody who lives answer, and complete an item; let one who joins complete all that is left: nothing is lost."""
    while world.team.plans.requests:
        for request in list(world.team.plans.requests.values()):
            await world.team.plans.answer(request.id, approve=True)
        await world.rest()
    await _ping(world)
    world.model.is_tidying = True
    closer = await world.spawn("closer")
    for item in world.team.board.items():
        if item.status is not ItemStatus.COMPLETED:
            await world.edit(item.id, owner=closer.name)
    await world.rest()
    left = [item for item in world.team.board.items() if item.status is not ItemStatus.COMPLETED]
    assert not left, f"nobody can complete {left}"
    await _give_one_each(world)
    check_at_rest(world)


async def _ping(world: World) -> None:
    alive = {teammate.name: teammate.home.profile.id for teammate in world.team.roster.teammates}
    for name in alive:
        world.team.teammates[name].tell(world.book.text([[say(f"PONG {name}")]]))
    await world.rest()
    for name, agent in alive.items():
        assert f"PONG {name}" in world.texts_of(agent), f"{name} does not answer any more"


async def _give_one_each(world: World) -> None:
    given: dict[str, str] = {}
    for teammate in world.team.roster.teammates:
        item = await world.create("Complete it.")
        await world.edit(item.id, owner=teammate.name)
        given[item.id] = teammate.name
    await world.rest()
    items = {item.id: item for item in world.team.board.items()}
    for item_id, name in given.items():
        item = items[item_id]
        assert (item.owner, item.status) == (name, ItemStatus.COMPLETED), f"{name} has not completed {item}"


# --- closed, and open again ---------------------------------------------------------------------------------------------


def check_closed(world: World) -> None:
    """Nothing is left of a team that was closed: no actor, no task, no mail in a mailbox, no request."""
    team, session = world.team, world.session
    assert session.teams.current is None
    for mate in team.teammates.values():
        waits = mate.ref.statistics()
        assert mate.ref.is_gone
        assert (waits.now, waits.next, waits.later) == (0, 0, 0), f"mail waits for {mate}"
    assert team.board.ref.is_gone
    assert not team.roster.teammates
    assert not team.shutdowns.requests
    assert not [one for one in session.tasks.table.running() if one.info.kind == TEAMMATE]
    leaves = sorted(leaf.behavior for leaf in _leaves(session.runtime.tree()) if leaf.behavior != "SupervisorBehavior")
    assert leaves in (["Agent", "Queue"], []), leaves


def _leaves(node: TreeNode) -> Iterator[TreeNode]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


@final
@attrs.frozen
class Snapshot:
    """A team as it was when it was closed."""

    is_settled: bool
    """Whether nothing happened any more, and no plan waited; whose plan was not answered has nothing to do when it comes back."""
    items: tuple[Item, ...]
    mates: dict[str, tuple[str, str]]
    """The color and the agent of each that comes back, by name."""

    @classmethod
    async def taken(cls, world: World, *, is_settled: bool) -> Snapshot:
        """Look at a team that has just been closed; what the disk knows of it is what memory knew."""
        team = world.team
        await team.roster.wait_durable()
        record = read_team_records(world.session.run_folder)[TEAM]
        items = team.board.items()
        assert tuple(sorted(record.items, key=lambda one: one.number)) == items
        latest = {event.name: event for event in events(world, TeammateEvent)}
        parked = {name for name, one in latest.items() if isinstance(one, TeammateParked)}
        assert {one.name for one in record.parked} == parked
        waiting = {one.mail for one in team.mail.waiting if one.to != LEAD}
        assert {one.mail for one in record.mail if one.to != LEAD} == waiting
        return cls(is_settled, items, {one.name: (one.color, one.agent) for one in record.parked})

    async def check_back(self, world: World) -> None:
        """Check that the team is as it was, now that it is open again: members, items, owners; nothing begins by itself (CL-10)."""
        there = {teammate.name: (teammate.color, teammate.home.profile.id) for teammate in world.team.roster.teammates}
        items = world.team.board.items()
        assert [item.id for item in items] == [item.id for item in self.items]
        assert there.items() <= self.mates.items()
        assert _begun(self.items) <= _begun(items), "whoever was at it has it still"
        if self.is_settled:
            assert there == self.mates
            await world.rest()
            assert world.team.board.items() == self.items


def _begun(items: Iterable[Item]) -> set[tuple[str, str]]:
    return {(item.id, item.owner) for item in items if item.status is ItemStatus.IN_PROGRESS}


# --- when all is over ---------------------------------------------------------------------------------------------------


def check_when_left(world: World) -> None:
    """Check the record of a session that has ended, and what stands in its transcripts."""
    records = [record for record in world.records if record[0] > 0]
    found = violations(records)
    assert not found, found
    wrong = [
        f"{finding.id} at {finding.seq}: {finding.text}" for finding in check_journal(entries_of(records), folds=FOLDS)
    ]
    assert not wrong, wrong
    check_record(records, world.team.roster.home.state)
    check_edges(world)
    check_notices(world)
    check_mail(world)
    check_requests(world)


def check_edges(world: World) -> None:
    """A mate works and has nothing to do in turns, joins once each time, and is gone for good when it has left."""
    before: dict[str, type[TeammateEvent]] = {}
    for event in events(world, TeammateEvent):
        last = before.get(event.name)
        assert type(event) is TeammateJoined if last is None else type(event) in FOLLOWS[last], (event, last)
        before[event.name] = type(event)
    assert set(before.values()) <= {TeammateParked, TeammateLeft}, before


def check_notices(world: World) -> None:
    """The lead reads at most one notice of each edge from working to idle, and of each turn that failed (RC-49)."""
    name_of = {event.actor: event.name for event in events(world, TeammateJoined)}
    edges: Counter[str] = Counter(event.name for event in events(world, TeammateIdled))
    turns = [event for event in events(world, TurnEnded) if event.actor in name_of]
    failed = Counter(name_of[one.actor] for one in _failed(turns))
    for name, count in Counter(notice["from"] for notice in _notices(world)).items():
        most = edges[name] + failed[name]
        assert count <= most, f"the lead read {count} times that {name} is idle, which was so {most} times"


def _failed(turns: list[TurnEnded]) -> list[TurnEnded]:
    return [turn for turn in turns if turn.state == "failed"]


def check_mail(world: World) -> None:
    """What was read stands in one transcript, once; what came back stands in none (RC-43, RC-48)."""
    stands: Counter[int] = Counter()
    for path in (world.session.run_folder / "transcripts").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            stands.update(int(number) for number in _MARK.findall(" ".join(json.loads(line).get("notices") or ())))
    twice = [number for number, count in stands.items() if count > 1]
    assert not twice, f"mail that was read twice: {twice}"
    read = {mail.mail for mail in _mails(world) if mail.state is MailState.READ}
    assert set(stands) == read, f"in transcripts {sorted(stands)}, on record {sorted(read)}"


def check_requests(world: World) -> None:
    """Each request to end has come to one end, each plan to one answer at most, and only to what was asked (RC-52)."""
    asked = Counter(event.request for event in events(world, ShutdownAsked))
    assert asked == Counter(event.request for event in events(world, ShutdownSettled)), "one end for each request"
    answered = Counter(event.request for event in events(world, ShutdownAnswered))
    assert answered <= asked
    ends = {event.request: event for event in events(world, ShutdownSettled)}
    for said in events(world, ShutdownAnswered):
        outcomes = {"approved", "forced"} if said.is_approved else {"rejected"}
        assert ends[said.request].outcome in outcomes, (said, ends[said.request])
    submitted = Counter(event.request for event in events(world, PlanSubmitted))
    assert set(submitted.values()) <= {1}
    assert Counter(event.request for event in events(world, PlanAnswered)) <= submitted
