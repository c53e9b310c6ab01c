"""The first and the last lines of a swarm for people, and the values behind them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from greenroom.terminal.screen import SurvivedFaults, survived_words

StyledLine: TypeAlias = tuple[str, str]
"""A line, and its style in words that `ScreenLook.style` knows."""

MAX_FINDINGS: Final = 5
"""Findings of the report that are shown at the end."""
_NUMBERED: Final = re.compile(r"\s*\d+\.\s+(?P<text>.*[\w./-]+\.\w+:\d+.*)")
"""An entry of a numbered list with a path and a line."""
_PLACED: Final = re.compile(r"\s*[-*]\s+(?P<text>[`*]*(?P<place>[\w./-]+\.\w+:\d+)(?:(?P<code>` `.*`)|.*))")
"""An entry of a list that begins with a path and a line."""


@attrs.frozen(kw_only=True)
class SwarmOpening:
    """The facts known before anything starts."""

    model: str
    is_rule_based: bool
    folder: str
    task: str
    mates: int
    estimate: str = ""
    """The expected cost; empty for the rules, and for a run that is resumed."""
    is_recorded: bool = False
    """True if the run folder keeps what models and tools answer."""

    @property
    def text(self) -> str:
        """The first line."""
        kind = "rule-based: fixed rules, no language model" if self.is_rule_based else "through Anthropic's API"
        return f"greenroom swarm: model {self.model} ({kind})"

    @property
    def team(self) -> str:
        """The size of the team."""
        return f"{self.mates} {'teammate' if self.mates == 1 else 'teammates'} and a lead"

    @property
    def hint(self) -> str:
        """The second line: what to do for a better answer, or what this one costs."""
        if self.is_rule_based:
            return "Set ANTHROPIC_API_KEY to run the same team on Claude."
        return f"Tokens are billed to your key{f': {self.estimate}' if self.estimate else '; their total is shown at the end.'}"


@attrs.frozen(kw_only=True)
class Summary:
    """The ending of a swarm."""

    state: str
    """`done`, `incomplete`, `stopped` or `failed`."""
    report: str
    """The path of the report; empty if there is none."""
    run_folder: str
    replay: str
    """The command that replays the run."""
    items: int
    completed: int
    mates: int
    input_tokens: int
    """All that was read, from the cache too."""
    cached_tokens: int = 0
    """Those of it that came from the cache."""
    output_tokens: int
    usd: float | None = None
    """Cost in US dollars, of earlier processes too; None if a model without a price was asked."""
    requests: int = 0
    cost: str = ""
    """The cost in words: dollars, requests, tokens; see `SwarmCost.text`."""
    duration_s: float
    error: str = ""
    had_nothing: bool = False
    """The folder held nothing to survey, so there were no items."""
    findings: tuple[str, ...] = ()
    """The findings that matter most, each with its path and line."""
    survived: SurvivedFaults = attrs.field(factory=SurvivedFaults)


def top_findings(report: Path) -> tuple[str, ...]:
    """Return the first entries of a report that name a path and a line: numbered ones before others."""
    try:
        lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    numbered = [found["text"] for found in map(_NUMBERED.fullmatch, lines) if found is not None]
    return tuple(re.sub(r"[`*]", "", text) for text in (numbered or _placed(lines))[:MAX_FINDINGS])


def _placed(lines: Iterable[str]) -> list[str]:
    """Return the entries that begin with a place; of those that only quote code, the first below each heading with that heading."""
    heading, entries = "", []
    for line in lines:
        found = _PLACED.fullmatch(line)
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif found is not None and not found["code"]:
            entries.append(found["text"])
        elif found is not None and heading:
            entries.append(f"{found['place']}: {heading}")
            heading = ""
    return entries


def summary_lines(summary: Summary) -> list[str]:
    """Return the last lines for people, without styles."""
    return [text for text, _ in styled_summary(summary)]


def styled_summary(summary: Summary) -> list[StyledLine]:
    """Return the last lines for people."""
    mates = f"{summary.mates} {'mate' if summary.mates == 1 else 'mates'}"
    heads = {
        "done": ("Done", "bold green"),
        "incomplete": ("Done, but not with everything", "bold yellow"),
        "stopped": ("Stopped", "bold yellow"),
        "failed": ("Failed", "bold red"),
    }
    head, style = heads[summary.state]
    work = f"{summary.completed} of {summary.items} items by {mates}"
    if summary.had_nothing:
        work = "there was nothing to survey"
    lines = [(f"{head}: {work} in {summary.duration_s:.1f} s", style)]
    lines += [(f"  {number}. {text}", "") for number, text in enumerate(summary.findings, 1)]
    survived = survived_words(summary.survived)
    if survived:
        lost = "; nothing lost" if summary.completed == summary.items else ""
        lines.append((f"Survived: {survived}{lost}", "bold orange"))
    lines.append((f"Cost:   {summary.cost}", ""))
    if summary.error:
        lines.append((f"Why:    {summary.error}", "bold red"))
    lines.append((f"Report: {summary.report}" if summary.report else "Report: none was written", "bold"))
    return [*lines, (f"Replay: {summary.replay}", "bold")]


def folded(line: str, width: int) -> list[str]:
    """Return one of these lines in lines of at most `width` columns, folded between words; a path stays whole."""
    indent = " " * (8 if line[:8].rstrip().endswith(":") else 5)
    lines = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines or [line]
