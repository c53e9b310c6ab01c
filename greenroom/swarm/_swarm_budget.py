"""The budget of a swarm: from the flag and the user's settings, the ordered stop once it is reached, and the report that is left then.

No model is asked for that report: it holds what was found until then, under a line that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import trio

from greenroom.core.sources import Places
from greenroom.session import Session, SettingSource, load_settings
from greenroom.swarm.survey import findings_in_short
from greenroom.teams import Item, ItemStatus

SOURCES: Final = (SettingSource.MANAGED, SettingSource.USER)
"""Whose settings count: never those of the folder that is surveyed."""
PARTIAL_REPORT: Final = "partial-report.md"
"""The file in a run folder; the lead's report, of a run that is resumed, is another one."""
_OTHERS: Final = ("name",)
"""Keys of `models` that the flag `--model` takes the place of."""


def model_settings(places: Places, *, max_usd: float | None, is_rule_based: bool) -> dict[str, Any]:
    """Return the settings `models` of a swarm; empty if there are none. It reads the disk.

    Args:
        places: Where settings files lie.
        max_usd: The value of `--max-budget-usd`, which replaces a lower or higher limit of the settings; None if not given.
        is_rule_based: True if the embedded rules serve: they cost nothing, so a limit in dollars does not apply, and
            nothing has to be retried.

    Raises:
        SettingsError: A settings file cannot be used.
    """
    models = values_of(places, "models")
    budget = dict(models.get("budget") or {})
    if max_usd is not None:
        budget["usd"] = max_usd
    if is_rule_based:
        budget.pop("usd", None)
        return {"models": {"budget": budget, "retries": {"attempts": 1}}} if budget else {}
    kept = {key: value for key, value in models.items() if key not in _OTHERS}
    return {"models": {**kept, "budget": budget}}


def values_of(places: Places, key: str) -> dict[str, Any]:
    """Return a section of the user's and the administrator's settings. It reads the disk.

    Raises:
        SettingsError: A settings file cannot be used.
    """
    values: dict[str, Any] = {}
    for file in load_settings(places, SOURCES).files:
        found = file.values.get(key)
        if isinstance(found, Mapping):
            values = {**found, **values}
    return values


@contextmanager
def stopping_at_budget(nursery: trio.Nursery, session: Session, stop: Callable[[str], object]) -> Iterator[None]:
    """Call `stop` with the reason once the budget of the session denies a request, while the block runs."""
    scope = trio.CancelScope()

    async def watch() -> None:
        with scope:
            stop(str(await session.budget.wait_exceeded()))

    nursery.start_soon(watch, name="greenroom budget")
    try:
        yield
    finally:
        scope.cancel("the work is done")


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
