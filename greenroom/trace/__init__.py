"""The journal of a run: written by one owner, read by everybody, folded into the state at any moment, checked, compared."""

from greenroom.trace._checks import CHECKS, Check, Violation, check_journal, has_ended, split_processes
from greenroom.trace._checks_mail import full_actors
from greenroom.trace._codec import VERSION, Codec, Header
from greenroom.trace._diff import Divergence, diff_runs
from greenroom.trace._entries import Entry, UnknownEvent, entries_of, entry_of
from greenroom.trace._journal import Durability, Journal, JournalStatistics, open_journal
from greenroom.trace._lock import hold_run
from greenroom.trace._reader import JOURNAL, JournalText, read_journal
from greenroom.trace._runs import find_run, runs_folder
from greenroom.trace._spans import open_spans, spans
from greenroom.trace._world import SESSION_BEGIN, Fault, Fold, Losable, World, fold

__all__ = [
    "CHECKS",
    "JOURNAL",
    "SESSION_BEGIN",
    "VERSION",
    "Check",
    "Codec",
    "Divergence",
    "Durability",
    "Entry",
    "Fault",
    "Fold",
    "Header",
    "Journal",
    "JournalStatistics",
    "JournalText",
    "Losable",
    "UnknownEvent",
    "Violation",
    "World",
    "check_journal",
    "diff_runs",
    "entries_of",
    "entry_of",
    "find_run",
    "fold",
    "full_actors",
    "has_ended",
    "hold_run",
    "open_journal",
    "open_spans",
    "read_journal",
    "runs_folder",
    "spans",
    "split_processes",
]
