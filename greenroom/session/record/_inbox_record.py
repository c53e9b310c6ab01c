"""Items of a run's inbox, as its transcript and its store have them. It looks at the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from greenroom.agents import ITEMS
from greenroom.session.record._json_lines import objects_of
from greenroom.session.record._transcript_names import MAIN_FILE, TRANSCRIPTS
from greenroom.store import INBOX, stored_ids
from greenroom.trace import CHECKS, Check, Entry, Fold, InboxRecord, Violation, check_inbox, check_journal, has_ended


def count_items(run_folder: Path, *marks: bytes) -> Mapping[str, int]:
    """Return for each id in the transcript of the main agent the number of lines that name it.

    Args:
        run_folder: The run.
        marks: Only lines that hold one of these are looked at, if there are any.
    """
    lines: dict[str, set[str]] = {}
    of_items = (b'"type":"user"', f'"{ITEMS}":'.encode())
    for values in objects_of(run_folder / TRANSCRIPTS / MAIN_FILE, *(marks or of_items)):
        uuid, items = str(values.get("uuid")), values.get(ITEMS)
        for item in {uuid, *map(str, items if isinstance(items, list) else ())}:
            lines.setdefault(item, set()).add(uuid)
    return {item: len(found) for item, found in lines.items()}


def read_inbox_record(run_folder: Path, *, is_running: bool, is_at_rest: bool) -> InboxRecord | None:
    """Return what the transcript and the store of a run hold, for `check_inbox`; None if it has none. It changes nothing.

    Args:
        run_folder: The run.
        is_running: True if a process may write it: then its store is no evidence.
        is_at_rest: True if its last session has ended.

    Raises:
        JournalError: The store cannot be read.
    """
    if not (run_folder / TRANSCRIPTS / MAIN_FILE).exists():
        return None
    stored = None if is_running else stored_ids(run_folder / INBOX)
    return InboxRecord(lines=count_items(run_folder), stored=stored, is_at_rest=is_at_rest and not is_running)


def check_run(
    run_folder: Path | None,
    entries: Sequence[Entry],
    folds: Iterable[Fold],
    *,
    is_running: bool,
    checks: Iterable[Check] = CHECKS,
) -> list[Violation]:
    """Return every violation of a run, in the order of the events: of its journal, and of its items if its folder is given.

    Raises:
        JournalError: The store cannot be read.
    """
    found = check_journal(entries, folds=folds, checks=checks)
    if run_folder is not None:
        record = read_inbox_record(run_folder, is_running=is_running, is_at_rest=has_ended(entries))
        found += [] if record is None else check_inbox(entries, record)
    return sorted(found)
