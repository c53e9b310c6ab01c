"""Which fields of which events hold words of a model, a person, a tool or a file, so that a record can be shown without them.

Each field that can hold text stands in one of two tables, by its name and the kinds that it belongs to: `CONTENT`, or `LABELS` for ids,
names of actors and settings, states, numbers and the like. A new field without an entry fails a test.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from greenroom.core import words_of
from greenroom.gateway.record._gateway_events import EVENTS

EVERY: Final = ("*",)

CONTENT: Final[Mapping[str, Collection[str]]] = {
    "account": ("pairing.*",),
    "active_form": EVERY,
    "answer": ("rpc.done",),
    "branch": EVERY,
    "cause": EVERY,
    "cursor": EVERY,
    "cwd": EVERY,
    "description": EVERY,
    "error": EVERY,
    "failure": EVERY,
    "feedback": EVERY,
    "findings": EVERY,
    "job_spec": EVERY,
    "label": EVERY,
    "message": ("elicitation.asked",),
    "metadata": EVERY,
    "original_cwd": EVERY,
    "path": ("worktree.*", "plan.submitted"),
    "problem": EVERY,
    "prompt": EVERY,
    "reason": EVERY,
    "route": EVERY,
    "says": EVERY,
    "sender": ("pairing.*",),
    "settings": EVERY,
    "state": ("actor.entered", "gateway.snapshot"),
    "subject": EVERY,
    "summary": EVERY,
    "text": EVERY,
    "title": EVERY,
    "where": EVERY,
    "who": ("run.ended", "delivery.*", "pairing.*", "approval.*", "cron.*"),
    "why": EVERY,
}
"""Fields with words, by name: patterns of the kinds."""

LABELS: Final[Mapping[str, Collection[str]]] = {
    "account": ("channel.*",),
    "added": EVERY,
    "agent": EVERY,
    "after": ("model.begin",),
    "approval": EVERY,
    "at": EVERY,
    "base": EVERY,
    "behavior": EVERY,
    "by": EVERY,
    "call": EVERY,
    "channel": EVERY,
    "child": EVERY,
    "color": EVERY,
    "created": EVERY,
    "cron": EVERY,
    "cut": EVERY,
    "definition": EVERY,
    "delivery": EVERY,
    "descent": EVERY,
    "digest": EVERY,
    "ends": EVERY,
    "event": EVERY,
    "failed": EVERY,
    "former": EVERY,
    "handler": EVERY,
    "item": EVERY,
    "job": EVERY,
    "key": EVERY,
    "lane": EVERY,
    "left_out": EVERY,
    "masked_error": EVERY,
    "message": ("session.files_rewound",),
    "missed": EVERY,
    "model": EVERY,
    "name": EVERY,
    "now": EVERY,
    "on": EVERY,
    "outcome": EVERY,
    "owner": EVERY,
    "path": ("actor.new",),
    "phase": EVERY,
    "planned": EVERY,
    "protocol": EVERY,
    "purpose": EVERY,
    "removed": EVERY,
    "request": EVERY,
    "requester": EVERY,
    "restart": EVERY,
    "ring": EVERY,
    "run": EVERY,
    "schedule": EVERY,
    "sender": ("inbox.*", "mail.*"),
    "server": EVERY,
    "session": EVERY,
    "session_id": EVERY,
    "skill": EVERY,
    "source": EVERY,
    "spawned_by": EVERY,
    "stop_reason": EVERY,
    "supervisor": EVERY,
    "target": EVERY,
    "task": EVERY,
    "team": EVERY,
    "times": EVERY,
    "to": EVERY,
    "together": EVERY,
    "token": EVERY,
    "tool": EVERY,
    "transcript": EVERY,
    "type": EVERY,
    "tz": EVERY,
    "until": EVERY,
    "who": ("step.blocked",),
}
"""Fields with text that are no content, by name: patterns of the kinds."""


@cache
def content_fields(kind: str) -> frozenset[str]:
    """Return the names of the fields of a kind of event that hold words."""
    return frozenset(name for name in CONTENT if is_content(kind, name))


def is_content(kind: str, field: str) -> bool:
    """True if a field of a kind of event holds words."""
    return any(fnmatchcase(kind, pattern) for pattern in CONTENT.get(field, ()))


def is_label(field: str) -> bool:
    """True if a field of this name, of a folded state for example, holds no words as far as the events say; False if it is not known."""
    return field in LABELS or field in _states()


@cache
def _states() -> frozenset[str]:
    return frozenset(name for event_class in EVENTS for name in words_of(event_class))
