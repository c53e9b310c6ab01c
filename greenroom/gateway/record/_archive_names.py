"""Names of files that are kept: archived transcripts, and former journals."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from greenroom.session.record._transcript_names import DELETED

KEPT: Final = timedelta(days=7)
"""How long a former journal is kept."""
JOURNAL_FILE: Final = "journal.jsonl"
_DAMAGED: Final = "damaged."


def archive_stamp(moment: datetime) -> str:
    """Return a moment as a part of file names: `2026-11-22T07-31-05.123Z`, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S.") + f"{moment.microsecond // 1000:03}Z"


def archived_transcript(name: str, moment: datetime, taken: Collection[str] = ()) -> str:
    """Return the name of a transcript in the archive; a number is behind it where that name is taken.

    Args:
        name: Its present name, such as `main.jsonl`.
        moment: When it is archived.
        taken: Names of the files beside it.
    """
    wanted = f"{name}{DELETED}{archive_stamp(moment)}"
    return next(each for number in count(1) if (each := wanted if number == 1 else f"{wanted}-{number}") not in taken)


def transcript_of(name: str) -> str:
    """Return the name that a transcript had before it was archived; any other name as it is."""
    return name.partition(DELETED)[0]


def journal_name(moment: datetime, *, is_damaged: bool) -> str:
    """Return the name under which a journal is kept: `journal.jsonl.2026-11-22T07-31-05.123Z`, or `.damaged.` and the time."""
    return f"{JOURNAL_FILE}.{_DAMAGED if is_damaged else ''}{archive_stamp(moment)}"


def outdated_journals(names: Iterable[str], now: datetime) -> list[str]:
    """Return those of the names that are former journals, and older than a week. Damaged ones stay: a person looks at them."""
    found = []
    for name in names:
        prefix, _, stamp = name.partition(f"{JOURNAL_FILE}.")
        if prefix or not stamp or stamp.startswith(_DAMAGED):
            continue
        try:
            day, _, time = stamp.partition("Z")[0].partition("T")
            moment = datetime.fromisoformat(f"{day}T{time.replace('-', ':')}+00:00")
        except ValueError:
            continue
        if now - moment > KEPT:
            found.append(name)
    return found
