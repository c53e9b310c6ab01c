"""What a child did, counted by the kind of its calls (`toolStats`, agents 1.60)."""

from __future__ import annotations

from collections import Counter
from typing import Final

from greenroom.agents.delegation._results import ToolStats

_READ: Final = frozenset(("Read", "NotebookRead"))
_SEARCH: Final = frozenset(("Grep", "Glob", "LS"))
_SHELL: Final = frozenset(("Bash", "PowerShell"))
_EDIT: Final = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))


def stats_of(tool_uses: Counter[str]) -> ToolStats:
    """Return the counts of calls, given how often each tool was called; lines are not counted yet."""

    def count(names: frozenset[str]) -> int:
        return sum(tool_uses[name] for name in names)

    known = {
        "read_count": count(_READ),
        "search_count": count(_SEARCH),
        "bash_count": count(_SHELL),
        "edit_file_count": count(_EDIT),
    }
    return ToolStats(**known, other_tool_count=tool_uses.total() - sum(known.values()))
