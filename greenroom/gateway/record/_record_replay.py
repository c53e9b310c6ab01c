"""A gateway's journal for `greenroom replay`: its state at a moment, its form for comparisons, and the journals of its sessions.

Rule 1: the journal of a session or a run is returned unchanged by everything here. Rule 2: nothing is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import Event, IllegalTransition, field_names
from greenroom.gateway.record._gateway_events import EVENTS, GatewaySnapshot
from greenroom.gateway.record._journal_owner import is_gateways
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import COMPLETION
from greenroom.gateway.record._session_places import session_places
from greenroom.session import SessionBegan
from greenroom.trace import JOURNAL, Entry, UnknownEvent, read_journal

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z")
_STATS: Final = re.compile(r"^(Stats|Pairing code): .*$", re.MULTILINE)
_CHANGING: Final = frozenset(
    {
        ("gateway.begin", "process"),
        ("gateway.snapshot", "state"),
        ("gateway.snapshot", "former"),
        ("delivery.began", "digest"),
        ("pairing.asked", "digest"),
        ("rpc.done", "digest"),
    }
)
"""Fields that differ from run to run although nothing is different."""


# --- its state at a moment --------------------------------------------------------------------------------------------


def record_sections(entries: Sequence[Entry]) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of a gateway after its last entry by section: sessions, runs, deliveries, inputs; none for other journals."""
    if not is_gateways(entries):
        return {}
    registry = Registry()
    for entry in entries:
        try:
            registry.fold(entry.event)
        except (IllegalTransition, ValueError):  # `--check` says so
            continue
    return {
        "sessions": registry.sessions,
        "runs": registry.runs,
        "deliveries": {row.id: row for row in registry.deliveries() if not row.is_settled},
        "inputs": registry.inbound,
    }


# --- the journals of its sessions -------------------------------------------------------------------------------------


def session_journals(
    states: tuple[Path, Path], entries: tuple[Sequence[Entry], Sequence[Entry]], label: str
) -> list[tuple[Path, Sequence[Entry]]]:
    """Return the run folders and entries of a session in two gateways; none if one has none. The working directory is left out.

    Args:
        states: The state folders.
        entries: Those of the gateways.
        label: The session, as `comparable` has called it.
    """
    found: list[tuple[Path, Sequence[Entry]]] = []
    for state, own in zip(states, entries, strict=True):
        names = _Names(own)
        keys = {names.rename(key): key for key in names.keys.values()}
        place = state / dict(session_places(own)).get(keys.get(label, ""), "nowhere")
        if (place / JOURNAL).is_file():
            found.append((place, [_without_folder(entry) for entry in read_journal(place / JOURNAL, EVENTS).entries]))
    return found if len(found) == len(states) else []


def _without_folder(entry: Entry) -> Entry:
    event = entry.event
    return attrs.evolve(entry, event=attrs.evolve(event, cwd="")) if isinstance(event, SessionBegan) else entry


# --- its form for comparisons -----------------------------------------------------------------------------------------


def comparable(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries of a gateway as `diff_runs` compares them: each event with its session, ids by their place in it.

    A sub-agent is called by the number that it has among those of its parent, a run, input or reply by its number in its session; what
    differs each time, such as the id of the process and the figures of a run, is left out.
    """
    if not is_gateways(entries):
        return entries
    names = _Names(entries)
    return [attrs.evolve(entry, event=names.shown(entry)) for entry in entries]


@final
class _Names:
    """Names for the ids in a gateway's journal that are the same in another one in which the same happened."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.keys: dict[str, str] = {}
        """Session keys by all ids that belong to one: of sessions, runs, inputs and deliveries, and the key itself; chats by posts."""
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        for entry in entries:
            self._note(entry)

    def _note(self, entry: Entry) -> None:
        kind, event = entry.kind, entry.event
        if isinstance(event, GatewaySnapshot):
            state = Registry.from_snapshot(event.state)
            for row in state.sessions.values():
                self._know(row.key, row.spawned_by, row.session_id)
            for run in state.runs.values():
                self._own(run.id, run.session, "run")
        elif kind == "session.made":
            self._know(entry["session"], entry["spawned_by"], entry["session_id"])
        elif kind == "session.reset":
            self._own(entry["session_id"], entry["session"], "session")
        elif kind == "run.registered":
            self._own(entry["run"], entry["session"], "run")
        elif kind == "inbound.accepted":
            self._own(entry["item"], entry["session"], "input")
        elif kind == "delivery.due" and entry["session"]:
            self._own(entry["delivery"], entry["session"], "reply")
        elif kind == "delivery.due" and entry["route"]:
            self._own(entry["delivery"], f"chat {entry['route'].get('channel')}/{entry['route'].get('peer')}", "post")

    def _know(self, key: str, parent: str, session_id: str) -> None:
        self.keys[key] = key
        self._call(key, f"of {parent}" if parent else "")
        self._own(session_id, key, "session")

    def _own(self, id_: str, key: str, what: str) -> None:
        if id_ not in self.keys:
            self.keys[id_] = key
            self._call(id_, f"{what} of {key}")

    def _call(self, text: str, place: str) -> None:
        for id_ in _UUID.findall(text):
            if id_ not in self._names:
                place = self.rename(place)
                self._counts[place] += 1
                self._names[id_] = f"#{self._counts[place]} {place}".rstrip()

    def rename(self, text: str) -> str:
        """Return a text with names for ids."""
        text = _UUID.sub(self._name, text)
        return _STATS.sub(r"\1: -", _STAMP.sub("TIME", text))

    def _name(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found[0], f"id {len(self._names) + 1}")

    def shown(self, entry: Entry) -> Event:
        """Return an event as it is compared: its owner is its session, its account or its job."""
        event = entry.event
        if isinstance(event, UnknownEvent):
            return event
        values = {
            name: type(getattr(event, name))() if (entry.kind, name) in _CHANGING else self._value(getattr(event, name))
            for name in field_names(type(event))
            if name not in {"actor", "inc", "parent"}
        }
        if not event.actor:
            values["actor"] = self._owner(entry)
        return attrs.evolve(event, **values)

    def _owner(self, entry: Entry) -> str:
        for field in ("session", "run", "item", "delivery"):
            id_ = str(entry.get(field) or "").removeprefix(COMPLETION)
            if id_ in self.keys:
                return self.rename(self.keys[id_])
        if entry.get("job"):
            return f"job {entry['job']}"
        if entry.get("channel"):
            return f"channel {entry['channel']}/{entry['account'] or 'default'}"
        return ""

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.rename(value)
        if isinstance(value, Mapping):
            return {self.rename(str(name)): self._value(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._value(each) for each in value)
        return value
