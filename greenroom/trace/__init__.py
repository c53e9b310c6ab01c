"""The journal of a run: written by one owner, read by everybody, folded into the state at any moment, checked, compared."""

from greenroom.trace._checks import (
    AT_THE_END,
    CHECKS,
    WITH_FOLDS,
    Check,
    Violation,
    check_journal,
    end_of,
    has_ended,
    split_processes,
    unchecked,
)
from greenroom.trace._codec import VERSION, Codec, Header, as_json
from greenroom.trace._compare import COMPARED, Comparison
from greenroom.trace._diff import Divergence, diff_runs
from greenroom.trace._entries import Entry, UnknownEvent, entries_of, entry_of
from greenroom.trace._export_chrome import chrome_trace
from greenroom.trace._export_otlp import otlp_traces
from greenroom.trace._journal import Durability, Journal, open_journal
from greenroom.trace._lock import LOCK, LockState, hold_run, is_held, read_lock
from greenroom.trace._needs import Need, full_actors
from greenroom.trace._reader import JOURNAL, JournalText, read_header, read_journal
from greenroom.trace._recent import RECENT, Moment, read_recent
from greenroom.trace._runs import find_run, prepare_runs_folder, runs_folder
from greenroom.trace._slowness import Slowness, find_slowness
from greenroom.trace._spans import open_spans, spans
from greenroom.trace._statistics import JournalStatistics
from greenroom.trace._world import SESSION_BEGIN, Fault, Fold, Losable, World, fold

__all__ = [
    "AT_THE_END",
    "CHECKS",
    "COMPARED",
    "JOURNAL",
    "LOCK",
    "RECENT",
    "SESSION_BEGIN",
    "VERSION",
    "WITH_FOLDS",
    "Check",
    "Codec",
    "Comparison",
    "Divergence",
    "Durability",
    "Entry",
    "Fault",
    "Fold",
    "Header",
    "Journal",
    "JournalStatistics",
    "JournalText",
    "LockState",
    "Losable",
    "Moment",
    "Need",
    "Slowness",
    "UnknownEvent",
    "Violation",
    "World",
    "as_json",
    "check_journal",
    "chrome_trace",
    "diff_runs",
    "end_of",
    "entries_of",
    "entry_of",
    "find_run",
    "find_slowness",
    "fold",
    "full_actors",
    "has_ended",
    "hold_run",
    "is_held",
    "open_journal",
    "open_spans",
    "otlp_traces",
    "prepare_runs_folder",
    "read_header",
    "read_journal",
    "read_lock",
    "read_recent",
    "runs_folder",
    "spans",
    "split_processes",
    "unchecked",
]
