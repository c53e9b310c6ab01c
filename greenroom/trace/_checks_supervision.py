"""Checks of supervisors: restarts and their order, ends, and leftovers after a shutdown.

Where `supervisor.opened` records a supervisor's spec, the spec is checked; otherwise only what no supervisor may do is
a violation.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from greenroom.trace._checks_ends import ROUNDING_S
from greenroom.trace._checks_machines import Machine, machine_of, say
from greenroom.trace._entries import Entry
from greenroom.trace._world import ENDS

Finding: TypeAlias = tuple[int, str]


@attrs.define
class _Child:
    """An actor, from its supervisor's view."""

    supervisor: str
    is_temporary: bool
    is_alive: bool = True
    """True until its incarnation has ended."""


class _Families:
    """Children of each supervisor, while the entries are walked."""

    def __init__(self) -> None:
        self.child: dict[str, _Child] = {}
        self.below: defaultdict[str, list[str]] = defaultdict(list)
        """Children that have not terminated, in start order."""
        self.depends_on: dict[str, tuple[str, ...]] = {}

    def walk(self, entry: Entry) -> None:
        """Process the next entry."""
        actor = entry.event.actor
        match entry.kind:
            case "actor.new" if actor in self.child:
                self.child[actor].is_alive = True
            case "actor.new":
                restart = entry.get("restart", default="")
                self.child[actor] = _Child(entry["supervisor"], restart == "temporary")
                self.below[entry["supervisor"]].append(actor)
            case "dependency.declared":
                self.depends_on[entry["child"]] = tuple(entry["on"])
            case "actor.end" if actor in self.child:
                self.child[actor].is_alive = False
            case "actor.gone" if actor in self.child:
                above = self.below[self.child.pop(actor).supervisor]
                if actor in above:
                    above.remove(actor)

    def younger(self, actor: str) -> list[str]:
        """Return the siblings that were started after an actor."""
        siblings = self.below[self.child[actor].supervisor]
        return siblings[siblings.index(actor) + 1 :]


@attrs.define
class _Plan:
    """A decision to restart children that is being carried out."""

    decision: Entry
    rest: list[str]
    """Children still to be started, in order."""
    stopped: list[str] = attrs.field(factory=list)


class _Restarts:
    """The decisions of all supervisors and their progress (I-38)."""

    def __init__(self) -> None:
        self.families = _Families()
        self.plans: defaultdict[str, deque[_Plan]] = defaultdict(deque)
        self.strategy: dict[str, str] = {}
        self.asked: set[str] = set()
        """Actors whose end was requested, by anybody."""
        self.given_up: set[str] = set()
        """Actors that do not end."""

    def find(self, entry: Entry) -> Iterator[Finding]:
        """Process the next entry."""
        actor = entry.event.actor
        known = self.families.child.get(actor)
        match entry.kind:
            case "supervisor.opened":
                self.strategy[actor] = entry["strategy"]
            case "child.restarted":
                yield from self._decided(entry)
            case "actor.new" if entry.event.inc > 1 and known is not None:
                self.asked.discard(actor)
                yield from self._started(entry, known.supervisor)
            case "actor.stop_requested":
                if known is not None and entry["cause"].who == known.supervisor not in self.asked:
                    yield from self._stopped(entry, known)
                self.asked.add(actor)
            case "actor.kill_requested" | "supervisor.escalated":  # then it ends its children, and itself
                self.asked.add(actor)
            case "actor.unresponsive":
                self.given_up.add(actor)
            case "actor.gone" if known is not None:
                for plan in self.plans[known.supervisor]:
                    plan.rest = [child for child in plan.rest if child != actor]
        self.families.walk(entry)

    def _decided(self, entry: Entry) -> Iterator[Finding]:
        supervisor, child = entry.event.actor, entry["child"]
        together = list(entry["together"])
        if child in self.families.child:
            sets = self._sets(child)
            wanted = self.strategy.get(supervisor)
            if together not in (sets.values() if wanted is None else [sets[wanted]]):
                whose = f"after the end of {child}" + (f", with {wanted}" if wanted else "")
                yield entry.seq, f"{supervisor} restarts {', '.join(together) or 'no child'} {whose}"
        self.plans[supervisor].append(_Plan(entry, together))

    def _sets(self, child: str) -> Mapping[str, list[str]]:
        """Return the children that each strategy restarts when a child has ended."""
        siblings = self.families.below[self.families.child[child].supervisor]
        back = [sibling for sibling in siblings if sibling == child or not self.families.child[sibling].is_temporary]
        rest = siblings[siblings.index(child) :]
        tied = {child}
        for sibling in rest:  # a dependent sibling was started after the one it depends on
            if not tied.isdisjoint(self.families.depends_on.get(sibling, ())):
                tied.add(sibling)
        return {
            "one_for_one": [sibling for sibling in rest if sibling in back and sibling in tied],
            "one_for_all": back,
            "rest_for_one": [sibling for sibling in rest if sibling in back],
        }

    def _started(self, entry: Entry, supervisor: str) -> Iterator[Finding]:
        actor, plans = entry.event.actor, self.plans[supervisor]
        plan = _under_way(plans, actor)
        if plan is None:
            of = f" of {supervisor} at {plans[-1].decision.seq}" if plans else ""
            yield entry.seq, f"{actor} is started out of order of the decision{of}"
            return
        # The children before it are not started any more, and another plan about its end is obsolete.
        plan.rest = plan.rest[plan.rest.index(actor) + 1 :]
        left = [waiting for waiting in plans if waiting is plan or waiting.decision["child"] != actor]
        self.plans[supervisor] = deque(waiting for waiting in left if waiting.rest)

    def _stopped(self, entry: Entry, child: _Child) -> Iterator[Finding]:
        """Check a stop by a supervisor whose own end was not requested."""
        actor = entry.event.actor
        plans = self.plans[child.supervisor]
        plan = _under_way(plans, actor) or (plans[0] if plans and child.is_temporary else None)
        if plan is None:
            yield entry.seq, f"{child.supervisor} stops {actor} without a decision about it"
            return
        younger = self.families.younger(actor)
        for stopped in plan.stopped:
            other = self.families.child.get(stopped)
            if stopped not in younger and other is not None:
                yield entry.seq, f"{actor} is stopped after {stopped}, which was started before it"
            elif other is not None and other.is_alive and stopped not in self.given_up:
                yield entry.seq, f"{actor} is stopped before {stopped}, which was started after it, has ended"
        plan.stopped.append(actor)


def _under_way(plans: Sequence[_Plan], actor: str) -> _Plan | None:
    """Return the plan being carried out for an actor: the requested one first, the others in order."""
    waiting = [plan for plan in plans if actor in plan.rest]
    asked = [plan for plan in waiting if plan.decision.get("is_requested")]
    return asked[-1] if asked else next(iter(waiting), None)


def restarted_together(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-38: a strategy stops exactly its set, the latest first, one after the other, and starts it in order."""
    restarts = _Restarts()
    for entry in entries:
        yield from restarts.find(entry)


def stopped_in_order(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-39: a supervisor that ends in reverse order stops a child only when those started after it have ended."""
    families = _Families()
    in_order: set[str] = set()
    ending: set[str] = set()
    given_up: set[str] = set()
    for entry in entries:
        actor = entry.event.actor
        known = families.child.get(actor)
        match entry.kind:
            case "supervisor.opened":
                (in_order.add if entry["stop_order"] == "reverse" else in_order.discard)(actor)
            case "actor.unresponsive":
                given_up.add(actor)
            case "supervisor.escalated":
                ending.add(actor)
            case "actor.stop_requested" | "actor.kill_requested":
                ending.add(actor)
                if known is None or entry.kind == "actor.kill_requested" or entry["cause"].who != known.supervisor:
                    continue
                if known.supervisor not in in_order & ending:
                    continue
                for younger in families.younger(actor):
                    if families.child[younger].is_alive and younger not in given_up:
                        yield entry.seq, f"{actor} is stopped while {younger}, which was started after it, runs"
        families.walk(entry)


def own_stops_restart_nobody(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-40: an end that a supervisor requested itself makes it neither restart that child nor give up."""
    above: dict[str, str] = {}
    asked: dict[Machine, Entry] = {}
    current: dict[str, Machine] = {}
    for entry in entries:
        match entry.kind:
            case "actor.new":
                above[entry.event.actor], current[entry.event.actor] = entry["supervisor"], machine_of(entry)
            case "actor.stop_requested" | "actor.kill_requested":
                if entry["cause"].who and entry["cause"].who == above.get(entry.event.actor):
                    asked.setdefault(machine_of(entry), entry)
            case "child.restarted" | "supervisor.escalated":
                request = asked.get(current.get(entry["child"], ("", 0)))
                if request is not None:
                    whom = f"{entry['child']}, whose end it had requested at {request.seq}"
                    yield entry.seq, f"{entry.kind} of {entry.event.actor} about {whom}"


def supervisors_end_last(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-44: a supervisor's children end before it and terminate before it, whatever ended it."""
    families = _Families()
    for entry in entries:
        actor = entry.event.actor
        if entry.kind in {"actor.end", "actor.gone"}:
            for child in families.below.get(actor, ()):
                if entry.kind == "actor.gone" or families.child[child].is_alive:
                    yield entry.seq, f"{entry.kind} of {actor} while its child {child} still exists"
        families.walk(entry)


def restart_window(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-37: any window of `period_s` has at most `intensity` decisions to restart, if the journal records both."""
    told: dict[str, Entry] = {}
    times: defaultdict[Machine, deque[Entry]] = defaultdict(deque)
    for entry in entries:
        if entry.kind == "supervisor.opened":
            told[entry.event.actor] = entry
        elif entry.kind == "child.restarted" and entry.event.actor in told and not entry.get("is_requested"):
            spec, recent = told[entry.event.actor], times[machine_of(entry)]
            while recent and recent[0].t <= entry.t - spec["period_s"] + ROUNDING_S:
                recent.popleft()
            recent.append(entry)
            if len(recent) > spec["intensity"]:
                since = f"{len(recent)} times since {recent[0].seq}"
                yield (
                    entry.seq,
                    f"{say(machine_of(entry))} restarts {since}, but the limit is {spec['intensity']} times",
                )


def back_off_waited(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-51: an incarnation begins, by the run's clock, not before its decided back-off has passed."""
    decided: defaultdict[str, list[Entry]] = defaultdict(list)
    created: dict[Machine, tuple[Entry, float]] = {}
    for entry in entries:
        machine = machine_of(entry)
        match entry.kind:
            case "child.restarted" if entry["together"]:
                decided[entry["together"][0]].append(entry)  # the others wait for the previous one
            case "actor.new" if entry.event.inc > 1:
                delays = [decision["delay_s"] for decision in decided.pop(machine[0], [])]
                created[machine] = entry, min(delays, default=0.0)
            case "actor.begin" if machine in created:
                new, delay_s = created.pop(machine)
                if entry.t < new.t + delay_s - ROUNDING_S:
                    waited_s = entry.t - new.t
                    yield (
                        entry.seq,
                        f"{say(machine)} begins after {waited_s:g} s, but its back-off is {delay_s:g} s from {new.seq}",
                    )


def nothing_left(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-49: once the root has terminated, or the session has ended, no actor, name or mail is left."""
    left = _Left()
    for entry in entries:
        yield from left.find(entry)


_HOLDS: Final = {"actor.new": "actor", "name.registered": "name", "message.put": "mail"}
_LETS_GO: Final = {"actor.gone": "actor", "name.released": "name", "message.acked": "mail", "message.died": "mail"}
_KEYS: Final = {"actor": "actor", "name": "name", "mail": "msg"}
"""The field that identifies each."""


class _Left:
    """The actors that exist while the entries are walked, and the event after which none may (I-49)."""

    def __init__(self) -> None:
        self.over: Entry | None = None
        self.roots: set[str] = set()
        self.held: dict[tuple[object, ...], Entry] = {}

    def find(self, entry: Entry) -> Iterator[Finding]:
        """Process the next entry."""
        actor = entry.event.actor
        if entry.kind == "actor.new" and not entry["supervisor"]:  # perhaps another runtime with the same recorder
            self.roots.add(actor)
            if self.over is not None and self.over.kind not in ENDS:
                self.over = None
        if self.over is not None and actor and not self._may_follow(entry):
            yield entry.seq, f"{entry.kind} of {actor} after everything had ended, at {self.over.seq}"
        what = _HOLDS.get(entry.kind) or _LETS_GO.get(entry.kind)
        if what is not None:
            key = what, actor if what != "name" else "", entry.get(_KEYS[what])
            if entry.kind in _HOLDS:
                self.held[key] = entry
            else:
                self.held.pop(key, None)
        was_running = bool(self.roots)
        if entry.kind == "actor.gone":
            self.roots.discard(actor)
        if entry.kind in ENDS or (was_running and not self.roots):
            self.over = entry
            for begin in self.held.values():
                yield (
                    entry.seq,
                    f"everything has ended, except what {begin.kind} of {begin.event.actor} began at {begin.seq}",
                )
            self.held = {}

    def _may_follow(self, entry: Entry) -> bool:
        """Return True if an event may follow the end of all actors: commands end with the session, after its actors."""
        is_session_over = self.over is not None and self.over.kind in ENDS
        is_of_command = entry.kind in {"task.end", "task.undelivered"}
        return entry.kind == "watch.failed" or (is_of_command and not is_session_over)
