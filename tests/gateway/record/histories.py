"""Random histories of a gateway, for tests: events about few sessions and runs, of which the registry takes the possible ones."""

from __future__ import annotations

import random
from typing import Final

import attrs
from hypothesis import strategies as st

from greenroom.core import IllegalTransition
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._machines import WORDS, SendResult
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import GatewayEvent

DAY_S: Final = 86_400.0
SESSIONS: Final = ("agent:main:main", "agent:main:subagent:1")
RUNS: Final = ("r1", "r2")
ROUTE: Final = {"channel": "irc", "account": "", "peer": {"kind": "direct", "id": "ada"}}


def _pool() -> list[GatewayEvent]:
    """Return one event of each kind for each session, run and delivery; the time is filled in later."""
    found: list[GatewayEvent] = [
        gateway.GatewayBegan(at_s=0.0, process=1),
        gateway.GatewayEnded(at_s=0.0, why="asked"),
        gateway.ChannelCursor(at_s=0.0, channel="matrix", cursor="a"),
        gateway.PairingAsked(at_s=0.0, channel="irc", sender="bob", digest="d", expires_s=1e9 + 3600),
        gateway.PairingApproved(at_s=0.0, channel="irc", sender="bob", who="ada"),
        gateway.CronAdded(at_s=0.0, job="j", job_spec={"at": "09:00"}),
        gateway.CronDue(at_s=0.0, job="j", planned_s=1e9, run="r1"),
        gateway.CronEnded(at_s=0.0, job="j", planned_s=1e9, outcome="done"),
        gateway.RpcDone(at_s=0.0, token="t", key="k", digest="d"),
    ]
    for session in SESSIONS:
        found += [
            gateway.SessionOpened(at_s=0.0, session=session),
            gateway.SessionPatched(at_s=0.0, session=session, settings={"model": "m"}),
            gateway.SessionClosed(at_s=0.0, session=session),
            work.InboundAccepted(at_s=0.0, item=f"i {session}", session=session, route=ROUTE),
            work.InboundTaken(at_s=0.0, item=f"i {session}"),
            work.InboundSettled(at_s=0.0, item=f"i {session}", why="answered"),
        ]
    for run in RUNS:
        for announce in ("post", "none"):
            found.append(registered(run, announce=announce, limit_s=60.0 if announce == "post" else 0.0))
        found.append(work.RunBegan(at_s=0.0, run=run))
        found += [ended(run, str(state), str(cause), archive_at_s=1e9 + 3600) for state, cause in WORDS]
        found += [
            work.CompletionBegan(at_s=0.0, run=run),
            work.CompletionComposed(at_s=0.0, run=run, text="done"),
            work.CompletionComposed(at_s=0.0, run=run, text="", is_skipped=True),
        ]
    for delivery in (*(f"run:{run}" for run in RUNS), "reply:1"):
        found.append(
            work.DeliveryEnded(at_s=0.0, delivery=delivery, part=0, result="taken", why="told by the requester")
        )
        found.append(work.DeliveryDue(at_s=0.0, delivery=delivery, session=SESSIONS[0], route=ROUTE, text="t"))
        for part in (1, 2):
            found.append(work.DeliveryBegan(at_s=0.0, delivery=delivery, part=part, parts=2, key="k", digest="d"))
            for result in SendResult:
                found.append(work.DeliveryEnded(at_s=0.0, delivery=delivery, part=part, result=str(result)))
        found.append(work.DeliveryBlocked(at_s=0.0, delivery=delivery, why="refused"))
        found.append(work.DeliveryDismissed(at_s=0.0, delivery=delivery, who="ada"))
    return found


def events() -> st.SearchStrategy[GatewayEvent]:
    """Return events of a few names; most are not possible at a given moment."""
    return st.builds(lambda event, at_s: attrs.evolve(event, at_s=at_s), st.sampled_from(HISTORY_POOL), TIMES)


TIMES: Final = st.floats(1e9, 1e9 + DAY_S, width=32)


def histories(max_size: int = 80) -> st.SearchStrategy[list[GatewayEvent]]:
    """Return lists of events, each of which is possible after those before it; shorter ones are beginnings of longer ones."""
    return st.builds(_walk, st.integers(0, 2**32), st.integers(max_size // 2, max_size) | st.integers(0, max_size))


def _walk(seed: int, length: int) -> list[GatewayEvent]:
    """Take random events from the pool, of which the possible ones happen."""
    chance, registry, taken = random.Random(seed), Registry().fold_all(START), list(START)
    # Archiving ends most of what there is to do, so it is rare.
    archived = [gateway.SessionArchived(at_s=0.0, session=SESSIONS[1], transcript="t")]
    for _ in range(length * 8):
        event = attrs.evolve(
            chance.choice(archived if chance.random() < 0.005 else HISTORY_POOL),
            at_s=1e9 + chance.randrange(int(DAY_S)),
        )
        if len(taken) < length and _is_taken(registry, event):
            taken.append(event)
    return taken


def _is_taken(registry: Registry, event: GatewayEvent) -> bool:
    try:
        registry.fold(event)
    except IllegalTransition:
        return False
    return True


START: Final[tuple[GatewayEvent, ...]] = (
    gateway.GatewayBegan(at_s=1e9, process=1),
    *(gateway.SessionMade(at_s=1e9, session=key, session_id="id") for key in SESSIONS),
)


def registered(run: str = "r1", *, session: str = SESSIONS[1], **more: object) -> work.RunRegistered:
    """Return the event of a run that was accepted."""
    event = work.RunRegistered(
        at_s=1e9, run=run, session=session, session_id="id", requester=SESSIONS[0], route=ROUTE, task="count the files"
    )
    return attrs.evolve(event, **more)  # type: ignore[arg-type]


def ended(run: str = "r1", state: str = "completed", cause: str = "itself", **more: object) -> work.RunEnded:
    """Return the event of a run that has ended."""
    return attrs.evolve(work.RunEnded(at_s=1e9 + 10, run=run, state=state, cause=cause), **more)  # type: ignore[arg-type]


HISTORY_POOL: Final = _pool()
