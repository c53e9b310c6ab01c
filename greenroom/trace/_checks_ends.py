"""Checks of requests and their effects: aborts, stops, kills, and the ends that follow.

Times are compared with the tolerance `ROUNDING_S`, because the journal holds whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from greenroom.actors import State
from greenroom.trace._checks_machines import Machine, TurnKey, machine_of, say, turn_of
from greenroom.trace._entries import Entry

ROUNDING_S: Final = 2e-6
TICK_S: Final = 1 / 64
"""Maximum delay of the kernel's timers."""
_OWN_CODE: Final = ("turn.", "model.", "tool.", "agent.", "message.leased", "message.acked")
"""Kinds that only an actor's own code causes."""


def nothing_ran_before_the_begin(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-7: an incarnation that ended while pending ran no code: no turn, no lease, no spawn."""
    done: dict[Machine, list[Entry]] = {}
    current: dict[str, Machine] = {}
    for entry in entries:
        machine = machine_of(entry)
        if entry.kind == "actor.new":
            # Every incarnation names the spawner; only the first was made by it.
            spawner = current.get(entry.get("descent", default=""))
            if entry.event.inc == 1 and spawner is not None and spawner in done:
                done[spawner].append(entry)
            done[machine], current[machine[0]] = [], machine
        elif entry.kind == "actor.begin":
            done.pop(machine, None)
        elif entry.kind == "actor.end":
            for event in done.pop(machine, ()):
                yield event.seq, f"{event.kind} by {say(machine)}, which ended at {entry.seq} before it began"
        elif machine in done and entry.kind.startswith(_OWN_CODE):
            done[machine].append(entry)


def turns_leave_nothing(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-23: when a turn has ended, so has everything that it began; an abort ends the turn, not the actor."""
    opened: dict[TurnKey, dict[tuple[object, ...], Entry]] = {}
    aborted: dict[Machine, Entry] = {}
    asked: set[Machine] = set()
    ended: set[TurnKey] = set()
    for entry in entries:
        machine = machine_of(entry)
        what, _, step = entry.kind.rpartition(".")
        if entry.kind in {"actor.stop_requested", "actor.kill_requested"}:
            asked.add(machine)
        elif entry.kind == "actor.end":
            killed = aborted.pop(machine, None)
            if killed is not None and entry["state"] == State.KILLED and machine not in asked:
                yield entry.seq, f"{say(machine)} was killed along with its turn {killed['turn']}, at {killed.seq}"
        elif entry.kind == "turn.begin":
            aborted.pop(machine, None)
            opened[turn_of(entry)] = {}
            ended.discard(turn_of(entry))
        elif entry.kind == "turn.end":
            if entry["state"] == State.KILLED:
                aborted[machine] = entry
            ended.add(turn_of(entry))
            for left in opened.pop(turn_of(entry), {}).values():
                yield (
                    entry.seq,
                    f"turn {entry['turn']} of {say(machine)} ends before the {left.kind} at {left.seq} does",
                )
        elif step in {"begin", "end"} and entry.get("turn") is not None:
            key = (what, entry.get("round"), entry.get("call"))
            held = opened.setdefault(turn_of(entry), {})
            if turn_of(entry) in ended:
                yield entry.seq, f"{entry.kind} in turn {entry['turn']} of {say(machine)}, which has ended"
            elif step == "begin":
                held[key] = entry
            else:
                held.pop(key, None)


def killed_in_time(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-26: after a kill and the end of its turn, an actor ends within its grace, counted from the end of its children.

    The handler's own unwinding is not counted: whether its waits can be cancelled is up to the user.
    """
    supervisor: dict[str, str] = {}
    grace: dict[Machine, Entry] = {}
    since: dict[Machine, float] = {}
    current: dict[str, Machine] = {}
    for entry in entries:
        machine = machine_of(entry)
        match entry.kind:
            case "actor.new":
                supervisor[machine[0]], current[machine[0]] = entry["supervisor"], machine
            case "actor.kill_requested" if entry.get("grace_s") is not None:
                grace[machine], since[machine] = entry, entry.t
            case "turn.end" if machine in since:
                since[machine] = entry.t
            case "actor.unresponsive":
                grace.pop(machine, None)
            case "actor.end":
                above = current.get(supervisor.get(machine[0], ""))
                if above is not None and above in since:
                    since[above] = entry.t
                asked = grace.pop(machine, None)
                if asked is not None and entry.t > since[machine] + asked["grace_s"] + TICK_S:
                    took = f"{entry.t - since[machine]:g} s after the kill at {asked.seq} took hold"
                    yield entry.seq, f"{say(machine)} ends {took}, but its grace is {asked['grace_s']:g} s"


def rungs_in_order(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-27: a supervisor aborts and kills a child only after the grace of its stop.

    Only the supervisor's own requests are checked: other actors may stop and then kill at once.
    """
    above: dict[str, str] = {}
    supervisors: set[str] = set()
    stops: dict[Machine, Entry] = {}
    asked: set[Machine] = set()
    for entry in entries:
        machine = machine_of(entry)
        match entry.kind:
            case "actor.new":
                above[machine[0]] = entry["supervisor"]
                supervisors.add(entry["supervisor"])
            case "actor.stop_requested":
                asked.add(machine)
                if entry["cause"].who == above.get(machine[0]):
                    stops[machine] = entry
            case "turn.abort_requested" | "actor.kill_requested":
                if entry.kind == "actor.kill_requested":
                    asked.add(machine)
                stop = stops.get(machine)
                # A supervisor's turn is a decision, which a request for its end overtakes at once.
                if stop is None or stop["cause"] != entry["cause"] or machine[0] in supervisors:
                    continue
                if entry.t < stop.t + stop["grace_s"] - ROUNDING_S:
                    after = f"{entry.t - stop.t:g} s after the stop at {stop.seq}"
                    yield entry.seq, f"{entry.kind} of {say(machine)} {after}, whose grace is {stop['grace_s']:g} s"
            case "actor.unresponsive" if machine not in asked:
                yield entry.seq, f"{say(machine)} is reported as unresponsive, but its end was never requested"


def requested_before_commit(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """I-29: a turn that was asked to end is killed, failed, or completed and says so; an agent's is never completed."""
    asked: dict[TurnKey, Entry] = {}
    agents: set[str] = set()
    for entry in entries:
        if entry.kind == "agent.defined":
            agents.add(entry.event.actor)
        elif entry.kind == "turn.abort_requested":
            asked.setdefault(turn_of(entry), entry)
        elif entry.kind == "turn.end" and turn_of(entry) in asked and entry["state"] == State.COMPLETED:
            request = asked[turn_of(entry)]
            turn = f"turn {entry['turn']} of {say(machine_of(entry))}"
            if entry.event.actor in agents:
                yield (
                    entry.seq,
                    f"{turn} completed, although it is an agent's and its abort was requested at {request.seq}",
                )
            elif not entry["late_cancel"]:
                yield entry.seq, f"{turn} completed without mentioning the abort that was requested at {request.seq}"
