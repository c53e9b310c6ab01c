"""Figures in words: numbers, durations, what a run survived, what it cost."""

from __future__ import annotations

from greenroom.terminal.screen._picture import RunTotals, SurvivedFaults


def short_number(number: int) -> str:
    """Return a number in at most six characters."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size * 10:
            return f"{number // size}{letter}"
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)


def short_duration(seconds: float) -> str:
    """Return a duration as a clock shows it."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def survived_words(survived: SurvivedFaults) -> str:
    """Return what a run survived, such as `4 refusals, 2 crashes, 1 hang`; empty for nothing."""
    counts = (
        (survived.refusals, "refusal"),
        (survived.cuts, "cut answer"),
        (survived.crashes, "crash"),
        (survived.hangs, "hang"),
        (survived.kills, "kill"),
    )
    return ", ".join(plural(count, word) for count, word in counts if count)


def plural(count: int, word: str) -> str:
    """Return a number of things."""
    if count == 1:
        return f"1 {word}"
    return f"{count} {word}{'es' if word.endswith('sh') else 's'}"


def cost_words(totals: RunTotals) -> str:
    """Return what a run has cost so far, in few words; empty where nothing is known."""
    if not totals.is_priced:
        return ""
    parts = [f"${totals.usd:.2f}"] if totals.usd is not None else []
    if totals.tokens:
        parts.append(f"{short_number(totals.tokens)} tokens")
    if totals.cached_share >= 0.01:
        parts.append(f"{totals.cached_share:.0%} cached")
    return ", ".join(parts)
