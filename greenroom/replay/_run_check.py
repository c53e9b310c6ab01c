"""The answers to `greenroom replay --check` and `--diff`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.gateway.record import is_gateways
from greenroom.replay._branch_comparison import after_cut
from greenroom.replay._entry_words import RUN, facts_of, paths_of
from greenroom.replay._event_rows import rows
from greenroom.replay._run_standing import Standing, StandingWriter, running, running_in_words
from greenroom.session import check_run
from greenroom.terminal import Page, counted, first_of, printable
from greenroom.trace import (
    CHECKS,
    Check,
    Divergence,
    Entry,
    Fold,
    JournalText,
    Violation,
    diff_runs,
    find_slowness,
    full_actors,
    has_ended,
    open_spans,
    split_processes,
    unchecked,
)

MAX_VIOLATIONS: Final = 20
MAX_OPEN: Final = 20
MAX_SLOW: Final = 20
_WHY_OPEN: Final = {
    Standing.CUT: "looked at only up to here, because of --at",
    Standing.BROKEN_OFF: "no end on record: its process ended first",
    Standing.UNKNOWN: "no end on record: it still runs, or its process ended first",
    Standing.ENDED: "ended",
}


def checked(
    journal: JournalText,
    folds: Iterable[Fold],
    *,
    folder: Path,
    standing: Standing,
    writer: StandingWriter,
    is_verbose: bool,
) -> tuple[Page, bool]:
    """Check a run; returns what to say, and whether it is sound."""
    entries = journal.entries
    violations = violations_of(entries, folds, folder=folder, standing=standing)
    checks = _checks_for(entries)
    last_process = list(split_processes(entries))[-1]
    open_entries = [] if has_ended(entries) else open_spans(last_process)
    actors = paths_of(entries)
    facts: dict[str, Any] = {
        "run": journal.header.run,
        "events": len(entries),
        "violations": [attrs.asdict(violation) for violation in violations],
        "checked": len(checks) + 2 - len(unchecked(entries)),  # I-8 and I-9 need more than a list of entries
        "slow": [attrs.asdict(slowness) for slowness in find_slowness(entries)],
        "not_checked": unchecked(entries),
        "has_ended": has_ended(entries),
        "standing": standing.value,
        "running": running(entries, writer) if standing is Standing.RUNNING else None,
        "open": [facts_of(entry) for entry in open_entries],
        "actors": len(actors),
        "actors_not_full": len(actors.keys() - full_actors(entries)),
        "torn_bytes": journal.torn_bytes,
    }
    return Page(facts=facts, lines=list(_lines(journal, facts, is_verbose=is_verbose))), not violations


def violations_of(
    entries: Sequence[Entry], folds: Iterable[Fold], *, folder: Path, standing: Standing
) -> Sequence[Violation]:
    """Return the broken invariants of a run."""
    is_still = standing in {Standing.BROKEN_OFF, Standing.ENDED}
    place = None if standing is Standing.CUT else folder
    return check_run(place, entries, folds, is_running=not is_still, checks=_checks_for(entries))


def _checks_for(entries: Sequence[Entry]) -> Sequence[Check]:
    if is_gateways(entries):
        from greenroom.gateway.record import checks_for

        return (*CHECKS, *checks_for(entries))
    if any(entry.kind == "node.opened" for entry in entries):
        from greenroom.remote.links import link_checks_for

        return (*CHECKS, *link_checks_for(entries))
    return CHECKS


def _lines(journal: JournalText, facts: dict[str, Any], *, is_verbose: bool) -> Iterator[str]:
    paths = paths_of(journal.entries)
    violations = facts["violations"]
    if violations:
        first = violations[0]
        yield f"unsound: {counted(len(violations), 'violation')}, the first at event {first['seq']} ({first['id']})"
        yield from rows([entry for entry in journal.entries if entry.seq == first["seq"]], paths)
        shown, left = first_of(violations, MAX_VIOLATIONS)
        for line in shown:
            yield f"  {line['seq']:>6} {line['id']:<5} {line['text']}"
        if left:
            yield f"  ... {left:,} more; --json has all"
    else:
        yield f"sound: {counted(facts['events'], 'event')}, {facts['checked']} invariants"
    yield from _slow(facts["slow"])
    if is_verbose:
        yield from _not_checked(facts)
    if facts["torn_bytes"]:
        yield f"torn: {counted(facts['torn_bytes'], 'byte')} after the last whole line left out"
    if not facts["has_ended"]:
        why = _WHY_OPEN.get(Standing(facts["standing"])) or printable(running_in_words(facts["running"]))
        yield f"{why}; {counted(len(facts['open']), 'thing')} open"
        shown, left = first_of(facts["open"], MAX_OPEN)
        for entry in shown:
            name = paths.get(entry["actor"], entry["actor"]) or RUN
            what = " ".join(str(entry[field]) for field in ("turn", "round", "tool", "call") if field in entry)
            yield f"  {entry['seq']:>6} {name} {entry['ev']} {what}".rstrip()
        if left:
            yield f"  ... {left:,} more; --json has all"


def _not_checked(facts: dict[str, Any]) -> Iterator[str]:
    """Yield what the journal is not detailed enough for."""
    without: dict[str, list[str]] = {}
    for id_, needed in facts["not_checked"].items():
        without.setdefault(needed, []).append(id_)
    for needed, ids in without.items():
        yield f"not checked, as the journal has no {needed}: {', '.join(ids)}"
    if facts["actors_not_full"]:
        few = f"{facts['actors_not_full']} of {counted(facts['actors'], 'actor')}"
        yield f"mail was not checked for {few}: their journal is not at level full,"
        yield "  the one that records each message from its sending to its end"


def _slow(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    shown, left = first_of(found, MAX_SLOW)
    for line in shown:
        yield f"slow: {printable(line['text'])} (event {line['seq']})"
    if left:
        yield f"  ... {left:,} more; --json has all"


def compared(
    left: JournalText, right: JournalText, *, names: tuple[str, str], paths: tuple[Path, Path]
) -> tuple[Page, bool]:
    """Compare two runs, called as their reader called them; returns what to say, and whether they are the same."""
    from greenroom.gateway.record import comparable

    branched = after_cut(left, right)
    ours, theirs = branched or (comparable(left.entries), comparable(right.entries))
    found = diff_runs(ours, theirs)
    facts = {
        "left": left.header.run,
        "right": right.header.run,
        "is_same": found is None,
        **({"is_branch": True} if branched else {}),
        "divergence": None if found is None else attrs.asdict(found),
    }
    if found is None:
        where = " after the branch" if branched else ""
        lines = [f"the same{where}: {counted(len(ours), 'event')}, times and ids apart"]
    else:
        lines = list(_divergence_lines(found, names))
        for inner, places in _in_sessions(left, right, (paths[0].parent, paths[1].parent), found.actor):
            facts["session"] = attrs.asdict(inner)
            lines += ["", "in the journals of its session:", *_divergence_lines(inner, places)]
    return Page(facts=facts, lines=lines), found is None


def _in_sessions(
    left: JournalText, right: JournalText, folders: tuple[Path, Path], label: str
) -> Iterator[tuple[Divergence, tuple[str, str]]]:
    """Yield the first difference in the journals of a session of two gateways, and their names."""
    from greenroom.gateway.record import session_journals

    sessions = session_journals(folders, (left.entries, right.entries), label)
    inner = diff_runs(*(entries for _, entries in sessions)) if sessions else None
    if inner is not None:
        yield inner, (str(sessions[0][0]), str(sessions[1][0]))


def _divergence_lines(found: Divergence, names: tuple[str, str]) -> Iterator[str]:
    yield f"different: the first divergence is event {found.place} of {found.actor}"
    yield f"- {printable(names[0])}, {'event ' + str(found.left_seq) if found.left_seq else 'no such event'}"
    yield f"+ {printable(names[1])}, {'event ' + str(found.right_seq) if found.right_seq else 'no such event'}"
    yield ""
    for same in found.context:
        yield f"  {printable(same)}"
    for sign, text in (("-", found.left), ("+", found.right)):
        if text:
            yield f"{sign} {printable(text)}"
