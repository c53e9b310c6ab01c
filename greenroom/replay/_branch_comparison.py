"""Comparison of a branch with the run that it branches off from: what their agents did after they were cut.

The part before is the same. What is compared is what agents asked and did, agent by agent, without the numbers of turns and events,
and without tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from greenroom.agents.events import AgentDefined, AgentSpoke, ModelBegan, ModelEnded, ToolBegan, ToolEnded
from greenroom.terminal import printable
from greenroom.trace import Entry, JournalText

_WORK: Final = (ModelBegan, ModelEnded, ToolBegan, ToolEnded, AgentSpoke)
_NUMBERS: Final[dict[str, Any]] = {
    **dict.fromkeys(("inc", "parent", "turn", "round"), 0),
    **dict.fromkeys(("call", "after"), ""),
    **dict.fromkeys(("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"), 0),
}
"""Fields that are not compared: a changed prompt makes each request longer, and answers are compared by what was done and said."""


def branch_line(about: Any) -> str:
    """Return the origin of a branch, in words; empty for any other run."""
    run = about.get("from_run")
    if not run:
        return ""
    changes = about.get("changes")
    named = ", ".join(map(str, changes)) if isinstance(changes, list) else ""
    return printable(f"{run} at event {about.get('from_seq')}" + (f", with another {named}" if named else ""))


def after_cut(left: JournalText, right: JournalText) -> tuple[list[Entry], list[Entry]] | None:
    """Return what agents did after they were cut, in a run and its branch, in either order; None if neither is a branch of the other."""
    if right.header.about.get("from_run") == left.header.run:
        kept = _kept(left, right)
        return [*_work(left.entries, kept)], [*_work(right.entries, frozenset(range(1, len(kept) + 1)))]
    if left.header.about.get("from_run") == right.header.run:
        found = after_cut(right, left)
        return None if found is None else (found[1], found[0])
    return None


def _kept(run: JournalText, branch: JournalText) -> frozenset[int]:
    """Return the numbers of the events of a run that a branch has kept."""
    count = branch.header.about.get("kept")
    entries = branch.entries[: count if isinstance(count, int) else 0]
    numbers: list[int] = []
    for entry in run.entries:
        if len(numbers) == len(entries):
            break
        same = entries[len(numbers)]
        if (entry.t, entry.kind, entry.event.actor) == (same.t, same.kind, same.event.actor):
            numbers.append(entry.seq)
    return frozenset(numbers)


def _work(entries: Sequence[Entry], kept: frozenset[int]) -> Iterator[Entry]:
    paths = {entry.event.actor: str(entry["path"]) for entry in entries if entry.kind == "actor.new"}
    names: dict[str, str] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, AgentDefined):
            names[event.actor] = paths.get(event.actor) or event.agent
        elif isinstance(event, _WORK) and entry.seq not in kept:
            same = {name: value for name, value in _NUMBERS.items() if hasattr(event, name)}
            plain = attrs.evolve(event, actor=names.get(event.actor, event.actor), **same)
            yield attrs.evolve(entry, event=plain)
