"""Calls that change something, each done once: by its key, side by side, again later, and after a restart.

Rule 1: an answer is on record before it is sent. Rule 2: a key stands for one set of parameters. Rule 3: only success is remembered: a
call that failed may be tried again with its key, and what it began is found again by ids that are made from the key.

Must not know: connections, frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, final

from greenroom.gateway.record._gateway_events import RpcDone
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.gateway.rpc._rpc_frames import ErrorCode, RpcError

if TYPE_CHECKING:
    from greenroom.gateway.record._gateway_journal import GatewayRecord

MAX_RUNNING: Final = 256
"""Changes of one account that are being done."""
KEY: Final = "idempotencyKey"


def digest_of(method: str, params: Mapping[str, Any]) -> str:
    """Return a digest of a call without its key: two calls with the same one are the same call."""
    import orjson

    rest = {name: value for name, value in params.items() if name != KEY}
    return hashlib.sha256(orjson.dumps([method, rest], option=orjson.OPT_SORT_KEYS)).hexdigest()


@final
class AnsweredCalls:
    """The calls that are being done, and those that are done."""

    def __init__(self, record: GatewayRecord, wall: Callable[[], float]) -> None:
        self._record = record
        self._wall = wall
        self._running: dict[str, dict[str, str]] = {}

    def answered(self, call: RpcCall, digest: str) -> Answer | None:
        """Return the answer of a call that is done; None if it has to be done.

        Raises:
            RpcError: `conflict`: another call had this key.
        """
        done = self._record.registry.services.answer(call.grant.account, call.key, self._wall())
        if done is None:
            return None
        _check_same(done.digest, digest)
        return done.answer

    def is_running(self, call: RpcCall, digest: str) -> bool:
        """True if the same call is being done.

        Raises:
            RpcError: `conflict`: another call with this key is being done.
        """
        found = self._running.get(call.grant.account, {}).get(call.key)
        if found is None:
            return False
        _check_same(found, digest)
        return True

    def begin(self, call: RpcCall, digest: str) -> None:
        """Note that a call is being done.

        Raises:
            RpcError: `busy`: this account has too many of them.
        """
        keys = self._running.setdefault(call.grant.account, {})
        if len(keys) >= MAX_RUNNING:
            raise RpcError(ErrorCode.BUSY, f"{MAX_RUNNING} changes are being made already", retry_after_s=1.0)
        keys[call.key] = digest

    def end(self, call: RpcCall) -> None:
        """Note that a call is being done no longer."""
        keys = self._running[call.grant.account]
        del keys[call.key]
        if not keys:
            del self._running[call.grant.account]

    async def write(self, call: RpcCall, digest: str, answer: Answer) -> None:
        """Record the answer of a call, and return when it is durable.

        Raises:
            JournalError: It cannot be recorded.
        """
        await self._record.write(
            RpcDone(at_s=self._wall(), token=call.grant.account, key=call.key, digest=digest, answer=dict(answer))
        )


def _check_same(known: str, digest: str) -> None:
    if known != digest:
        raise RpcError(ErrorCode.CONFLICT, "another call had this idempotencyKey; a new call needs a new one", path=KEY)
