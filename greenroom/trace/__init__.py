"""The journal of a run: written by one owner; read, folded, checked and compared by everybody."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.trace._checks import (
        CHECKS,
        Check,
        Violation,
        check_inbox,
        check_journal,
        end_of,
        has_ended,
        split_processes,
        unchecked,
    )
    from greenroom.trace._checks_inbox import InboxRecord
    from greenroom.trace._checks_teams import stranded_items
    from greenroom.trace._codec import Codec, Header
    from greenroom.trace._columns import ColumnedWorld
    from greenroom.trace._diff import Divergence, diff_runs
    from greenroom.trace._diff_all import compare_actors, compare_messages
    from greenroom.trace._durability import Durability
    from greenroom.trace._entries import Entry, UnknownEvent, entries_of
    from greenroom.trace._follow import RunEnding, follow
    from greenroom.trace._growing_file import FileState, GrowingFile
    from greenroom.trace._journal import Journal
    from greenroom.trace._journal_end import read_end
    from greenroom.trace._journal_reader import JOURNAL, JournalText, parse_line, read_header, read_journal
    from greenroom.trace._journaled_runtime import open_runtime
    from greenroom.trace._moments import Moments
    from greenroom.trace._needs import full_actors
    from greenroom.trace._open_journal import open_journal
    from greenroom.trace._recent import RECENT, RecentMoment, read_recent
    from greenroom.trace._rotation import begin_anew, salvage
    from greenroom.trace._run_index import RunIndex
    from greenroom.trace._run_lock import LOCK, LockState, hold_run, is_held, read_lock
    from greenroom.trace._runs import TRANSCRIPTS, find_run, prepare_runs_folder, runs_folder
    from greenroom.trace._slowness import find_slowness
    from greenroom.trace._spans import open_spans, spans
    from greenroom.trace._timed_lines import TimedLines
    from greenroom.trace._world import Fold, World, fold
    from greenroom.trace._world_changes import changes
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.trace._checks": (
                "CHECKS",
                "Check",
                "Violation",
                "check_inbox",
                "check_journal",
                "compare_actors",
                "compare_messages",
                "end_of",
                "has_ended",
                "split_processes",
                "unchecked",
            ),
            "greenroom.trace._checks_inbox": ("InboxRecord",),
            "greenroom.trace._checks_teams": ("stranded_items",),
            "greenroom.trace._codec": ("Codec", "Header"),
            "greenroom.trace._columns": ("ColumnedWorld",),
            "greenroom.trace._diff": ("Divergence", "diff_runs"),
            "greenroom.trace._diff_all": ("compare_actors", "compare_messages"),
            "greenroom.trace._durability": ("Durability",),
            "greenroom.trace._entries": ("Entry", "UnknownEvent", "entries_of"),
            "greenroom.trace._follow": ("RunEnding", "follow"),
            "greenroom.trace._growing_file": ("FileState", "GrowingFile"),
            "greenroom.trace._journal": ("Journal",),
            "greenroom.trace._journal_end": ("read_end",),
            "greenroom.trace._journal_reader": ("JOURNAL", "JournalText", "parse_line", "read_header", "read_journal"),
            "greenroom.trace._journaled_runtime": ("open_runtime",),
            "greenroom.trace._moments": ("Moments",),
            "greenroom.trace._needs": ("full_actors",),
            "greenroom.trace._open_journal": ("open_journal",),
            "greenroom.trace._recent": ("RECENT", "RecentMoment", "read_recent"),
            "greenroom.trace._rotation": ("begin_anew", "salvage"),
            "greenroom.trace._run_index": ("RunIndex",),
            "greenroom.trace._run_lock": ("LOCK", "LockState", "hold_run", "is_held", "read_lock"),
            "greenroom.trace._runs": ("TRANSCRIPTS", "find_run", "prepare_runs_folder", "runs_folder"),
            "greenroom.trace._slowness": ("find_slowness",),
            "greenroom.trace._spans": ("open_spans", "spans"),
            "greenroom.trace._timed_lines": ("TimedLines",),
            "greenroom.trace._world": ("Fold", "World", "fold"),
            "greenroom.trace._world_changes": ("changes",),
        },
    )

__all__ = [
    "CHECKS",
    "JOURNAL",
    "LOCK",
    "RECENT",
    "TRANSCRIPTS",
    "Check",
    "Codec",
    "ColumnedWorld",
    "Divergence",
    "Durability",
    "Entry",
    "FileState",
    "Fold",
    "GrowingFile",
    "Header",
    "InboxRecord",
    "Journal",
    "JournalText",
    "LockState",
    "Moments",
    "RecentMoment",
    "RunEnding",
    "RunIndex",
    "TimedLines",
    "UnknownEvent",
    "Violation",
    "World",
    "begin_anew",
    "changes",
    "check_inbox",
    "check_journal",
    "compare_actors",
    "compare_messages",
    "diff_runs",
    "end_of",
    "entries_of",
    "find_run",
    "find_slowness",
    "fold",
    "follow",
    "full_actors",
    "has_ended",
    "hold_run",
    "is_held",
    "open_journal",
    "open_runtime",
    "open_spans",
    "parse_line",
    "prepare_runs_folder",
    "read_end",
    "read_header",
    "read_journal",
    "read_lock",
    "read_recent",
    "runs_folder",
    "salvage",
    "spans",
    "split_processes",
    "stranded_items",
    "unchecked",
]
