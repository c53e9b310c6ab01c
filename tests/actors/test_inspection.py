"""Inspection of an actor without a message; its record, folded, says the same at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom import actors, mailbox, supervisor, views
from greenroom.actors import Context
from greenroom.core import IllegalTransition, Level, Recorder, event_of
from greenroom.supervisor import Strategy, SupervisorSpec, open_runtime
from greenroom.testing import run_virtual, virtual_ports
from tests.actors.situations import AT_ONCE, Do, Doer, Gate, PlainDoer, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from greenroom.actors import Ref
    from greenroom.core import Record

FOLDS: list[tuple[str, Any, str, Any]] = list(views.FOLDS)


@pytest.mark.promise("I-8")
@given(st.lists(st.integers(0, 7), max_size=100), st.sampled_from(Strategy))
def test_folding_the_record_yields_the_live_state_at_every_event(choices: list[int], strategy: Strategy) -> None:
    async def scenario() -> tuple[int, list[str]]:
        state: dict[tuple[str, Any], Any] = {}
        refs: dict[str, Ref[Any]] = {}
        compared = 0
        found: list[str] = []

        def fold(record: Record) -> None:
            """Must not raise: it is called in the middle of every step."""
            nonlocal compared
            event = event_of(record)
            for section, event_class, key, function in FOLDS:
                if type(event) is event_class:
                    where = (section, getattr(event, key))
                    try:
                        state[where] = function(state.get(where), event)
                    except IllegalTransition as error:
                        found.append(f"{event}: {error}")
            ref, view = refs.get(event.actor), state.get(("actors", event.actor))
            if ref is not None and view is not None and section_of(event) == "actors":
                compared += 1
                if (view.state, view.is_busy, view.is_gone) != (ref.state, ref.is_busy, ref.is_gone):
                    found.append(f"{event}: {view} is not {ref.state}, {ref.is_busy}, {ref.is_gone}")

        spec = SupervisorSpec(strategy=strategy, intensity=20, backoff=AT_ONCE)
        ports = virtual_ports()
        recorder = Recorder(ports.clock.bind())
        recorder.listen(fold)
        async with open_runtime(ports=ports, recorder=recorder, spec=spec) as opened:
            for behavior, job in ((Doer, fail), (PlainDoer, fail_plainly), (Doer, fail)):
                ref: Ref[Any] = await opened.spawn(behavior, name=f"name-{len(refs)}")
                refs[ref.id] = ref
                for message in ("x", job, "y"):
                    ref.tell(message)
            first = next(iter(refs.values()))
            first.tell(Gate())
            await trio.sleep(1)
            first.abort_turn()
            await trio.sleep(1)
            first.kill()
        return compared, found

    compared, found = run_virtual(scenario, choices=choices).result
    assert compared > 20
    assert not found, "\n".join(found)


def section_of(event: object) -> str:
    return next((section for section, event_class, _, _ in FOLDS if type(event) is event_class), "")


@pytest.mark.usefixtures("virtual_time")
async def test_a_context_says_where_and_who() -> None:
    looks: list[Any] = []

    async def look(ctx: Context) -> None:
        looks.extend([ctx.path, ctx.incarnation, ctx.turn.token, ctx.ref.statistics().leased, ctx.seq])
        assert ctx.recorder is opened.recorder
        assert ctx.directory.dead_letters is opened.dead_letters
        assert repr(ctx) == "<Context of 'name'>"
        assert repr(ctx.turn) == f"<Turn {ctx.turn.token!r}>"
        ctx.reply(ctx.ref)

    async with runtime() as opened:
        actor = await opened.spawn(Doer, name="name")

        assert await actor.ask(Do(look)) == actor

    began = [record for record in opened.recorder.latest() if record[2] is actors.TurnBegan]
    assert looks == ["name", 1, (actor.id, 1, 1), 1, began[0][0]]


@pytest.mark.usefixtures("virtual_time")
async def test_everything_has_a_useful_repr() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, name="name")
        team = await opened.spawn_supervisor("team")
        texts = {
            repr(actor): "<Ref 'name'>",
            repr(actor.pinned()): "<PinnedRef 'name' inc=1>",
            repr(actor.watch(lambda _: None)): "<Subscription to 'name': callback, open>",
            repr(actor.abort_turn()): "<AbortResult idle of 'name'>",
            repr(team): "<Supervisor 'team': 0 children>",
            repr(opened): "<Runtime 2 actors below the root>",
            repr(opened.dead_letters): "<DeadLetters {}>",
        }

    assert all(text == expected for text, expected in texts.items())


def test_levels_of_the_events_are_those_of_the_design() -> None:
    at = {event_class.kind: event_class.level for event_class in (*actors.EVENTS, *mailbox.EVENTS, *supervisor.EVENTS)}

    assert {kind for kind, level in at.items() if level is Level.FULL} == {
        "message.put",
        "message.leased",
        "message.acked",
        "message.postponed",
        "message.returned",
    }
    assert {kind for kind, level in at.items() if level is Level.TURNS} == {
        "turn.begin",
        "turn.end",
        "turn.noted",
        "turn.abort_requested",
        "turn.linked",
        "turn.unlinked",
        "actor.entered",
    }
