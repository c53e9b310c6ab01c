"""Slow parts of a run: late ends after kills and aborts, and steps that blocked the event loop.

None of this breaks an invariant: how long foreign code takes to stop is up to the user. But it is what people look for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from greenroom.trace._checks import split_processes
from greenroom.trace._checks_ends import TICK_S
from greenroom.trace._checks_machines import machine_of, turn_of
from greenroom.trace._entries import Entry, UnknownEvent

ABORT_S: Final = 2.0
"""Seconds allowed for an aborted turn: the default grace of a kill."""
_ENDS: Final = {"actor.end": "actor.kill_requested", "turn.end": "turn.abort_requested"}
_VERBS: Final = {"actor.kill_requested": "the kill", "turn.abort_requested": "the abort of its turn"}


@final
@attrs.frozen
class Slowness:
    """Something that took longer than its limit."""

    seq: int
    """Number of the event that began it."""
    seconds: float
    text: str


def find_slowness(entries: Sequence[Entry]) -> list[Slowness]:
    """Return everything that took too long, in the order of the events.

    An actor has the grace of its kill, an aborted turn `ABORT_S`, including waits. An open end counts up to the last
    event of its process.
    """
    known = [entry for entry in entries if not isinstance(entry.event, UnknownEvent)]
    found = [slowness for part in split_processes(known) for slowness in _of_process(part)]
    return sorted(found, key=lambda slowness: slowness.seq)


def _of_process(entries: Sequence[Entry]) -> Iterator[Slowness]:
    path = {entry.event.actor: entry["path"] or "(root)" for entry in entries if entry.kind == "actor.new"}
    asked: dict[tuple[object, ...], tuple[Entry, list[str]]] = {}
    calls: dict[str, dict[str, str]] = {}
    for entry in entries:
        actor = entry.event.actor
        match entry.kind:
            case "tool.begin":
                calls.setdefault(actor, {})[entry["call"]] = entry["tool"]
            case "tool.end":
                calls.get(actor, {}).pop(entry["call"], None)
            case "actor.kill_requested" | "turn.abort_requested":
                asked.setdefault(_key(entry), (entry, [*calls.get(actor, {}).values()]))
            case "actor.end" | "turn.end" if (found := asked.pop(_key(entry), None)) is not None:
                yield from _late(*found, entry.t, path, has_ended=True)
            case "step.blocked":
                who = path.get(entry["who"], entry["who"]) or entry["task"]
                where = f" in {entry['where']}" if entry["where"] else ""
                text = f"the event loop was blocked for {entry['seconds']:.3g} s by a step of {who}{where}"
                yield Slowness(entry.seq, entry["seconds"], text)
    for request, open_calls in asked.values():
        yield from _late(request, open_calls, entries[-1].t, path, has_ended=False)


def _key(entry: Entry) -> tuple[object, ...]:
    kind = _ENDS.get(entry.kind, entry.kind)
    return (kind, *(turn_of(entry) if kind == "turn.abort_requested" else machine_of(entry)))


def _late(
    request: Entry, calls: Sequence[str], until_t: float, path: dict[str, str], *, has_ended: bool
) -> Iterator[Slowness]:
    grace_s = request.get("grace_s")
    grace_s = ABORT_S if grace_s is None else grace_s
    took_s = until_t - request.t
    if took_s > grace_s + TICK_S:
        who = path.get(request.event.actor, request.event.actor)
        did = f"ended {took_s:.3g} s" if has_ended else f"has not ended {took_s:.3g} s"
        blame = f"; {', '.join(calls)} did not stop" if calls else ""
        text = f"{who} {did} after {_VERBS[request.kind]}, with a grace of {grace_s:g} s{blame}"
        yield Slowness(request.seq, took_s, text)
