"""The keepers, as runs use them, and the ids that are made from those of runs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final, Protocol

from greenroom.core.ports import Ids
from greenroom.gateway.keepers._seams import Keepers
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.gateway.routing._session_key import SessionKey

_NAMESPACE: Final = uuid.UUID("6f0d1c1e-6a5b-5f60-9a0e-0f6a3c0b7d41")


class RunKeepers(Keepers, Protocol):
    """Keepers that say how a new session is recorded, so that it is recorded together with its run."""

    def events_for_new(
        self, key: SessionKey, *, spawned_by: str = "", label: str = "", settings: Mapping[str, Any] | None = None
    ) -> tuple[GatewayEvent, ...]:
        """Return the events that make a session; none if it is known."""

    async def archive(self, key: str, *, why: str, is_forced: bool = False, transcript: str = "") -> str:
        """Close a session for good, rename its transcript, to `transcript` if somebody was told that name, and return the new name."""

    async def recover(self) -> tuple[str, ...]:
        """Report what an earlier process did not report, begin what waits, and return the keys whose turn was cut."""

    def resume_cut(self, key: str) -> None:
        """Resume the cut turn of a session, behind what people have said since."""

    def drop_cut(self, key: str, why: str) -> tuple[str, ...]:
        """Settle the items of the cut turn of a session, which is not resumed, and return them."""

    def claim_of(self, key: str) -> TurnClaim | None:
        """Return the place of the turn of a session that runs, for `TurnLanes.lend`; None if none runs."""


def run_item(run: str) -> str:
    """Return the id of the item that begins a run: the same after a restart."""
    return str(uuid.uuid5(_NAMESPACE, f"run:{run}"))


def announce_item(run: str) -> str:
    """Return the id of the item that tells the requester about the end of a run."""
    return str(uuid.uuid5(_NAMESPACE, f"announce:{run}"))


def new_id(ids: Ids) -> str:
    """Return a new UUID."""
    return str(uuid.UUID(int=ids.bits(128), version=4))
