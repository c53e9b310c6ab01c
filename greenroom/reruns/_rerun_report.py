"""The report of a re-run, for people and for programs."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import attrs

from greenroom.core.texts import printable_text
from greenroom.effects import Difference
from greenroom.reruns._rerun import Rerun
from greenroom.terminal import counted

SHOWN: Final = 200
"""Maximum number of characters shown of a value, from a little before it differs."""
_BEFORE: Final = 40


def print_rerun(rerun: Rerun, *, is_json: bool) -> int:
    """Print a report on standard output and return the exit code: 0 for a run that is equal or was updated, 1 for a different one."""
    if is_json:
        values = attrs.asdict(rerun, filter=lambda field, _: field.name != "run")
        text = json.dumps({**values, "run": str(rerun.run), "is_equal": rerun.is_equal}, default=str)
    else:
        text = report_of(rerun)
    sys.stdout.write(f"{text}\n")
    return 0 if rerun.is_equal or rerun.is_updated else 1


def report_of(rerun: Rerun) -> str:
    """Return a report as text; every line about a value says which side it is: recorded, or now."""
    if rerun.difference is not None:
        more = [f"  and {counted(rerun.changes - 1, 'difference')} behind it"] if rerun.changes > 1 else []
        done = ["updated: the record has the requests and inputs of today"] if rerun.is_updated else []
        return "\n".join([block_of(rerun.difference), *more, *done])
    end = "; the recorded run was killed, and this one ends where its record does" if rerun.was_cut else ""
    compared = f"{counted(rerun.requests, 'request')} and {counted(rerun.results, 'result')} compared"
    return f"equal: {counted(rerun.events, 'event')}, {compared}, 0 tokens{end}"


def block_of(difference: Difference) -> str:
    """Return one difference as a block of lines."""
    recorded, now = _shown(difference.recorded, difference.now)
    lines = [
        f"different: {difference.label or difference.agent or 'the program'}, {difference.what}",
        *([f"  where     {difference.where}"] if difference.where else []),
        f"  recorded  {recorded}",
        f"  now       {now}",
        f"  cause     {difference.cause}" + (f": {difference.detail}" if difference.detail else ""),
    ]
    return printable_text("\n".join(lines))


def _shown(recorded: Any, now: Any) -> tuple[str, str]:
    """Return both values, shortened; of two texts the part in which they differ, with its place."""
    if isinstance(recorded, str) and isinstance(now, str):
        pairs = zip(recorded, now, strict=False)
        at = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(recorded), len(now)))
        begin = max(0, at - _BEFORE) if max(len(recorded), len(now)) > SHOWN else 0
        return tuple(f"{_part(text, begin)} (from character {at})" for text in (recorded, now))  # type: ignore[return-value]
    return _brief(recorded), _brief(now)


def _part(text: str, begin: int) -> str:
    return f"{'...' if begin else ''}{text[begin : begin + SHOWN]!r}{'...' if begin + SHOWN < len(text) else ''}"


def _brief(value: Any) -> str:
    text = "(nothing)" if value is None else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
