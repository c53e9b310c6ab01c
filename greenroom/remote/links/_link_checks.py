"""The invariants of links: those that the journal of one node can show, and those that need the journals of both; and causes across links.

    for violation in check_nodes({"shop#1": entries, "desk#1": others}):
        print(violation)

The journals need the frames of their links: nodes are opened with `records_frames`. Rule: a check knows kinds and fields, and shares
no state with the code of links, so that each reveals the other's mistakes. Must not know: runtimes, connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.remote.links._handover_checks import handover_findings
from greenroom.trace import Check, Entry, Violation, check_journal

Finding: TypeAlias = tuple[int, str]
"""Number of the violating event, and the violation in words."""
_DATA: Final = "data"
_CALL_FRAMES: Final = ("ask", "find", "abort", "watch")
_ORDERS: Final = ("stop", "kill")


@final
@attrs.define
class _LinkEnd:
    """One end of a link, as the journal of its process tells it."""

    node: str
    """Name of the other node."""
    link: str
    sent: dict[tuple[str, int], Entry] = attrs.field(factory=dict)
    """Frames by channel and number."""
    taken: dict[tuple[str, int], Entry] = attrs.field(factory=dict)
    dead: dict[int, Entry] = attrs.field(factory=dict)
    """Messages of this end that died, by number."""
    settled: dict[tuple[str, int], list[Entry]] = attrs.field(factory=dict)
    state: str = "offline"
    was_up: int = 0
    """Number of the event with which it came up first; 0 if it never did."""
    lost: int = 0
    """Number of the event with which it was lost; 0 if it is not."""

    def add(self, entry: Entry) -> None:
        """Add an event of this link."""
        match entry.kind:
            case "link.sent":
                self.sent[entry["channel"], entry["number"]] = entry
            case "link.taken":
                self.taken.setdefault((entry["channel"], entry["number"]), entry)
            case "link.settled":
                self.settled.setdefault((entry["call"], entry["number"]), []).append(entry)
            case "link.dead" if entry["number"]:
                self.dead[entry["number"]] = entry
            case "link.state":
                self.state = entry["state"]
                self.was_up = self.was_up or (entry.seq if self.state == "up" else 0)
                self.lost = self.lost or (entry.seq if self.state == "lost" else 0)


def _ends_of(entries: Sequence[Entry]) -> dict[str, _LinkEnd]:
    ends: dict[str, _LinkEnd] = {}
    for entry in entries:
        if entry.kind.startswith("link.") and entry.get("link"):
            end = ends.get(entry["link"])
            if end is None:
                end = ends[entry["link"]] = _LinkEnd(entry["node"], entry["link"])
            end.add(entry)
    return ends


# --- one journal ------------------------------------------------------------------------------------------------------


def numbers_in_order(entries: Sequence[Entry]) -> Iterator[Finding]:
    """N-1: the frames of a channel are sent, and taken, as 1, 2, 3 ..., and none once the link is lost."""
    last: Counter[tuple[str, str, str]] = Counter()
    lost: set[str] = set()
    for entry in entries:
        if entry.kind == "link.state" and entry["state"] == "lost":
            lost.add(entry["link"])
        if entry.kind in {"link.sent", "link.taken"}:
            if entry["link"] in lost:
                yield (
                    entry.seq,
                    f"a frame ({entry['frame']}) of {entry['node']} is {entry.kind[5:]} after the link was lost",
                )
            key = (entry.kind, entry["link"], entry["channel"])
            last[key] += 1
            if entry["number"] != last[key]:
                what = f"frame {entry['number']} ({entry['frame']}) of channel {entry['channel']}"
                yield entry.seq, f"{what} with {entry['node']} is {entry.kind[5:]} where {last[key]} is due"
                last[key] = entry["number"]


def places_kept(entries: Sequence[Entry]) -> Iterator[Finding]:
    """N-2: no message is sent without a place for it, no place is given back twice, and a message is settled once."""
    places: Counter[tuple[str, int]] = Counter()
    owed: Counter[tuple[str, int]] = Counter()
    settled: set[tuple[str, int]] = set()
    for entry in entries:
        match entry.kind:
            case "link.taken" if entry["frame"] in {"found", "credit"}:
                places[entry["link"], entry["to"]] += entry["places"]
            case "link.sent" if entry["frame"] == "tell":
                key = entry["link"], entry["to"]
                places[key] -= 1
                if places[key] < 0:
                    yield (
                        entry.seq,
                        f"message {entry['number']} to {entry['node']} is sent, and there is no place for it",
                    )
            case "link.taken" if entry["frame"] == "tell":
                owed[entry["link"], entry["to"]] += 1
            case "link.sent" if entry["frame"] == "credit":
                key = entry["link"], entry["to"]
                owed[key] -= entry["places"]
                if owed[key] < 0:
                    yield entry.seq, f"{entry['places']} places are given back to {entry['node']}, more than were taken"
            case "link.settled" if entry["call"] == "tell":
                key = entry["link"], entry["number"]
                if key in settled:
                    yield entry.seq, f"message {entry['number']} of {entry['node']} is settled twice"
                settled.add(key)


def watches_end_once(entries: Sequence[Entry]) -> Iterator[Finding]:
    """N-3: a watch ends once, at the latest with its link."""
    yield from _end_once(entries, ("watch",))
    for end in _ends_of(entries).values():
        for entry in end.sent.values() if end.lost else ():
            if entry["frame"] == "watch" and ("watch", entry["call"]) not in end.settled:
                yield (
                    entry.seq,
                    f"watch {entry['call']} with {end.node} has no end, although its link was lost at {end.lost}",
                )


def calls_end_once(entries: Sequence[Entry]) -> Iterator[Finding]:
    """N-4: an ask, a search or an abort ends once, at the latest with its node."""
    kinds = ("ask", "find", "abort")
    yield from _end_once(entries, kinds)
    if not any(entry.kind == "node.closed" for entry in entries):
        return
    for end in _ends_of(entries).values():
        for entry in end.sent.values():
            if entry["frame"] in kinds and (entry["frame"], entry["call"]) not in end.settled:
                yield entry.seq, f"{entry['frame']} {entry['call']} to {end.node} has no end, and its node was closed"


def _end_once(entries: Sequence[Entry], kinds: Sequence[str]) -> Iterator[Finding]:
    ended: dict[tuple[str, str, int], int] = {}
    for entry in entries:
        if entry.kind == "link.settled" and entry["call"] in kinds:
            key = (entry["link"], entry["call"], entry["number"])
            if key in ended:
                yield entry.seq, f"{entry['call']} {entry['number']} to {entry['node']} ends again, after {ended[key]}"
            ended[key] = entry.seq


LINK_CHECKS: Final = (
    Check("N-1", "the frames of a link are taken once, in order", numbers_in_order, is_whole=True),
    Check("N-2", "a message has a place where it goes, and is settled once", places_kept, is_whole=True),
    Check("N-3", "a watch across a link ends once", watches_end_once, is_whole=True),
    Check("N-4", "a call across a link ends once", calls_end_once, is_whole=True),
)
"""The checks of the journal of one node, beside those of every journal."""


def link_checks_for(entries: Sequence[Entry]) -> tuple[Check, ...]:
    """Return the checks of links for a journal; none if it does not hold frames."""
    has_frames = any(entry.kind == "node.opened" and entry["records_frames"] for entry in entries)
    return LINK_CHECKS if has_frames else ()


# --- all journals -----------------------------------------------------------------------------------------------------


@final
@attrs.frozen(order=True)
class NodeViolation:
    """An event of a process that violates an invariant."""

    id: str
    process: str
    seq: int
    text: str

    def __str__(self) -> str:
        return f"{self.id} {self.process} {self.seq}: {self.text}"


@final
@attrs.define
class _ProcessJournal:
    """The journal of one process."""

    label: str
    entries: Sequence[Entry]
    ends: dict[str, _LinkEnd]
    name: str = ""
    """Name under which its node was opened."""
    is_closed: bool = False
    """True if it ended in order; else it was killed, or runs."""

    @classmethod
    def of(cls, label: str, entries: Sequence[Entry]) -> _ProcessJournal:
        """Read a journal."""
        journal = cls(label, entries, _ends_of(entries))
        for entry in entries:
            if entry.kind == "node.opened":
                journal.name = entry["node"]
            journal.is_closed = journal.is_closed or entry.kind == "node.closed"
        return journal


@final
@attrs.frozen
class _Sides:
    """One end of a link, and the other one; each with its process."""

    process: _ProcessJournal
    end: _LinkEnd
    others: tuple[tuple[_ProcessJournal, _LinkEnd], ...]

    @property
    def other(self) -> _LinkEnd | None:
        """The other end, if there is one."""
        return self.others[0][1] if self.others else None

    @property
    def is_open(self) -> bool:
        """True if neither side has lost the link."""
        return not self.end.lost and self.other is not None and not self.other.lost


def check_nodes(
    journals: Mapping[str, Sequence[Entry]], *, is_at_rest: bool = False, alive: Iterable[str] = ()
) -> list[NodeViolation]:
    """Return every violation of the journals of nodes that were linked to each other; empty if they are sound.

    Args:
        journals: The journal of each process, by a label such as `host#2`: the node's name, and the number of its start.
        is_at_rest: True if faults have stopped for long enough: then nothing may be under way any more.
        alive: Labels of the processes that run.
    """
    processes = [_ProcessJournal.of(label, entries) for label, entries in journals.items()]
    living = set(alive)
    found: list[NodeViolation] = []
    for process in processes:
        alone: list[Violation] = check_journal(process.entries, checks=LINK_CHECKS)
        found += [NodeViolation(each.id, process.label, each.seq, each.text) for each in alone if each.id != "I-9"]
        for end in process.ends.values():
            others = tuple(
                (each, each.ends[end.link]) for each in processes if each is not process and end.link in each.ends
            )
            sides = _Sides(process, end, others)
            checks = [_right_end(sides), _taken_as_sent(sides), _messages_end(sides, is_at_rest=is_at_rest)]
            if is_at_rest and process.label in living:
                checks += [_orders_obeyed(sides), _at_rest(sides, living)]
            found += [NodeViolation(id_, process.label, seq, text) for check in checks for id_, seq, text in check]
    handed = handover_findings(journals, is_at_rest=is_at_rest)
    return sorted({*found, *(NodeViolation(*each) for each in handed)})


_Found: TypeAlias = Iterator[tuple[str, int, str]]


def _right_end(sides: _Sides) -> _Found:
    """N-5: the other end of a link is one start of the node that it names."""
    end = sides.end
    if not end.was_up:
        return
    names = sorted(process.label for process, _ in sides.others)
    if len(names) != 1:
        yield "N-5", end.was_up, f"the link with {end.node} came up, and its other end is in {names or 'no process'}"
        return
    process, other = sides.others[0]
    if process.label.partition("#")[0] != end.node or other.node != sides.process.name:
        yield "N-5", end.was_up, f"the link with {end.node} came up, and its other end is {process.label}"


def _taken_as_sent(sides: _Sides) -> _Found:
    """N-5: what a link takes is what the one other end has sent, with the same number."""
    sent = sides.other.sent if sides.other is not None else {}
    for key, entry in sides.end.taken.items():
        original = sent.get(key)
        fields = ("frame", "call", "to", "places", "path")
        if original is None or any(entry[field] != original[field] for field in fields):
            yield "N-5", entry.seq, f"{entry['frame']} {entry['number']} of {sides.end.node} was never sent over there"


def _messages_end(sides: _Sides, *, is_at_rest: bool) -> _Found:
    """N-2: a message that was accepted arrives, or is a dead letter; over there it is put, refused, or dies with the link."""
    end, other = sides.end, sides.other
    for (channel, number), entry in end.sent.items():
        if channel != _DATA or entry["frame"] != "tell":
            continue
        has_arrived = other is not None and (channel, number) in other.taken
        dead = end.dead.get(number)
        what = f"message {number} to {end.node}"
        if dead is None and not has_arrived and end.lost:
            yield "N-2", entry.seq, f"{what} was accepted and never arrived, and is no dead letter"
        if dead is None or dead["reason"] == "link_lost":
            if dead is not None and not end.lost:
                yield "N-2", dead.seq, f"{what} died with the link, which is not lost"
            continue
        over_there = other.settled.get(("tell", number), []) if other is not None else []
        if [each["end"] for each in over_there] != ["refused"]:
            yield "N-2", dead.seq, f"{what} is a dead letter ({dead['reason']}), and was not refused over there"
    if sides.process.is_closed or (is_at_rest and end.lost):
        for (channel, number), entry in end.taken.items():
            if entry["frame"] == "tell" and channel == _DATA and ("tell", number) not in end.settled:
                yield "N-2", entry.seq, f"message {number} of {end.node} arrived, and was neither put nor refused"


def _orders_obeyed(sides: _Sides) -> _Found:
    """N-9: an order to stop that has arrived is obeyed."""
    paths = {entry["to"]: entry["path"] for entry in sides.end.sent.values() if entry["frame"] == "found"}
    for entry in sides.end.taken.values():
        if entry["frame"] in _ORDERS and entry["to"] in paths:
            path = paths[entry["to"]]
            actors = [
                each.event.actor
                for each in sides.process.entries
                if each.kind == "actor.new" and each["path"] == path and each.seq < entry.seq
            ]
            gone = {each.event.actor for each in sides.process.entries if each.kind == "actor.gone"}
            if actors and actors[-1] not in gone:
                yield "N-9", entry.seq, f"the order of {sides.end.node} to {entry['frame']} {path} was not obeyed"


def _at_rest(sides: _Sides, living: set[str]) -> _Found:
    """N-10: nothing is under way, no call is open on a lost link, and both sides agree on whether it is lost."""
    end, other = sides.end, sides.other
    if end.lost:
        for entry in end.sent.values():
            if entry["frame"] in _CALL_FRAMES and (entry["frame"], entry["call"]) not in end.settled:
                yield "N-10", entry.seq, f"{entry['frame']} {entry['call']} to {end.node} is open on a lost link"
        if other is not None and not other.lost and sides.others[0][0].label in living:
            yield "N-10", end.lost, f"the link with {end.node} is lost here, and not over there"
        return
    if end.state != "up":
        last = max((entry.seq for entry in sides.process.entries), default=0)
        yield "N-10", last, f"the link with {end.node} is {end.state} at rest"
    for key, entry in end.sent.items() if sides.is_open else ():
        if other is not None and key not in other.taken:
            id_ = "N-9" if entry["frame"] in _ORDERS else "N-10"
            yield id_, entry.seq, f"{entry['frame']} {entry['number']} to {end.node} has not arrived"


def causes_across(journals: Mapping[str, Sequence[Entry]], label: str, seq: int) -> list[tuple[str, Entry]]:
    """Return what led to an event, the latest first: the journal of each event, and the event. It ends where a journal is missing.

    Args:
        journals: The journal of each node, by any label.
        label: The journal of the event.
        seq: Its number.

    Raises:
        UsageError: There is no such event.
    """
    by_seq = {name: {entry.seq: entry for entry in entries} for name, entries in journals.items()}
    linked = {
        (name, entry["link"]) for name, entries in journals.items() for entry in entries if entry.kind == "link.state"
    }
    entry = by_seq.get(label, {}).get(seq)
    if entry is None:
        raise UsageError(f"there is no event {seq} in the journal {label!r}")
    found: list[tuple[str, Entry]] = []
    while True:
        if entry.kind == "link.caused":
            link = entry["link"]
            others = [name for name, its in sorted(linked) if its == link and name != label]
            label, seq = (others[0] if others else ""), entry["cause"]
        else:
            seq = entry.event.parent
        entry = by_seq.get(label, {}).get(seq)
        if entry is None or (label, entry) in found:  # a node may name any event of another one
            return found
        found.append((label, entry))
