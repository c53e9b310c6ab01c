"""The health of a gateway: the state of each part, with figures and limits."""

from __future__ import annotations

import resource
from collections import Counter
from typing import Any

import attrs

from greenroom._version import __version__
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.record._machines import DeliveryState


def health_report(parts: GatewayParts) -> dict[str, Any]:
    """Return the state of each part; a part that is down makes it `degraded`."""
    problems = [str(problem) for problem in parts.config.problems]
    channels = shown_channels(parts)
    deliveries = Counter(str(row.state) for row in parts.registry.deliveries())
    journal = parts.record.journal.statistics()
    lag = parts.lag.figures()
    down = [f"{each['channel']}/{each['accountId']}" for each in channels if each["degraded"]]
    down += [f"session {key}" for key in parts.keepers.broken]
    down += ["journal"] if not parts.record.journal.is_open else []
    down += ["configuration"] if parts.config.is_refused else []
    return {
        "status": "starting" if parts.awaited() else "degraded" if down else "ok",
        "down": down,
        "version": __version__,
        "startedAt": round(parts.started_s * 1000),
        "sessions": {
            "open": parts.keepers.open_count,
            "known": len(parts.registry.sessions),
            "broken": dict(parts.keepers.broken),
        },
        "lanes": {name: attrs.asdict(each) for name, each in parts.lanes.statistics().items()},
        "channels": channels,
        "deliveries": {
            "due": deliveries[DeliveryState.DUE],
            "blocked": deliveries[DeliveryState.BLOCKED],
        },
        "inbound": {"waiting": len(parts.registry.inbound), "refused": parts.registry.refused},
        "journal": {"pendingBytes": parts.record.journal.pending_bytes, "statistics": attrs.asdict(journal)},
        "loopLag": {"p50Ms": lag.p50_s * 1000, "p99Ms": lag.p99_s * 1000, "maxMs": lag.max_s * 1000},
        "memoryKb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "rpc": parts.hub.statistics(),
        "log": {"lostLines": parts.log.lost},
        "config": {"problems": problems},
        "limits": {key_of(name): value for name, value in attrs.asdict(parts.settings.limits).items()},
    }


def status_report(parts: GatewayParts) -> dict[str, Any]:
    """Return the gateway in a few lines."""
    health = health_report(parts)
    running = [run for run in parts.registry.runs.values() if not run.is_ended]
    return {
        "status": health["status"],
        "down": health["down"],
        "version": __version__,
        "startedAt": health["startedAt"],
        "sessions": {"open": health["sessions"]["open"], "known": health["sessions"]["known"]},
        "runs": len(running),
        "deliveries": health["deliveries"],
        "channels": [{name: each[name] for name in ("channel", "accountId", "state")} for each in health["channels"]],
        "jobs": len(parts.registry.services.jobs),
        "problems": health["config"]["problems"],
    }


def shown_channels(parts: GatewayParts) -> list[dict[str, Any]]:
    """Return the accounts of channels."""
    return [
        {
            "channel": view.channel,
            "accountId": view.account,
            "state": str(view.state),
            "degraded": view.is_degraded,
            "error": view.error,
            "connectedAt": round(view.connected_s * 1000),
            "lastContactAt": round(max(view.heard_s, view.connected_s) * 1000),
            "due": parts.deliveries.due_count(view.channel, view.account),
        }
        for view in parts.accounts.state()
    ]
