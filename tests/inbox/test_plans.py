"""Turns that take from an inbox: an agent that does nothing but take, on a mailbox, against whatever is put into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from greenroom.inbox import (
    HUMAN,
    SCHEDULE,
    TASK_NOTIFICATION,
    EntryKind,
    InboxItem,
    Origin,
    WaitingEntry,
    late_answer,
    make_item,
    peer,
    plan_edge,
    plan_messages,
    plan_turn,
)
from greenroom.inbox._origin import channel
from greenroom.inbox._turn_plans import MAX_CHARS
from greenroom.mailbox import Envelope, Lane, Lease, Mailbox

TEXTS = st.sampled_from(["Go.", "And then?", "/deploy", "!ls"])
USERS = st.builds(lambda text, lane: (HUMAN, text, lane), TEXTS, st.sampled_from([None, "now", "next", "later"]))
OTHERS = st.sampled_from([TASK_NOTIFICATION, SCHEDULE, peer("mate"), channel("ci")])
SYSTEM = OTHERS.map(lambda one: (one, "/deploy", None))
WORK = st.sampled_from(list(Lane))
STEPS = st.lists(
    st.one_of(USERS, USERS, USERS, SYSTEM, WORK, st.just("late"), st.just("edge"), st.just("turn")), max_size=20
)


@attrs.frozen
class Work:
    """Something that is no entry: it needs a turn of its own."""

    number: int


@attrs.define
class Taker:
    """Takes as an agent does, and notes what it took together."""

    mailbox: Mailbox[Any] = attrs.field(factory=Mailbox)
    put: list[tuple[Lane, Any]] = attrs.field(factory=list)
    edges: list[list[Any]] = attrs.field(factory=list)
    turns: list[list[Any]] = attrs.field(factory=list)
    """What began each turn, with what it took up beside it."""
    order: list[Any] = attrs.field(factory=list)
    """All of it, in the order in which it was taken."""

    def step(self, step: object) -> None:
        match step:
            case "edge":
                self.edges.append(self._pick(lambda waiting: plan_edge(waiting, 0.0)))
                self.order += self.edges[-1]
            case "turn":
                self.begin()
            case Lane() as lane:
                self._put(Work(len(self.put)), lane)
            case "late":
                self._put(late_answer(f"call-{len(self.put)}", "yes", uuid=str(len(self.put))), Lane.NEXT)
            case (Origin() as origin, str(text), (str() | None) as priority):
                uuid = str(len(self.put))
                is_command = lambda text: text.startswith("/")  # noqa: E731
                item = make_item(text, uuid=uuid, origin=origin, priority=priority, is_command=is_command)
                self._put(item, item.lane)

    def begin(self) -> bool:
        envelope = self.mailbox.take()
        if envelope is None:
            return False
        self.mailbox.ack(envelope)
        first = envelope.message
        entry = first if isinstance(first, WaitingEntry) else None
        self.turns.append([first, *self._pick(lambda waiting: plan_turn(entry, waiting, 0.0))])
        self.order += self.turns[-1]
        return True

    def _put(self, message: object, lane: Lane) -> None:
        self.mailbox.put_nowait(message, lane)
        self.put.append((lane, message))

    def _pick(self, plan: Callable[[Sequence[Envelope[Any]]], Sequence[Envelope[Any]]]) -> list[Any]:
        chosen = plan(self.mailbox.lanes.waiting())
        lease: Lease[Any] = self.mailbox.drain_nowait(len(chosen), wanted=lambda one: one in chosen)
        messages = list(lease.messages)
        assert messages == [one.message for one in chosen], "in the order of the plan"
        lease.ack()
        return messages


def taker_of(steps: Sequence[object]) -> Taker:
    taker = Taker()
    for step in steps:
        taker.step(step)
    return taker


@given(STEPS)
def test_nothing_is_lost_repeated_or_out_of_order(steps: list[object]) -> None:
    """First in, first out within a lane; in `later`, what is for the model may pass what is not."""
    taker = taker_of(steps)
    while taker.begin():
        pass

    assert sorted(map(id, taker.order)) == sorted(id(one) for _, one in taker.put)
    places = {id(one): place for place, one in enumerate(taker.order)}
    for lane in Lane:
        put = [one for where, one in taker.put if where is lane]
        if lane is Lane.LATER:
            put = [entry for entry in put if isinstance(entry, WaitingEntry) and not entry.is_alone]
        assert all(places[id(one)] < places[id(other)] for one, other in pairwise(put))


@given(STEPS)
def test_what_needs_a_turn_of_its_own_has_one(steps: list[object]) -> None:
    """Two commands never merge, and none is attached to a turn that runs. Behaviours (9), line 5."""
    taker = taker_of(steps)

    for attached in [*taker.edges, *(turn[1:] for turn in taker.turns)]:
        assert all(isinstance(entry, WaitingEntry) and not entry.is_alone for entry in attached)
    for first, *others in taker.turns:
        assert not (isinstance(first, WaitingEntry) and first.is_alone and others)


@given(STEPS)
def test_of_what_is_taken_together_the_users_comes_first(steps: list[object]) -> None:
    """RC-34: what the runtime says waits in `later`, so it never goes before what the user says."""
    taker = taker_of(steps)

    for attached in [*taker.edges, *(turn[1:] for turn in taker.turns)]:
        places = [list(Lane).index(one.lane) for one in attached]
        assert places == sorted(places)
        assert all(one.lane is Lane.LATER for one in attached if not one.origin.is_consent)


@given(STEPS)
def test_a_notice_shares_its_turn_with_notices_only(steps: list[object]) -> None:
    for first, *others in taker_of(steps).turns:
        if isinstance(first, WaitingEntry) and first.kind is EntryKind.TASK_NOTIFICATION:
            assert all(other.kind is EntryKind.TASK_NOTIFICATION for other in others)


@given(STEPS)
def test_each_message_of_the_users_is_its_own(steps: list[object]) -> None:
    entries = [entry for entry in taker_of(steps).order if isinstance(entry, WaitingEntry)]

    messages = plan_messages(entries)

    assert [one for message in messages for one in message] == entries
    for message in messages:
        assert len(message) == 1 or not any(one.origin.is_consent for one in message)
        assert len({(one.kind, one.is_meta) for one in message}) == 1


def test_what_has_expired_holds_nobody_up() -> None:
    mailbox: Mailbox[InboxItem] = Mailbox()
    mailbox.put_nowait(make_item("!ls", uuid="1", expires_s=5.0), Lane.NEXT)
    mailbox.put_nowait(make_item("Go.", uuid="2"), Lane.NEXT)

    assert [one.message.uuid for one in plan_edge(mailbox.lanes.waiting(), 4.0)] == []
    assert [one.message.uuid for one in plan_edge(mailbox.lanes.waiting(), 5.0)] == ["1", "2"]


@given(st.lists(st.integers(1, 3 * MAX_CHARS // 2), min_size=1, max_size=12), st.booleans())
def test_what_is_taken_together_fits_into_a_request(sizes: list[int], is_edge: bool) -> None:
    """As many as fit, in order; one that alone is too long is taken alone, so that it holds nobody up."""
    mailbox: Mailbox[InboxItem] = Mailbox()
    for number, size in enumerate(sizes):
        mailbox.put_nowait(make_item("x" * size, uuid=str(number), origin=TASK_NOTIFICATION), Lane.LATER)
    first = make_item("It is done.", uuid="first", origin=TASK_NOTIFICATION)

    taken = plan_edge(mailbox.lanes.waiting(), 0.0) if is_edge else plan_turn(first, mailbox.lanes.waiting(), 0.0)

    lengths = [len(one.message.text) for one in taken]
    assert lengths == sizes[: len(lengths)]
    assert len(lengths) == 1 or sum(lengths) <= MAX_CHARS
    assert len(lengths) == len(sizes) or sum(sizes[: len(lengths) + 1]) > MAX_CHARS
