"""The two figures of docs/explanation/outcomes.md, made from the code: `python -m tests.docs.outcomes` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import attrs
import trio

from greenroom.actors import TRANSITIONS, decide_outcome
from greenroom.core import Cause

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "outcomes.md"
ASKED: Final = Cause("host", "asked")


def _cancelled() -> BaseException:
    try:
        return trio.Cancelled._create(source="explicit")
    except TypeError:
        return trio.Cancelled._create()


@attrs.frozen
class Row:
    words: str
    error: BaseException | None
    requested: Cause | None
    was_caught: bool = False


def rows() -> list[Row]:
    broken = ValueError("broken")
    both = BaseExceptionGroup("both", [broken, _cancelled()])
    return [
        Row("returned", None, None),
        Row("returned, although its end was asked for", None, ASKED),
        Row("only `Cancelled`, of its own scope", None, ASKED, was_caught=True),
        Row("only `Cancelled`, of a scope further out", _cancelled(), None),
        Row("raised", broken, None),
        Row("raised while it was being ended", broken, ASKED),
        Row("raised, and was cancelled from further out", both, None),
        Row("`KeyboardInterrupt` or `SystemExit`", KeyboardInterrupt(), None),
    ]


def table() -> str:
    lines = ["| how the body ended | state | on record | leaves the task |", "| --- | --- | --- | --- |"]
    for row in rows():
        outcome = decide_outcome(row.error, requested=row.requested, was_caught=row.was_caught)
        noted = [f"`by={outcome.by}`"] if outcome.by else []
        noted += ["the requester's cause"] if outcome.cause is not None else []
        noted += ["the error"] if outcome.error is not None else []
        noted += [f"`{flag}`" for flag in ("late_cancel", "during_kill") if getattr(outcome, flag)]
        leaving = f"`{type(_bare(outcome.reraise)).__name__}`" if outcome.reraise is not None else ""
        lines.append(f"| {row.words} | {outcome.state.value} | {', '.join(noted)} | {leaving} |")
    return "\n".join(lines)


def _bare(error: BaseException) -> BaseException:
    return error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error


def diagram() -> str:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    for state, edges in TRANSITIONS.items():
        lines += [f"    {state.value} --> {target.value}: {edge.value}" for edge, target in edges.items()]
        lines += [] if edges else [f"    {state.value} --> [*]"]
    return "\n".join([*lines, "```"])


def insert(page: str) -> str:
    """Return the page with both figures between their marks."""
    for name, content in (("machine", diagram()), ("table", table())):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{content}{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
