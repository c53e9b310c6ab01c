"""The whole tree at one moment, folded from the events up to there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import attrs

from greenroom.actors import TERMINAL
from greenroom.gateway.record import is_gateways
from greenroom.replay._entry_words import ROOT, RUN, behavior_name, facts_of, paths_of, worded
from greenroom.terminal import Page, counted, first_of, printable, seconds
from greenroom.trace import Fold, JournalText, World, fold
from greenroom.views import ActorView, MailboxView

# Shown with the actors, or of no use beside them.
_KERNEL: Final = frozenset({"actors", "mailboxes", "names", "supervisors", "dead_letters"})
MAX_SUBJECTS: Final = 50
MAX_OF_A_VALUE: Final = 40


def moment(journal: JournalText, folds: Iterable[Fold], *, chosen: AbstractSet[str] | None) -> Page:
    """Show the state after the last entry: the tree, what each actor does, and what other folders keep."""
    world = fold(journal.entries, folds)
    last, sections = journal.entries[-1], dict(world.sections)
    if is_gateways(journal.entries):
        from greenroom.gateway.record import record_sections

        sections |= record_sections(journal.entries)
    facts = {
        "seq": last.seq,
        "t": last.t,
        "event": facts_of(last),
        "sections": {
            name: {_key(subject, {}): _facts(value) for subject, value in subjects.items() if _fits(subject, chosen)}
            for name, subjects in sections.items()
        },
        "faults": [attrs.asdict(fault) for fault in world.faults],
    }
    return Page(facts=facts, lines=list(_lines(journal, world, sections, chosen)))


def _lines(
    journal: JournalText, world: World, sections: Mapping[str, Mapping[Any, Any]], chosen: AbstractSet[str] | None
) -> Iterator[str]:
    last = journal.entries[-1]
    paths = paths_of(journal.entries)
    who = paths.get(last.event.actor, last.event.actor) or RUN
    yield f"after event {last.seq}, at {last.t:.3f} s: {who} {last.kind} {worded(last, paths)}".rstrip()
    yield ""
    began = {entry.event.actor: entry.t for entry in journal.entries if entry.kind == "turn.begin"}
    actors: Mapping[str, ActorView] = world.section("actors")
    shown = _with_those_above(actors, chosen)
    for depth, view in _walk(actors):
        if view.id in shown:
            yield "  " * depth + _describe(view, world, last.t - began.get(view.id, last.t))
    gone = [view.path or ROOT for view in actors.values() if view.is_gone and _fits(view.id, chosen)]
    if gone:
        yield f"gone: {printable(', '.join(gone))}"
    for name, subjects in sections.items():
        listed = {subject: value for subject, value in subjects.items() if _fits(subject, chosen)}
        if listed and name not in _KERNEL:
            yield ""
            yield f"{name}:"
            yield from _listed(listed, paths)


def _fits(subject: Any, chosen: AbstractSet[str] | None) -> bool:
    """Return True if a subject is, or belongs to, one of the chosen actors."""
    return chosen is None or not chosen.isdisjoint(subject if isinstance(subject, tuple) else (subject,))


def _walk(actors: Mapping[str, ActorView]) -> Iterator[tuple[int, ActorView]]:
    """Yield the actors that are not gone with their depth, children below their supervisor, in order of appearance."""
    below: dict[str, list[ActorView]] = {}
    for view in actors.values():
        if not view.is_gone:
            above = view.supervisor if view.supervisor in actors and not actors[view.supervisor].is_gone else ""
            below.setdefault(above, []).append(view)
    waiting = [(0, view) for view in reversed(below.get("", []))]
    while waiting:
        depth, view = waiting.pop()
        yield depth, view
        waiting += [(depth + 1, child) for child in reversed(below.get(view.id, []))]


def _with_those_above(actors: Mapping[str, ActorView], chosen: AbstractSet[str] | None) -> AbstractSet[str]:
    """Return the chosen actors and the supervisors that lead to them."""
    if chosen is None:
        return actors.keys()
    shown = set()
    for actor in chosen:
        above: str = actor
        while above in actors and above not in shown:
            shown.add(above)
            above = actors[above].supervisor
    return shown


def _describe(view: ActorView, world: World, turn_s: float) -> str:
    name = view.path.rpartition("/")[2] or ROOT
    words = [f"{name} [{behavior_name(view.behavior)}]", "lost" if view.is_lost else view.state.value]
    if view.incarnation > 1:
        words.append(f"incarnation {view.incarnation}")
    if view.is_busy:
        aborting = ", being aborted" if view.is_aborting else ""
        words.append(f"turn {view.turn} for {seconds(turn_s)} (message {view.turn_msg}{aborting})")
    elif view.turns.total:
        words.append(f"idle after {counted(view.turns.total, 'turn')}")
    if view.request and view.state not in TERMINAL:
        words.append(f"asked to {view.request}")
    if view.is_unresponsive:
        words.append("unresponsive")
    if view.error:
        words.append(printable(view.error, 60))
    mail = world.section("mailboxes").get(view.id)
    if view.journal == "full" and isinstance(mail, MailboxView) and (mail.depth or mail.leased):
        words.append(f"mail: {mail.depth} waiting, {len(mail.leased)} leased")
    decided = world.section("supervisors").get(view.id)
    if decided is not None:
        words.append(f"{counted(decided.restarts, 'restart')}{' and gave up' if decided.gave_up_on else ''}")
    return ", ".join(words)


def _listed(subjects: Mapping[Any, Any], paths: Mapping[str, str]) -> Iterator[str]:
    shown, left = first_of(list(subjects.items()), MAX_SUBJECTS)
    for subject, value in shown:
        yield f"  {_key(subject, paths)}: {_said(_facts(value))}"
    if left:
        yield f"  ... {left:,} more; --json has all"


def _key(subject: Any, paths: Mapping[str, str]) -> str:
    parts = subject if isinstance(subject, tuple) else (subject,)
    return " ".join(paths.get(part, str(part)) for part in parts)


def _facts(value: Any) -> Any:
    return attrs.asdict(value) if attrs.has(type(value)) else value


def _said(facts: Any) -> str:
    """Return what is not empty of a value, name by name."""
    if not isinstance(facts, dict):
        return printable(str(facts), MAX_OF_A_VALUE)
    said = ((name, _said(one)) for name, one in facts.items() if one)
    return ", ".join(f"{name} {text}" for name, text in said if text)
