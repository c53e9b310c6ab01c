"""The report of a swarm that ended at its budget: what was found until then, under a line that says so. No model is asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from greenroom.swarm.survey import findings_in_short
from greenroom.teams import Item, ItemStatus

PARTIAL_REPORT: Final = "partial-report.md"
"""The file in a run folder; the lead's report, of a run that is resumed, is another one."""


def write_partial_report(path: Path, folder: str, items: Sequence[Item], why: str) -> None:
    """Write the report; a disk that refuses is not an error here: the board is in the journal.

    Args:
        path: The file.
        folder: Name of the surveyed folder.
        items: All items of the board.
        why: Why the swarm ended.
    """
    done = [item for item in items if item.status is ItemStatus.COMPLETED]
    lines = [
        f"# Partial report: {folder}",
        "",
        f"**This report is not complete.** {why}.",
        "",
        f"{len(done)} of {len(items)} items were completed. Their findings follow as they were handed in, without a summary.",
    ]
    for item in done:
        lines += ["", f"## Item {item.id}: {item.subject}", "", findings_in_short(item.findings) or "(no findings)"]
    left = [item for item in items if item not in done]
    if left:
        lines += ["", "## Not done", "", *(f"- Item {item.id}: {item.subject}" for item in left)]
    with suppress(OSError):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")


def remove_partial_report(path: Path) -> None:
    """Remove the report once there is a whole one."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
