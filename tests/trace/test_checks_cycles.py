"""The checks of the wait graph pass on sound runs, and find what is planted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from greenroom.actors import Behavior, Context, Request
from greenroom.actors._events import AskRefused
from greenroom.core import AskCycle, Level, Recorder
from greenroom.supervisor import open_runtime
from greenroom.testing import run_virtual, virtual_ports
from greenroom.trace import entries_of
from greenroom.trace._checks_cycles import linked_end_first, refused_rings
from greenroom.trace._codec import Codec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from greenroom.actors import Ref
    from greenroom.core import Record
    from greenroom.trace import Entry


class Visit(Request[str]):
    """Asks for a visit to the one above."""


class Host(Behavior[Any]):
    """Links the guest, asks it, and is asked back."""

    turn_tasks = True
    journal = Level.FULL

    def __init__(self, guest: Ref[Any]) -> None:
        self._guest = guest

    async def on_message(self, message: Any, ctx: Context) -> None:
        link = ctx.turn.link(self._guest)
        self._guest.tell(ctx.ref)
        await trio.sleep(1)
        if message == "unlink":
            link.unlink()


class Guest(Behavior[Any]):
    journal = Level.FULL

    async def on_message(self, message: Ref[Any], ctx: Context) -> None:
        try:
            await message.ask(Visit())
        except AskCycle:
            await trio.sleep(0.5)


def record(message: str) -> Sequence[Record]:
    async def scenario() -> Sequence[Record]:
        ports = virtual_ports()
        recorder = Recorder(ports.clock.bind())
        async with open_runtime(ports=ports, recorder=recorder) as opened:
            guest = await opened.spawn(Guest, name="guest")
            host = await opened.spawn(Host, guest, name="host")
            host.tell(message)
            await trio.sleep(9)
        return recorder.latest()

    return run_virtual(scenario).result


RUNS = {message: entries_of(record(message)) for message in ("hold", "unlink")}


def change(entries: Sequence[Entry], kind: str, **to: Any) -> list[Entry]:
    return [
        attrs.evolve(entry, event=attrs.evolve(entry.event, **to)) if entry.kind == kind else entry for entry in entries
    ]


@pytest.mark.promise("I-23", "I-45")
@pytest.mark.parametrize("message", RUNS)
def test_sound_runs_pass(message: str) -> None:
    kinds = [entry.kind for entry in RUNS[message]]

    assert kinds.count("ask.refused") == kinds.count("turn.linked") == 1
    assert kinds.count("turn.unlinked") == (message == "unlink")
    assert [*refused_rings(RUNS[message]), *linked_end_first(RUNS[message])] == []


@pytest.mark.promise("I-45")
@pytest.mark.parametrize(
    "plant",
    [
        lambda entry: {"ring": entry["ring"][:2]},
        lambda _: {"ring": ()},
        lambda entry: {"target": entry.event.actor},
        lambda entry: {"ring": (entry["ring"][0], entry["ring"][1], entry["ring"][1], entry["ring"][2])},
        lambda entry: {"ring": (entry["ring"][0], entry["ring"][1], "nobody", entry["ring"][2])},
    ],
)
def test_a_refusal_without_a_circle_is_found(plant: Callable[[Entry], dict[str, Any]]) -> None:
    entries = RUNS["hold"]
    refused = next(entry for entry in entries if entry.kind == "ask.refused")

    assert [seq for seq, _ in refused_rings(change(entries, "ask.refused", **plant(refused)))] == [refused.seq]


@pytest.mark.promise("I-45")
def test_what_comes_of_a_refused_ask_is_found() -> None:
    entries = RUNS["hold"]
    refused = next(entry for entry in entries if entry.kind == "ask.refused")

    assert [*refused_rings(change(entries, "turn.end", parent=refused.seq))]


@pytest.mark.promise("I-23")
def test_a_linked_actor_that_outlives_its_turn_is_found() -> None:
    entries = RUNS["unlink"]

    found = [*linked_end_first([entry for entry in entries if entry.kind != "turn.unlinked"])]

    assert len(found) == 1
    host = next(entry.event.actor for entry in entries if entry.kind == "turn.linked")
    assert found[0][0] == next(e.seq for e in entries if e.kind == "turn.end" and e.event.actor == host)


def test_a_ring_survives_the_journal() -> None:
    import orjson

    codec = Codec([AskRefused])
    refused = next(entry for entry in record("hold") if entry[2] is AskRefused)

    entry = codec.decode(orjson.loads(codec.encode(refused, 0.0)))

    assert entry.event == next(one.event for one in RUNS["hold"] if one.kind == "ask.refused")
