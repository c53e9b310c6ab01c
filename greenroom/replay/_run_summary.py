"""A run in ten lines: when, how it ended, its actors, turns, requests, what was lost."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Final, final

import attrs

from greenroom.replay._branch_comparison import branch_line
from greenroom.replay._run_cost import cost_in_words, run_cost
from greenroom.replay._run_standing import Standing, StandingWriter, running, running_in_words
from greenroom.terminal import counted, printable, seconds, tally
from greenroom.trace import Entry, Fold, JournalText, end_of, fold, spans, split_processes

OTHER_TURNS: Final = "turn_of_others"
"""Turns of boards and the like in a run that has agents too: they are many and short."""
_PLURALS: Final = {"model": "requests", "tool": "calls", OTHER_TURNS: "others"}
_ENDS: Final = {
    Standing.CUT: "later: --at looks only at what came before",
    Standing.BROKEN_OFF: "never: its process ended first (--check lists what was open)",
    Standing.UNKNOWN: "not yet, or its process ended first (--check lists what is open)",
}


@final
@attrs.frozen
class RunSummary:
    """A run in figures."""

    facts: Mapping[str, Any]
    """For `--json`."""
    head: Sequence[str]
    """Which run it is, and its standing."""
    figures: Sequence[str]


def summary(
    journal: JournalText,
    folds: Iterable[Fold],
    *,
    chosen: AbstractSet[str] | None,
    standing: Standing,
    writer: StandingWriter,
) -> RunSummary:
    """Sum up a run, or some actors of it."""
    entries = journal.entries
    own = entries if chosen is None else [entry for entry in entries if entry.event.actor in chosen]
    world = fold(entries, folds)
    views = [view for actor, view in world.section("actors").items() if chosen is None or actor in chosen]
    states = Counter("lost" if view.is_lost else view.state.value for view in views)
    restarts = sum(view.incarnation - 1 for view in views)
    dead = Counter(entry["reason"] for entry in own if entry.kind == "message.died")
    usd, unpriced = run_cost(own)
    facts: dict[str, Any] = {
        "run": journal.header.run,
        "title": _title(entries),
        **({"branch_of": branch} if (branch := branch_line(journal.header.about)) else {}),
        "file": str(journal.path),
        "started": journal.header.started,
        "lasted_s": entries[-1].t if entries else 0.0,
        "events": len(entries),
        "processes": len(list(split_processes(entries))),
        "torn_bytes": journal.torn_bytes,
        "end": _end(entries),
        "standing": standing.value,
        "running": running(entries, writer) if standing is Standing.RUNNING else None,
        "faults": [{"seq": fault.seq, "why": fault.why} for fault in world.faults],
        "actors": dict(states),
        "restarts": restarts,
        "dead_letters": dict(dead),
        "spans": _spans(own, agents=world.section("agents").keys()),
        "tokens": _tokens(own),
        "usd": str(usd),
        "unpriced": unpriced,
    }
    return RunSummary(facts, list(_head(journal, facts)), list(_figures(journal, facts)))


def _title(entries: Sequence[Entry]) -> str:
    """Return what the session was called last; empty for nothing."""
    titles = [entry.get("title", "") for entry in entries if entry.kind in {"session.begin", "session.titled"}]
    return str(titles[-1]) if titles else ""


def _end(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Return how the last session, or a runtime without one, ended; None when it has not."""
    last = end_of(entries)
    if last is None:
        return None
    return {"seq": last.seq, "state": last.get("state", ""), "error": last.get("error", "")}


def _spans(entries: Sequence[Entry], *, agents: AbstractSet[str]) -> dict[str, dict[str, Any]]:
    """Return for turns, model requests, tool calls ...: outcomes and durations; an agent's turns are of another kind."""
    outcomes: dict[str, Counter[str]] = {}
    took_s: dict[str, list[float]] = {}
    for begin, end in spans(entries):
        what = begin.kind.removesuffix(".begin")
        if what in {"actor", "session"}:
            continue
        if what == "turn" and agents and begin.event.actor not in agents:
            what = OTHER_TURNS
        outcomes.setdefault(what, Counter())[str(end.get("state", "ended"))] += 1
        took_s.setdefault(what, []).append(end.t - begin.t)
    return {
        what: {
            "outcomes": dict(outcomes[what]),
            "median_s": round(statistics.median(times), 6),
            "longest_s": round(max(times), 6),
        }
        for what, times in sorted(took_s.items(), key=lambda one: one[0] == OTHER_TURNS)
    }


def _tokens(entries: Sequence[Entry]) -> dict[str, int]:
    """Add up the tokens of all model requests, by kind."""
    total: Counter[str] = Counter()
    for entry in entries:
        if entry.kind == "model.end":
            fields = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
            total.update({field: entry.get(field, 0) for field in fields})
    return {field: number for field, number in total.items() if number}


def _head(journal: JournalText, facts: dict[str, Any]) -> Iterable[str]:
    yield f"run       {journal.header.run}, {counted(facts['events'], 'event')}"
    if facts["title"]:
        yield f"title     {printable(facts['title'])}"
    if "branch_of" in facts:
        yield f"branch    of {facts['branch_of']}"
    yield f"began     {_date(journal.header.started)}, lasted {seconds(facts['lasted_s'])}"
    end = facts["end"]
    if end is None:
        yield f"ended     {_ENDS.get(Standing(facts['standing'])) or 'not yet: ' + printable(running_in_words(facts['running']))}"
    else:
        yield "ended     " + printable(f"{end['state']} {end['error']}".strip())
    if facts["processes"] > 1:
        yield f"again     opened {counted(facts['processes'] - 1, 'more time')}"
    if facts["torn_bytes"]:
        yield f"torn      {counted(facts['torn_bytes'], 'byte')} after the last whole line left out"
    if facts["faults"]:
        first = facts["faults"][0]
        yield f"unsound   {counted(len(facts['faults']), 'event')} left out, the first is {first['seq']} (--check says more)"


def _figures(journal: JournalText, facts: dict[str, Any]) -> Iterable[str]:
    header = journal.header
    yield (
        f"actors    {sum(facts['actors'].values())}: {tally(facts['actors'])}" if facts["actors"] else "actors    none"
    )
    if facts["restarts"]:
        yield f"restarts  {facts['restarts']}"
    has_others = OTHER_TURNS in facts["spans"]
    for what, each in facts["spans"].items():
        times = f"median {seconds(each['median_s'])}, longest {seconds(each['longest_s'])}"
        whose = " turns" if what == OTHER_TURNS else " of agents" if what == "turn" and has_others else ""
        number = f"{sum(each['outcomes'].values()):,}{whose}"
        yield f"{_PLURALS.get(what, what + 's'):<9} {number}: {tally(each['outcomes'])}; {times}"
    if facts["tokens"]:
        read = sum(number for field, number in facts["tokens"].items() if field != "output_tokens")
        cost = cost_in_words(facts["usd"], facts["unpriced"])
        yield f"tokens    {read:,} in, {facts['tokens'].get('output_tokens', 0):,} out{f'; {cost}' if cost else ''}"
    if facts["dead_letters"]:
        yield f"dead      {counted(sum(facts['dead_letters'].values()), 'letter')}: {tally(facts['dead_letters'])}"
    yield f"file      {journal.path}"
    yield f"by        greenroom {header.greenroom}, Python {header.python}, Trio {header.trio}"


def _date(started: str | None) -> str:
    if started is None:
        return "at an unknown time"
    try:
        began = datetime.fromisoformat(started)
    except ValueError:
        return started
    zone = " UTC" if began.utcoffset() == timedelta(0) else ""
    return f"{began:%Y-%m-%d %H:%M:%S}{zone}"
