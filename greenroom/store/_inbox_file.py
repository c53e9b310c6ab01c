"""The SQLite file of a store of boxes: its name, its errors, and the ids that are in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from greenroom.core import JournalError

INBOX: Final = "inbox.sqlite"
"""Name of the file in a run folder."""
BUSY_S: Final = 10.0
"""Seconds for which the lock of another process is waited for."""


def stored_ids(path: Path) -> frozenset[str] | None:
    """Return the ids of all items that are in a store, waiting, held or poisoned; None if there is no file. It blocks.

    Raises:
        JournalError: It cannot be read.
    """
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_S)) as on:
            return frozenset(row[0] for row in on.execute("SELECT id FROM items WHERE state < 4"))
    except sqlite3.Error as error:
        raise refusal_of(path, error) from error


def refusal_of(path: Path, error: Exception) -> JournalError:
    """Return the error that says why a file cannot be used."""
    if isinstance(error, JournalError):
        return error
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return JournalError(str(path), f"it is damaged ({error}); move it away to go on without what waits in it")
    return JournalError(str(path), f"it cannot be read or written: {error}")
