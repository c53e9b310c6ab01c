"""The invariants of what nodes hand over to each other for good: posted items, and runs of an agent on another node.

Rule: a check reads kinds and fields of events only, and compares times of different journals, so all of them must be by one clock.
Must not know: runtimes, connections, hosts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from greenroom.trace import Entry

HandoverFinding: TypeAlias = tuple[str, str, int, str]
"""Id of the invariant, label of the process, number of the violating event, and the violation in words."""
REMOTE_AGENT: Final = "remote_agent"
"""Type of a task whose agent runs on another node."""
_OVER: Final = ("task.end", "task.lost", "task.dropped")


def handover_findings(
    journals: Mapping[str, Sequence[Entry]], *, is_at_rest: bool = False
) -> Iterator[HandoverFinding]:
    """Yield the violations of N-6, N-7 and N-8.

    Args:
        journals: The journal of each process, by its label: the node's name, `#`, and the number of its start.
        is_at_rest: True if every run must have ended and been reported by now.
    """
    yield from _stored_once(journals)
    yield from _reported_once(journals, is_at_rest=is_at_rest)
    yield from _alive_once(journals)


def _node(label: str) -> str:
    return label.partition("#")[0]


def _stored_once(journals: Mapping[str, Sequence[Entry]]) -> Iterator[HandoverFinding]:
    """N-6: an item is in the store of one node, is accepted once by a process, and is read once."""
    stores: dict[str, str] = {}
    readers: dict[str, str] = {}
    for label, entries in journals.items():
        accepted: set[str] = set()
        for entry in entries:
            if entry.kind == "inbox.accepted" and not entry["was_stored"]:
                item, store = entry["item"], stores.setdefault(entry["item"], _node(label))
                if store != _node(label):
                    yield "N-6", label, entry.seq, f"item {item} is accepted, and is in the store of {store} too"
                if item in accepted:
                    yield "N-6", label, entry.seq, f"item {item} is accepted twice"
                accepted.add(item)
            elif entry.kind == "inbox.taken":
                reader = readers.setdefault(entry["item"], f"{label} {entry.seq}")
                if reader != f"{label} {entry.seq}":
                    yield "N-6", label, entry.seq, f"item {entry['item']} is read, and was read by {reader}"


def _reported_once(journals: Mapping[str, Sequence[Entry]], *, is_at_rest: bool) -> Iterator[HandoverFinding]:
    """N-7: a run on another node ends once here, and its report, the item `task.run`, is read once."""
    begun: dict[tuple[str, str, int], tuple[str, int]] = {}
    ends: Counter[tuple[str, str, int]] = Counter()
    reports: Counter[tuple[str, str]] = Counter()
    for label, entries in journals.items():
        for entry in entries:
            if entry.kind == "task.new" and entry["type"] == REMOTE_AGENT:
                begun.setdefault((_node(label), entry["task"], entry["run"]), (label, entry.seq))
            elif entry.kind == "inbox.taken":
                reports[_node(label), entry["item"]] += 1
            elif entry.kind in _OVER:
                key = _node(label), entry["task"], entry["run"]
                ends[key] += 1
                if key in begun and ends[key] > 1:
                    yield "N-7", label, entry.seq, f"run {entry['run']} of task {entry['task']} ends again"
    for (node, task, run), (label, seq) in begun.items() if is_at_rest else ():
        if not ends[node, task, run]:
            yield "N-7", label, seq, f"run {run} of task {task} has no end"
        if not reports[node, f"{task}.{run}"]:
            yield "N-7", label, seq, f"run {run} of task {task} has no report"


def _alive_once(journals: Mapping[str, Sequence[Entry]]) -> Iterator[HandoverFinding]:
    """N-8: an agent that others have started runs on one node at a time; it ends with its process at the latest."""
    lives: dict[str, list[tuple[float, float, str, int]]] = defaultdict(list)
    remote = {
        entry["task"]
        for entries in journals.values()
        for entry in entries
        if entry.kind == "task.new" and entry["type"] == REMOTE_AGENT
    }
    for label, entries in journals.items():
        living: dict[str, Entry] = {}
        for entry in entries:
            if entry.kind == "task.begin" and entry["type"] != REMOTE_AGENT and entry["task"] in remote:
                if entry["task"] in living:
                    yield "N-8", label, entry.seq, f"agent {entry['task']} begins, and runs here already"
                living[entry["task"]] = entry
            elif entry.kind in _OVER and entry["task"] in living:
                begin = living.pop(entry["task"])
                lives[entry["task"]].append((begin.t, entry.t, label, begin.seq))
        for task, begin in living.items():
            lives[task].append((begin.t, entries[-1].t, label, begin.seq))
    for task, spans in lives.items():
        spans.sort()
        for before, after in pairwise(spans):
            if after[0] < before[1]:
                yield (
                    "N-8",
                    after[2],
                    after[3],
                    f"agent {task} begins at {after[0]:g} s, and runs in {before[2]} until {before[1]:g} s",
                )
