"""The answer to `greenroom replay --diff`."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from greenroom.cli._page import Page, counted
from greenroom.terminal import printable
from greenroom.trace import Divergence, JournalText, diff_runs


def compared(left: JournalText, right: JournalText, *, names: tuple[str, str]) -> tuple[Page, bool]:
    """Compare two runs, called as their reader called them; returns what to say, and whether they are the same."""
    found = diff_runs(left.entries, right.entries)
    facts = {
        "left": left.header.run,
        "right": right.header.run,
        "is_same": found is None,
        "divergence": None if found is None else attrs.asdict(found),
    }
    if found is None:
        lines = [f"the same: {counted(len(left.entries), 'event')}, times and ids apart"]
    else:
        lines = list(_lines(found, names))
    return Page(facts=facts, lines=lines), found is None


def _lines(found: Divergence, names: tuple[str, str]) -> Iterator[str]:
    yield f"different: the first divergence is event {found.place} of {found.actor}"
    yield f"- {printable(names[0])}, {'event ' + str(found.left_seq) if found.left_seq else 'no such event'}"
    yield f"+ {printable(names[1])}, {'event ' + str(found.right_seq) if found.right_seq else 'no such event'}"
    yield ""
    for same in found.context:
        yield f"  {printable(same)}"
    for sign, text in (("-", found.left), ("+", found.right)):
        if text:
            yield f"{sign} {printable(text)}"
