"""The answer to `greenroom replay --diff OTHER --all`: every actor of two runs, their totals, outcomes and conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.core import UsageError
from greenroom.replay._run_cost import run_cost
from greenroom.store import read_transcript
from greenroom.terminal import Page, counted, printable, seconds
from greenroom.trace import TRANSCRIPTS, Entry, JournalText, compare_actors, compare_messages
from greenroom.trace._diff import labels_of

MAX_SAME: Final = 20
"""Actors that are the same and are listed by name."""
_TEXT: Final = 100


def compared_whole(
    left: JournalText, right: JournalText, *, names: tuple[str, str], paths: tuple[Path, Path]
) -> tuple[Page, bool]:
    """Compare two runs actor by actor and message by message; return what to say, and whether they are the same.

    Args:
        left: The first run.
        right: The other one.
        names: What their reader called them.
        paths: Their journals; transcripts are beside them.
    """
    actors = compare_actors(left.entries, right.entries)
    found = dict(_talks(left, right, paths))
    talks = {label: messages for label, messages in found.items() if messages is not None}
    is_same = all(actor.standing == "same" for actor in actors) and not any(talks.values())
    totals = [_totals(run.entries) for run in (left, right)]
    facts = {
        "left": left.header.run,
        "right": right.header.run,
        "is_same": is_same,
        "actors": [attrs.asdict(actor) for actor in actors],
        "totals": dict(zip(("left", "right"), totals, strict=True)),
        "conversations": {label: [attrs.asdict(each) for each in messages] for label, messages in talks.items()},
        "not_compared": [label for label in found if label not in talks],
    }
    return Page(facts=facts, lines=[*_lines(facts, names)]), is_same


def _lines(facts: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    actors = facts["actors"]
    same = [actor["actor"] for actor in actors if actor["standing"] == "same"]
    yield f"{'the same' if facts['is_same'] else 'different'}: {len(same)} of {counted(len(actors), 'actor')} are the same, times and ids apart"
    yield f"- {printable(names[0])}"
    yield f"+ {printable(names[1])}"
    for actor in actors:
        if actor["standing"] != "same":
            yield ""
            yield from _actor_lines(actor)
    if same and len(same) <= MAX_SAME:
        yield ""
        yield from (f"same       {printable(label)}" for label in same)
    yield ""
    yield from _total_lines(facts["totals"])
    for label, found in facts["conversations"].items():
        if found:
            yield ""
            yield f"conversation of {printable(label)}"
            yield from map(_message_line, found)
    if facts["not_compared"]:
        yield ""
        for label in facts["not_compared"]:
            yield f"conversation of {printable(label)} is not compared: a transcript cannot be read"


def _actor_lines(actor: Mapping[str, Any]) -> Iterator[str]:
    label, events, found = printable(actor["actor"]), actor["events"], actor["divergence"]
    if found is None:
        sign, count = ("-", events[0]) if actor["standing"] == "only left" else ("+", events[1])
        yield f"only in {sign}  {label}, {counted(count, 'event')}"
        return
    yield f"differs    {label}, first in its event {found['place']} ({events[0]} and {events[1]} events)"
    for sign, text in (("-", found["left"]), ("+", found["right"])):
        yield f"{sign} {printable(text) or 'no such event'}"
    left, right = actor["outcomes"]
    if left != right:
        yield f"  outcome: - {left or 'none'}, + {right or 'none'}"


def _totals(entries: Sequence[Entry]) -> dict[str, Any]:
    kinds = [entry.kind for entry in entries]
    usd, _ = run_cost(entries)
    fields = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    ended = [entry for entry in entries if entry.kind == "model.end"]
    return {
        "events": len(entries),
        "turns": kinds.count("turn.begin"),
        "requests": kinds.count("model.begin"),
        "calls": kinds.count("tool.begin"),
        "tokens": sum(entry.get(field, 0) for entry in ended for field in fields),
        "usd": str(usd),
        "lasted_s": round(entries[-1].t - entries[0].t, 6) if entries else 0.0,
    }


def _total_lines(totals: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    left, right = totals["left"], totals["right"]
    counts = ("events", "turns", "requests", "calls", "tokens")
    rows: list[tuple[str, ...]] = [("", "-", "+"), *((name, f"{left[name]:,}", f"{right[name]:,}") for name in counts)]
    rows.append(("cost", *(f"${float(total['usd']):.2f}" for total in (left, right))))
    rows.append(("lasted", *(seconds(total["lasted_s"]) for total in (left, right))))
    wide = max(len(text) for _, *texts in rows for text in texts)
    for name, *texts in rows:
        yield f"{name:<10} {texts[0]:>{wide}}  {texts[1]:>{wide}}".rstrip()


def _message_line(message: Mapping[str, Any]) -> str:
    left, right, text = message["left"], message["right"], printable(" ".join(message["text"].split()))[:_TEXT]
    match message["change"]:
        case "moved":
            return f"  moved    message {left} to {right}: {text}"
        case "missing":
            return f"  missing  message {left}: {text}"
        case "added":
            return f"  added    message {right}: {text}"
    return f"  edited   message {left}{f' ({right})' if right != left else ''}: {text}"


def _talks(left: JournalText, right: JournalText, paths: tuple[Path, Path]) -> Iterator[tuple[str, list[Any] | None]]:
    """Yield the differing messages of each agent that both runs have, by its label; None if a transcript cannot be read."""
    ours, theirs = (_transcripts(run.entries) for run in (left, right))
    for label in ours:
        if label in theirs:
            mine, yours = _messages(paths[0].parent, ours[label]), _messages(paths[1].parent, theirs[label])
            yield label, None if mine is None or yours is None else compare_messages(mine, yours)


def _transcripts(entries: Sequence[Entry]) -> dict[str, str]:
    labels = labels_of(entries)
    return {
        labels[entry.event.actor]: entry["transcript"]
        for entry in entries
        if entry.kind == "agent.defined" and entry.event.actor in labels and entry["transcript"]
    }


def _messages(folder: Path, name: str) -> list[Any] | None:
    """Return the messages of a transcript; None if it cannot be read."""
    if Path(name).name != name:
        return None
    try:
        return [line["message"] for line in read_transcript(folder / TRANSCRIPTS / name) if "message" in line]
    except UsageError:
        return None
