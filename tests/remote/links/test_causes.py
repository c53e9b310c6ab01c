"""Causes across links: an event of one node leads to the event of the other one that caused it."""

from __future__ import annotations

from typing import Any

import pytest
import trio

import greenroom as gr
from greenroom.core import Level, UsageError, event_of
from greenroom.remote.links._link_checks import causes_across
from greenroom.remote.links._link_record import LinkCaused
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.trace import Entry
from tests.remote.links.linked import Counter, Sum, linked

pytestmark = pytest.mark.usefixtures("virtual_time")


class RecordedCounter(Counter):
    """A counter whose turns are on record."""

    journal = Level.FULL


class Caller(gr.Behavior[Any]):
    """Tells, asks and watches a remote actor in one turn, and remembers its end."""

    journal = Level.FULL

    def __init__(self, target: RemoteRef[Any]) -> None:
        self.target = target
        self.downs: list[gr.Down] = []

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        self.target.watch(self.downs.append)
        self.target.tell(5)
        await self.target.ask(Sum())


def entries(runtime: gr.Runtime) -> list[Entry]:
    """Return the journal of a runtime."""
    events = ((record, event_of(record)) for record in runtime.recorder.latest())
    return [Entry(record[0], record[1], event.kind, event) for record, event in events]


@pytest.mark.promise("R4-d")
async def test_a_remote_message_leads_back_to_the_turn_that_sent_it() -> None:
    """The frame has the number of the sender's event; over here its put has the record of that as parent."""
    async with linked() as both:
        ref, own = await both.publish(RecordedCounter)
        caller = await both.here.spawn(Caller, ref)
        caller.tell("go")
        await trio.sleep(1)
        own.stop()
        await trio.sleep(1)
        journals = {"here": entries(both.here), "there": entries(both.there)}
        turns = [entry for entry in journals["there"] if entry.kind == "turn.begin" and entry.event.actor == own.id]
        assert len(turns) == 2
        for turn in turns:
            chain = [(label, entry.kind) for label, entry in causes_across(journals, "there", turn.seq)]
            assert chain[:2] == [("there", "link.caused"), ("here", "turn.begin")]
        alone = causes_across({"there": journals["there"]}, "there", turns[0].seq)
        assert [entry.kind for _, entry in alone] == ["link.caused"]  # the other journal is not at hand
        with pytest.raises(UsageError, match="no event 99 in the journal 'moon'"):
            causes_across(journals, "moon", 99)


async def test_what_nobody_caused_has_no_cause() -> None:
    async with linked() as both:
        ref, _ = await both.publish(Counter)
        ref.tell(5)
        await ref.ask(Sum())
        assert "link.caused" not in {entry.kind for entry in entries(both.there)}


async def test_causes_that_name_each_other_come_to_an_end() -> None:
    """A node may claim any cause: the events that were found already end the search."""
    async with linked() as both:
        ref, _ = await both.publish(Counter)
        link, back = both.links
        first = link._record.caused(1)
        second = back._record.caused(first)
        journals = {"here": entries(both.here), "there": entries(both.there)}
        journals["here"] = [entry for entry in journals["here"] if entry.seq != first]
        looped = LinkCaused(node="there", link="0" * 32, cause=second)
        journals["here"].append(Entry(first, 0.0, looped.kind, looped))
        assert len(causes_across(journals, "here", first)) == 2
        assert ref.node == "there"
