"""Rows of the registry as clients see them: JSON objects with keys in camel case."""

from __future__ import annotations

from typing import Any

from greenroom.gateway.commands._command_table import TABLE
from greenroom.gateway.record._rows import Delivery, Pairing, Run, SessionRow
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.rpc._scopes import Grant
from greenroom.gateway.tools._session_view import kind_of


def shown_session(row: SessionRow) -> dict[str, Any]:
    """Return a session."""
    shown: dict[str, Any] = {
        "key": row.key,
        "kind": kind_of(SessionKey.parse(row.key)),
        "sessionId": row.session_id,
        "state": str(row.state),
        "updatedAt": _ms(row.used_s),
        "settings": dict(row.settings),
    }
    if row.label:
        shown["label"] = row.label
    if row.spawned_by:
        shown["spawnedBy"] = row.spawned_by
    if row.transcript:
        shown["transcript"] = row.transcript
    return shown


def shown_run(run: Run) -> dict[str, Any]:
    """Return a run."""
    shown: dict[str, Any] = {
        "runId": run.id,
        "sessionKey": run.session,
        "task": run.shown,
        "state": str(run.state),
        "createdAt": _ms(run.created_s),
    }
    if run.requester:
        shown["requester"] = run.requester
    if run.label:
        shown["label"] = run.label
    if run.began_s:
        shown["startedAt"] = _ms(run.began_s)
    if run.is_ended:
        shown["endedAt"] = _ms(run.ended_s)
        words = run.words
        shown["status"] = words.status if words is not None else "unknown"
    if run.error:
        shown["error"] = run.error
    return shown


def shown_delivery(row: Delivery) -> dict[str, Any]:
    """Return a delivery."""
    shown: dict[str, Any] = {
        "deliveryId": row.id,
        "state": str(row.state),
        "route": dict(row.route),
        "dueAt": _ms(row.due_s),
        "tries": row.tries,
        "partsTaken": len(row.taken),
        "parts": row.parts,
    }
    if row.session:
        shown["sessionKey"] = row.session
    if row.why:
        shown["why"] = row.why
    return shown


def shown_pairing(row: Pairing) -> dict[str, Any]:
    """Return a pairing; codes are on record as digests only."""
    shown: dict[str, Any] = {
        "channel": row.channel,
        "accountId": row.account or "default",
        "sender": row.sender,
        "approved": row.is_approved,
        "askedAt": _ms(row.asked_s),
    }
    return shown if row.is_approved else shown | {"expiresAt": _ms(row.expires_s)}


def client_snapshot(grant: Grant) -> dict[str, Any]:
    """Return what a client is told when it connects: the commands that it may give in a chat."""
    return {
        "commands": [
            {"name": command.name, "usage": command.usage, "summary": command.summary}
            for command in TABLE.values()
            if set(command.methods.values()) <= grant.scopes
        ]
    }


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
