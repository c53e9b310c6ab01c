"""The tables of docs/explanation/otp.md, from the catalogue of scenarios: `python -m tests.docs.otp` writes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.otp.catalogue import CHAPTERS, SCENARIOS, scenarios_of
from tests.otp.scenario import Scenario, Verdict

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "otp.md"
HEAD: Final = "| id | OTP | documented in | verdict | ours |\n| --- | --- | --- | --- | --- |"


def summary() -> str:
    """Return how many are of each kind."""
    counts = Counter(verdict_of(scenario) for scenario in SCENARIOS)
    rows = [f"| {verdict} | {count} |" for verdict, count in counts.most_common()]
    return "\n".join(["| verdict | behaviours |", "| --- | --- |", *rows])


def chapter(module: ModuleType) -> str:
    """Return the heading and the table of one chapter."""
    title = (module.__doc__ or "").strip().rstrip(".")
    return "\n".join([f"## {title}", "", HEAD, *(row(scenario) for scenario in scenarios_of(module))])


def verdict_of(scenario: Scenario) -> str:
    """Return the verdict in words."""
    return f"{scenario.verdict.value}, but for a fault" if scenario.bug else scenario.verdict.value


def row(scenario: Scenario) -> str:
    """Return the line of one behaviour."""
    verdict = verdict_of(scenario)
    verdict = verdict if verdict == Verdict.SAME.value else f"**{verdict}**"
    ours = scenario.ours[0].upper() + scenario.ours[1:] + "."
    why = f" *{scenario.reason}*" if scenario.reason else ""
    fault = f" Known fault: {scenario.bug}." if scenario.bug else ""
    return f"| {scenario.id} | {scenario.says} | {scenario.where} | {verdict} | {ours}{why}{fault} |"


def insert(page: str) -> str:
    """Return the page with all tables between their marks."""
    tables = "\n\n".join(map(chapter, CHAPTERS))
    for name, content in (("summary", summary()), ("behaviours", tables)):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{content}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
