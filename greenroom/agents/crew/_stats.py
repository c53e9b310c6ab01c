"""Statistics of a child's work, by the kind of its calls (`toolStats`)."""

from __future__ import annotations

from typing import Final

from greenroom.agents.delegation._results import ToolStats
from greenroom.tasks import Progress

_READ: Final = frozenset(("Read", "NotebookRead"))
_SEARCH: Final = frozenset(("Grep", "Glob", "LS"))
_SHELL: Final = frozenset(("Bash", "PowerShell"))
_EDIT: Final = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))


def stats_of(progress: Progress) -> ToolStats:
    """Return the counts of a run."""
    tool_uses = progress.tool_uses

    def count(names: frozenset[str]) -> int:
        return sum(tool_uses[name] for name in names)

    known = {
        "read_count": count(_READ),
        "search_count": count(_SEARCH),
        "bash_count": count(_SHELL),
        "edit_file_count": count(_EDIT),
    }
    return ToolStats(
        **known,
        other_tool_count=tool_uses.total() - sum(known.values()),
        lines_added=progress.lines_added,
        lines_removed=progress.lines_removed,
    )
