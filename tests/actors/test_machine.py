"""Any order of spawns, messages, asks, aborts, ends, crashes, watches and time: the record shows no broken promise.

The runtime stands still between two rules, so states are read directly. The oracle is the record itself, which
`invariants.Checker` follows event by event, and the fate of each message, ask and watch, which is counted here.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from greenroom.actors import AbortStatus, Behavior, Context, Down, Ref, Request, State, Unfinished
from greenroom.core import ActorEnded, AskTimedOut, Level, Recorder, TurnFailed, TurnKilled
from greenroom.mailbox import Delivery, Lane, MailboxPolicy
from greenroom.supervisor import Backoff, ChildSpec, Restart, Strategy, Supervisor, SupervisorSpec, open_runtime
from greenroom.testing import VirtualLoop, virtual_ports
from tests.actors.invariants import Checker

if TYPE_CHECKING:
    from greenroom.core import Record
    from greenroom.supervisor import Runtime

CAPACITY = 6


class Oops(Exception):
    """The error that handlers raise."""


@attrs.frozen
class Job(Request[int]):
    """What a handler does: `note`, `fail`, `wait` (for its gate), `reply`, `kill myself`, `enter`, `postpone`; some with `and`."""

    number: int
    what: str


class Doer(Behavior[Job]):
    """Does jobs, and waits at a gate of its own."""

    journal = Level.FULL
    mailbox = MailboxPolicy(capacity=CAPACITY)

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        actor.incarnations += 1

    async def on_message(self, message: Job, ctx: Context) -> None:
        actor = self.actor
        actor.begun[message.number] += 1
        assert not actor.is_inside, "two handlers of one actor at once"
        actor.is_inside = True
        try:
            if "wait" in message.what:
                await actor.gate.wait()
            act(actor, message, ctx)
        finally:
            actor.is_inside = False


class Again(Doer):
    unfinished = Unfinished.REQUEUE


class Keeper(Doer):
    unfinished = Unfinished.KEEP


class Survivor(Doer):
    on_failure = "continue"


class PlainDoer(Behavior[Job]):
    """The same without waiting."""

    journal = Level.FULL
    mailbox = MailboxPolicy(capacity=CAPACITY)

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        actor.incarnations += 1

    def on_message(self, message: Job, ctx: Context) -> None:
        self.actor.begun[message.number] += 1
        act(self.actor, message, ctx)


def act(actor: Actor, message: Job, ctx: Context) -> None:
    if message.what == "fail":
        raise Oops
    if "enter" in message.what:
        ctx.enter(message.number)
    if "postpone" in message.what and actor.begun[message.number] % 2:
        ctx.postpone()
        return
    if message.what == "kill myself":
        ctx.ref.kill("suicide")
    if "reply" in message.what:
        ctx.reply(message.number)
    actor.done[message.number] += 1


@attrs.define(eq=False)
class Actor:
    """One actor, and what is known of it from outside."""

    behavior: type[Behavior[Job]]
    name: str | None
    ref: Ref[Job] = attrs.field(init=False)
    gate: trio.Event = attrs.Factory(trio.Event)
    is_inside: bool = False
    incarnations: int = 0
    begun: Counter[int] = attrs.Factory(Counter)
    done: Counter[int] = attrs.Factory(Counter)
    accepted: list[int] = attrs.Factory(list)
    was_ended: bool = False

    @property
    def is_plain(self) -> bool:
        return self.behavior is PlainDoer


@attrs.define(eq=False)
class Ask:
    """One ask and how it settled."""

    number: int
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    ends: list[str] = attrs.Factory(list)


@attrs.define(eq=False)
class Watching:
    """One watch and what it heard."""

    actor: Actor
    watch: Any = None
    downs: list[Down] = attrs.Factory(list)
    is_cancelled: bool = False
    is_pinned: bool = False


BEHAVIORS = st.sampled_from([Doer, Again, Keeper, Survivor, PlainDoer])
TOLD = st.sampled_from(["note", "note", "fail", "wait", "kill myself", "postpone", "enter", "enter and postpone"])
ASKED = st.sampled_from(["reply", "note", "fail", "wait and reply", "postpone or reply"])


class ActorMachine(RuleBasedStateMachine):
    """Drives a runtime."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.checker = Checker()
        self.is_over = trio.Event()
        self.has_closed = False
        self.actors: list[Actor] = []
        self.asks: list[Ask] = []
        self.watchings: list[Watching] = []
        self.number = 0
        self.opened: Runtime
        self.team: Supervisor

    @initialize(strategy=st.sampled_from(Strategy), first_s=st.sampled_from([0.0, 1.0]), seed=st.integers(0, 3))
    def open(self, strategy: Strategy, first_s: float, seed: int) -> None:
        spec = SupervisorSpec(strategy=strategy, intensity=10_000, backoff=Backoff(first_s=first_s, cap_s=4))
        self.loop.start_soon(self.host, seed)
        self.loop.settle()
        self.team = self.loop.run(self.opened.spawn_supervisor, "team", spec)

    async def host(self, seed: int) -> None:
        ports = virtual_ports(seed)
        recorder = Recorder(ports.clock.bind(), capacity=100_000)
        recorder.listen(self.hear)
        async with open_runtime(ports=ports, recorder=recorder) as self.opened:
            await self.is_over.wait()
        self.has_closed = True

    def hear(self, record: Record) -> None:
        self.checker.read(record)

    def teardown(self) -> None:
        try:
            if hasattr(self, "team"):
                self.is_over.set()
                self.loop.advance(200)
                assert self.has_closed
                self.checker.finish()
                self.the_record_shows_no_broken_promise()
                self.everything_has_settled()
        finally:
            self.loop.close()

    def draw_actor(self, data: st.DataObject) -> Actor:
        return data.draw(st.sampled_from(self.actors), label="actor")

    # --- what is done ---

    @precondition(lambda self: len(self.actors) < 6)
    @rule(behavior=BEHAVIORS, restart=st.sampled_from(Restart), is_named=st.booleans(), is_settled=st.booleans())
    def spawn(self, behavior: type[Behavior[Job]], restart: Restart, is_named: bool, is_settled: bool) -> None:
        actor = Actor(behavior, f"name-{len(self.actors)}" if is_named else None)
        spec = ChildSpec(restart=restart, grace_s=2, kill_grace_s=1)
        actor.ref = Ref(self.team.start(behavior, actor, name=actor.name, spec=spec))
        self.actors.append(actor)
        if is_settled:
            self.loop.settle()

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data(), what=TOLD, lane=st.sampled_from(Lane), is_settled=st.booleans())
    def tell(self, data: st.DataObject, what: str, lane: Lane, is_settled: bool) -> None:
        actor = self.draw_actor(data)
        if actor.is_plain:
            what = what.replace("wait", "note")
        self.number += 1
        before = actor.ref.statistics()
        held = before.next + before.later + before.leased + before.postponed
        delivery = actor.ref.tell(Job(self.number, what), lane)
        if actor.ref.is_gone:
            assert delivery is Delivery.CLOSED
        elif lane is Lane.NOW or held < CAPACITY:
            assert delivery is Delivery.ACCEPTED
        if delivery is Delivery.ACCEPTED:
            actor.accepted.append(self.number)
        if is_settled:
            self.loop.settle()

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data(), what=ASKED, timeout_s=st.sampled_from([1.0, 30.0]))
    def ask(self, data: st.DataObject, what: str, timeout_s: float) -> None:
        actor = self.draw_actor(data)
        if actor.is_plain:
            what = what.removeprefix("wait and ")
        self.number += 1
        one = Ask(self.number)
        self.asks.append(one)
        self.loop.start_soon(self.run_ask, actor, one, what, timeout_s)
        self.loop.settle()

    async def run_ask(self, actor: Actor, one: Ask, what: str, timeout_s: float) -> None:
        from greenroom.core import Undelivered

        with one.scope:
            try:
                answer = await actor.ref.ask(Job(one.number, what), timeout_s=timeout_s)
            except (ActorEnded, AskTimedOut, TurnFailed, TurnKilled, Undelivered) as error:
                one.ends.append(type(error).__name__)
            else:
                assert answer == one.number
                one.ends.append("answer")
        if not one.ends:
            one.ends.append("withdrawn")

    @precondition(lambda self: any(not ask.ends for ask in self.asks))
    @rule(data=st.data())
    def withdraw_an_ask(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from([ask for ask in self.asks if not ask.ends]))
        self.loop.settle()
        if one.ends:  # it was settled in the last step, and its asker had not run yet
            return
        one.scope.cancel()
        self.loop.settle()
        assert one.ends == ["withdrawn"]

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data())
    def open_the_gate(self, data: st.DataObject) -> None:
        actor = self.draw_actor(data)
        actor.gate.set()
        self.loop.settle()
        actor.gate = trio.Event()

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data(), is_stale=st.booleans())
    def abort(self, data: st.DataObject, is_stale: bool) -> None:
        actor = self.draw_actor(data)
        was_busy = actor.ref.is_busy
        incarnations, seq = actor.incarnations, self.opened.recorder.seq
        status = actor.ref.abort_turn(("", 0, 0) if is_stale else None).status
        if is_stale:
            assert status is AbortStatus.STALE
        else:
            assert status is (AbortStatus.ABORTED if was_busy else AbortStatus.IDLE)
        if status is not AbortStatus.ABORTED:
            assert self.opened.recorder.seq == seq
        self.loop.settle()
        assert actor.incarnations == incarnations or not was_busy or status is AbortStatus.ABORTED

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data(), how=st.sampled_from(["stop", "kill"]), is_settled=st.booleans())
    def end(self, data: st.DataObject, how: str, is_settled: bool) -> None:
        actor = self.draw_actor(data)
        actor.was_ended = True
        is_pending = actor.ref.state is not State.RUNNING
        getattr(actor.ref, how)()
        if is_settled:
            self.loop.settle()
            if how == "kill" or actor.is_plain or is_pending:
                assert actor.ref.is_gone

    @precondition(lambda self: bool(self.actors))
    @rule(data=st.data(), is_pinned=st.booleans())
    def watch(self, data: st.DataObject, is_pinned: bool) -> None:
        actor = self.draw_actor(data)
        one = Watching(actor, is_pinned=is_pinned)
        self.watchings.append(one)
        address = actor.ref.pinned() if is_pinned else actor.ref

        def hear(down: Down) -> None:
            assert not one.is_cancelled
            assert is_pinned or (actor.ref.is_gone and actor.ref.statistics().is_closed)
            one.downs.append(down)

        one.watch = address.watch(hear)
        assert len(one.downs) == (actor.ref.is_gone or (is_pinned and not actor.ref.pinned().is_current))

    @precondition(lambda self: bool(self.watchings))
    @rule(data=st.data())
    def unwatch(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.watchings))
        one.watch.cancel()
        one.is_cancelled = True

    @rule(seconds=st.sampled_from([0.0, 0.4, 3.0, 40.0]))
    def advance(self, seconds: float) -> None:
        self.loop.advance(seconds)

    # --- what always holds ---

    @invariant()
    def the_record_shows_no_broken_promise(self) -> None:
        if self.checker.found:
            raise AssertionError("\n".join(self.checker.found))

    @invariant()
    def the_record_shows_what_is(self) -> None:
        """I-8: what is folded from the events is what is."""
        for actor in self.actors:
            life = self.checker.lives[actor.ref.id]
            assert (life.state, life.is_gone) == (actor.ref.state, actor.ref.is_gone)
            assert life.is_in_turn is actor.ref.is_busy
            statistics = actor.ref.statistics()
            assert statistics.leased == len(life.leased)
            assert statistics.postponed == len(life.postponed)
            assert statistics.next == len(life.lanes["next"])

    @invariant()
    def each_ask_and_watch_is_answered_at_most_once(self) -> None:
        assert all(len(ask.ends) <= 1 for ask in self.asks)
        assert all(len(watch.downs) <= 1 for watch in self.watchings)

    @invariant()
    def whoever_was_asked_to_end_stays_ended(self) -> None:
        for actor in self.actors:
            if actor.ref.is_gone:
                assert actor.ref.state in {State.COMPLETED, State.FAILED, State.KILLED}
                assert self.opened.find(actor.ref.path) is None

    def everything_has_settled(self) -> None:
        """At the end: each ask settled, each watch answered, each message in exactly one place."""
        assert all(len(ask.ends) == 1 for ask in self.asks)
        assert all(watch.is_cancelled or len(watch.downs) == 1 for watch in self.watchings)
        dead = Counter(
            (letter.actor, letter.message.number)
            for letter in self.opened.dead_letters.latest()
            if isinstance(letter.message, Job)
        )
        for actor in self.actors:
            for number in actor.accepted:
                assert actor.done[number] + dead[actor.ref.id, number] == 1
        assert self.opened.statistics().open_timers == 0


TestActors: Any = ActorMachine.TestCase
TestActors.pytestmark = [
    pytest.mark.promise(
        *(
            "I-1",
            "I-2",
            "I-3",
            "I-4",
            "I-5",
            "I-6",
            "I-8",
            "I-9",
            "I-12",
            "I-19",
            "I-21",
            "I-22",
            "I-24",
            "I-28",
            "I-31",
        ),
        *("I-32", "I-33", "I-35", "I-36", "I-42", "I-43", "I-47", "I-49"),
    ),
    pytest.mark.slow,
    pytest.mark.timeout(300),  # shrinking a failure takes longer than finding one
]
