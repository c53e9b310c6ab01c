"""The figures of docs/explanation/supervision.md, made from the code: `python -m tests.docs.supervision` writes them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

from greenroom.actors import State
from greenroom.supervisor import COMES_BACK, Backoff, Restart, Strategy, restart_scope

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "supervision.md"
CHILDREN: Final = ("a", "b", "c", "d")
FAILED: Final = "b"


def restart_table() -> str:
    ends = (State.COMPLETED, State.FAILED, State.KILLED)
    lines = [f"| restart | {' | '.join(end.value for end in ends)} |", "| --- | --- | --- | --- |"]
    for restart in Restart:
        cells = ["comes back" if end in COMES_BACK[restart] else "gone" for end in ends]
        lines.append(f"| `{restart.value}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def strategies() -> str:
    lines = ["```mermaid", "flowchart LR"]
    for strategy in Strategy:
        chosen = restart_scope(strategy, CHILDREN, FAILED)
        lines.append(f"    subgraph {strategy.value}")
        lines.append("        direction LR")
        for child in CHILDREN:
            mark = "fails" if child == FAILED else "restarted too" if child in chosen else "untouched"
            lines.append(f'        {strategy.value}_{child}["{child}: {mark}"]')
        lines += [
            f"        {strategy.value}_{one} --- {strategy.value}_{two}" for one, two in itertools.pairwise(CHILDREN)
        ]
        lines.append("    end")
    return "\n".join([*lines, "```"])


def delays() -> str:
    backoff = Backoff()
    head = ["| restarts in the window before | waits at least | at most |", "| --- | --- | --- |"]
    rows = [
        f"| {before} | {backoff.delay_s(before, 0.0):.3g} s | {backoff.delay_s(before, 1.0):.3g} s |"
        for before in (0, 1, 2, 5, 8, 12)
    ]
    return "\n".join([*head, *rows])


def insert(page: str) -> str:
    """Return the page with all figures between their marks."""
    for name, content in (("restarts", restart_table()), ("strategies", strategies()), ("delays", delays())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{content}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
