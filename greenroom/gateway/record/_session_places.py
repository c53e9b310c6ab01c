"""The journal that a command line means: that of a run, of a gateway, or of a session of a gateway.

What only a gateway needs is imported when one is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from greenroom.core import UsageError
from greenroom.trace import JOURNAL, Entry, find_run, read_journal

SHORTEST: Final = 8
"""Characters of an id that are enough to name it."""


def find_journal(run: str, runs: Path) -> Path:
    """Return a journal file: as `find_run`, or `STATE/ID` for the session of a gateway.

    Args:
        run: As for `find_run`; or the state folder of a gateway and, behind a slash, the id of a run or of a session, or its beginning, or
            a session key.
        runs: The folder of runs.

    Raises:
        UsageError: It does not exist.
        JournalError: The gateway's journal cannot be read.
    """
    try:
        return find_run(run, runs)
    except UsageError:
        state, _, name = run.rpartition("/")
        if not name or not (Path(state) / JOURNAL).is_file():
            raise
    return find_session_journal(Path(state), name)


def find_session_journal(state: Path, name: str) -> Path:
    """Return the journal of a session of a gateway.

    Args:
        state: The state folder of the gateway.
        name: The id of a run or of a session, or its beginning, or a session key.

    Raises:
        UsageError: It does not exist.
        JournalError: The gateway's journal cannot be read.
    """
    from greenroom.gateway.record._gateway_events import EVENTS  # only if a gateway is meant

    entries = read_journal(state / JOURNAL, EVENTS).entries
    found = {place for id_, place in session_places(entries) if id_ == name}
    found = found or {place for id_, place in session_places(entries) if len(name) >= SHORTEST and id_.startswith(name)}
    places = sorted(state / place / JOURNAL for place in found)
    if len(places) == 1 and places[0].is_file():
        return places[0]
    if not places or len(places) == 1:
        raise UsageError(f"no journal: the gateway in {state} has no run, session id or session key {name!r}")
    raise UsageError(
        f"{name!r} names {len(places)} sessions of the gateway in {state}; give the id of a run or a session"
    )


def session_places(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the run folders of sessions below the state folder, by everything that names them; of a key the newest."""
    from greenroom.gateway.record._gateway_events import GatewaySnapshot
    from greenroom.gateway.record._registry import Registry

    found: list[tuple[str, str]] = []
    newest: dict[str, str] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, GatewaySnapshot):
            state = Registry.from_snapshot(event.state)
            rows = [*state.runs.values(), *state.recent.values()]
            found += [(row.id, _place(row.session, row.session_id)) for row in rows]
            newest |= {row.key: row.session_id for row in state.sessions.values()}
        elif entry.kind == "run.registered":
            found.append((entry["run"], _place(entry["session"], entry["session_id"])))
        elif entry.kind in {"session.made", "session.reset"}:
            newest[entry["session"]] = entry["session_id"]
            found.append((entry["session_id"], _place(entry["session"], entry["session_id"])))
    return [*found, *((key, _place(key, id_)) for key, id_ in newest.items())]


def _place(key: str, session_id: str) -> str:
    return f"agents/{key.split(':')[1]}/sessions/{session_id}"
