"""A store of boxes on a redis server: several processes of several machines put, and one at a time takes from a box.

Rule 1: each call is one step of the server. Rule 2: who takes from a box holds its lease, and says its fence with each take, begin
and acknowledgement; one that somebody else has taken over meanwhile is refused. Rule 3: the place up to which a box was taken is
noted here, when the answer has come: a take whose answer was lost is made again.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final, final

import trio

from greenroom.core import JournalError, UsageError
from greenroom.core.ports import Ports
from greenroom.inbox import (
    KNOWN_S,
    MAX_ATTEMPTS,
    MAX_BYTES,
    MAX_HELD,
    MAX_ITEMS,
    MAX_LETTERS,
    BoxFull,
    BoxStatistics,
    LetterPolicy,
    Place,
    StoredItem,
    Taken,
    check_item,
    check_room,
)
from greenroom.remote.redis._box_leases import BoxLeases, Claimable, Fence, LeasedElsewhere, fence_of, plan_lease
from greenroom.remote.redis._inbox_scripts import (
    ACKNOWLEDGE,
    BEGIN,
    CLAIM_BOX,
    COUNT,
    FREE_BOXES,
    HELD,
    PUT,
    READ_BOXES,
    READ_COUNTER,
    READ_LEASE,
    READ_POLICY,
    RELEASE,
    RENEW_BOXES,
    SET_POLICY,
    TAKE,
    WITHDRAW,
)
from greenroom.remote.redis._redis_server import RedisServer, open_redis_server
from greenroom.store import BoxNews, item_of, row_of

LEASE_S: Final = 30.0
"""Seconds for which a box belongs to a process that says nothing more."""


@final
class RedisInboxStore:
    """A store of boxes on a redis server. Made by `open_redis_inbox`.

    Args:
        server: The server.
        name: The name before all its keys.
        holder: This process, as `NODE:BOOT`.
        wall: Returns the date and time.
        lease_s: Duration of a lease, in seconds.

    Attributes:
        holder: The process, as other ones are told.
    """

    def __init__(
        self, server: RedisServer, name: str, *, holder: str, wall: Callable[[], datetime], lease_s: float = LEASE_S
    ) -> None:
        self.holder: Final = holder
        self._server = server
        self._name = name
        self._wall = wall
        self._leases = BoxLeases(lease_s)
        self._cursors: dict[str, int] = {}
        """The number of the item of a box that was taken last."""
        self._news = BoxNews(self._look)
        self._puts = 0

    def __repr__(self) -> str:
        return f"<RedisInboxStore {self._name!r} on {self._server.address.shown}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for people on what the server can lose."""
        return self._server.warnings

    # --- the port --------------------------------------------------------------------------------------------------

    async def put(self, items: Sequence[StoredItem]) -> tuple[Place, ...]:
        """Put items and return their places; all of them are in, or none."""
        for item in items:
            check_item(item)
        boxes = list(dict.fromkeys(item.box for item in items))
        self._puts += 1
        limits = (KNOWN_S, MAX_ITEMS, MAX_BYTES, MAX_LETTERS, MAX_HELD)
        arguments: list[str | int | float] = [self._now(), *limits, f"{self.holder}:{self._puts}", len(items)]
        for item in items:
            arguments += [boxes.index(item.box) + 3, *_arguments_of(item)]
        keys = [self._key("seq"), self._key("boxes"), *map(self._base, boxes)]
        word, *answer = await self._server.call(PUT, keys, arguments)
        if word == "full":
            place, waiting, size, letters = answer
            item = items[place - 1]
            check_room(item, BoxStatistics(waiting=waiting, waiting_bytes=size, letters=letters))
            raise BoxFull(item.box, f"{waiting} items wait")
        for box in boxes:
            self._news.note_put(box)
        return tuple(Place(seq, is_new=bool(is_new)) for seq, is_new in answer[0])

    async def take(self, box: str, limit: int = MAX_ITEMS) -> Taken:
        """Return what was not taken since `reopen`, in order; it never waits for more.

        Raises:
            JournalError: Another process has the box.
        """
        self._news.begin_take(box)
        keys = [self._base(box), self._key("boxes"), self._key("seq")]
        rest = (self._now(), self._cursors.get(box, 0), limit, MAX_ATTEMPTS, box)
        counter, items, poisoned, expired, refused = await self._fenced(TAKE, box, keys, *rest)
        self._news.note_version(counter)
        self._news.note_taken(box)
        if items:
            self._cursors[box] = items[-1][0]
        lists = {"items": items, "poisoned": poisoned, "expired": expired, "refused": refused}
        return Taken(**{name: tuple(map(_item_of, found)) for name, found in lists.items()})

    async def reopen(self, box: str) -> None:
        """Get the lease of a box, and give everything that was taken and not acknowledged again.

        It waits as long as a lease that is not renewed can last. Where another process goes on with the box, it raises.

        Raises:
            JournalError: Another process has the box.
        """
        self._leases.forget(box)
        until = trio.current_time() + self._leases.lease_s + 1.0
        plan = await self._claim(box)
        while isinstance(plan, LeasedElsewhere) and trio.current_time() < until:
            await trio.sleep(min(plan.left_s + 0.01, 1.0))
            plan = await self._claim(box)
        if isinstance(plan, LeasedElsewhere):
            raise self._occupied(box, plan.holder)
        self._cursors.pop(box, None)
        self._news.note_put(box)

    async def begin(self, box: str, ids: Iterable[str]) -> None:
        """Count that a turn begins with these items."""
        await self._fenced(BEGIN, box, [self._base(box)], *ids)

    async def ack(self, box: str, ids: Iterable[str]) -> None:
        """Remove items that were read.

        Raises:
            JournalError: Another process has the box: the items are its own now.
        """
        await self._fenced(ACKNOWLEDGE, box, [self._base(box), self._key("boxes")], self._now(), box, *ids)

    async def release(self, box: str, ids: Iterable[str]) -> None:
        """Release held items: they are taken after everything that came in before."""
        await self._server.call(RELEASE, [self._base(box), self._key("seq")], list(ids))
        self._news.note_put(box)

    async def withdraw(self, box: str, item_id: str) -> bool:
        """Remove an item that waits, or is held; False if there is none."""
        keys = [self._base(box), self._key("boxes")]
        return bool(await self._server.call(WITHDRAW, keys, [self._now(), box, item_id]))

    async def held(self, box: str) -> tuple[StoredItem, ...]:
        """Return the held items that have not expired, in order."""
        now = self._now()
        items = [_item_of(found, is_held=True) for found in await self._server.call(HELD, [self._base(box)])]
        return tuple(item for item in items if now < item.expires_at)

    async def policy(self, box: str) -> LetterPolicy:
        """Return the treatment of letters."""
        word = await self._server.call(READ_POLICY, [self._base(box)])
        return LetterPolicy.REFUSE if word is None else LetterPolicy(word)

    async def set_policy(self, box: str, policy: LetterPolicy) -> None:
        """Set the treatment of letters."""
        await self._server.call(SET_POLICY, [self._base(box)], [LetterPolicy(policy).value])

    async def wait_news(self, box: str) -> None:
        """Wait until something may be there to be taken; what other processes put is noticed within a second."""
        await self._news.wait(box)

    async def statistics(self, box: str) -> BoxStatistics:
        """Return what is in a box."""
        waiting, size, letters, held, poisoned, oldest = await self._server.call(COUNT, [self._base(box)])
        return BoxStatistics(
            waiting=waiting,
            waiting_bytes=size,
            letters=letters,
            held=held,
            poisoned=poisoned,
            oldest_at=float(oldest) if oldest else None,
        )

    async def boxes(self) -> tuple[str, ...]:
        """Return the names of the boxes that hold items."""
        return tuple(sorted(await self._server.call(READ_BOXES, [self._key("boxes")])))

    async def aclose(self) -> None:
        """Give the leases back; what was put stays."""
        held = self._leases.held()
        with suppress(JournalError):  # they run out by themselves
            if held:
                await self._server.call(FREE_BOXES, list(map(self._base, held)), list(map(str, held.values())))

    # --- leases ----------------------------------------------------------------------------------------------------

    async def renew_leases(self) -> None:
        """Renew the leases that are held, until it is cancelled."""
        while True:
            await trio.sleep(self._leases.lease_s / 6)
            began = trio.current_time()
            due = self._leases.due(began)
            if not due:
                continue
            arguments: list[str | int] = [int(self._leases.lease_s * 1000), *map(str, due.values())]
            try:
                lost = await self._server.call(RENEW_BOXES, list(map(self._base, due)), arguments)
            except JournalError:
                continue  # the next try, or the next call, says what is wrong
            gone = {list(due)[place - 1]: has for place, has in lost}
            for box, fence in due.items():
                if box in gone:
                    self._lose(box, gone[box])
                else:
                    self._leases.note_held(box, fence, began)

    async def _claim(self, box: str) -> Claimable | LeasedElsewhere:
        """Get the lease of a box if it can be had."""
        lease_ms = int(self._leases.lease_s * 1000)
        while True:
            began = trio.current_time()
            has, left_ms = await self._server.call(READ_LEASE, [self._base(box)])
            plan = plan_lease(fence_of(has) if has else None, left_ms / 1000, holder=self.holder)
            if isinstance(plan, LeasedElsewhere):
                return plan
            arguments = [has or "", str(plan.fence), int(plan.if_free), lease_ms]
            if await self._server.call(CLAIM_BOX, [self._base(box)], arguments):
                self._leases.note_held(box, plan.fence, began)
                return plan

    async def _fenced(self, script: str, box: str, keys: list[str], *rest: str | float) -> list[Any]:
        """Run a script that needs the lease of a box."""
        fence = await self._fence(box)
        answer: list[Any]
        word, *answer = await self._server.call(script, keys, [str(fence), *rest])
        if word == "fenced":
            raise self._lose(box, answer[0])
        return answer

    async def _fence(self, box: str) -> Fence:
        holder = self._leases.lost_to(box)
        if holder is not None:
            raise self._occupied(box, holder)
        fence = self._leases.fence(box)
        if fence is not None:
            return fence
        plan = await self._claim(box)
        if isinstance(plan, LeasedElsewhere):
            raise self._occupied(box, plan.holder)
        return plan.fence

    def _lose(self, box: str, has: str) -> JournalError:
        holder = fence_of(has).holder if has else "nobody"
        self._leases.note_lost(box, holder)
        return self._occupied(box, holder)

    def _occupied(self, box: str, holder: str) -> JournalError:
        return self._server.address.refuse(
            f"box {box!r} belongs to {holder!r} now; what this process ({self.holder!r}) took from it is to be read there"
        )

    # --- keys ------------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        self._news.note_version(await self._server.call(READ_COUNTER, [self._key("seq")]))

    def _key(self, what: str) -> str:
        return f"{{{self._name}}}:{what}"

    def _base(self, box: str) -> str:
        return f"{self._key('box')}:{box}"

    def _now(self) -> float:
        return self._wall().timestamp()


def _arguments_of(item: StoredItem) -> list[str | int | float]:
    text = json.dumps(row_of(item)[:12])
    expires = "" if math.isinf(item.expires_at) else item.expires_at
    return [
        item.box,
        item.id,
        text,
        item.size_bytes,
        int(item.is_letter),
        int(item.is_held),
        float(item.created_at),
        expires,
    ]


def _item_of(found: Sequence[Any], *, is_held: bool = False) -> StoredItem:
    seq, attempts, text = found
    return item_of((*json.loads(text), seq, attempts, int(is_held)))


def read_holder(name: str, node: str, lease_s: float) -> str:
    """Return this process as the server is to know it: `NODE:BOOT`.

    Raises:
        UsageError: A name or the duration is invalid.
    """
    for what, value in (("name", name), ("node", node or "node")):
        if not value.isprintable() or not value or any(mark in value for mark in "{}: "):
            raise UsageError(
                f"the {what} of a store must be printable, without braces, colons or blanks, got {value!r}"
            )
    if not 0.1 <= lease_s <= 86_400:
        raise UsageError(f"lease_s must be from 0.1 to 86400, got {lease_s!r}")
    boot = secrets.token_hex(16)
    return f"{node or boot[:8]}:{boot}"


@asynccontextmanager
async def open_redis_inbox(
    url: str, *, name: str = "greenroom", node: str = "", ports: Ports | None = None, lease_s: float = LEASE_S
) -> AsyncIterator[RedisInboxStore]:
    """Open the boxes of a redis server as long as the block lasts.

        async with open_redis_inbox("redis://127.0.0.1") as store:
            async with gr.open_session(folder, store=store) as session: ...

    Args:
        url: The address, as `redis://[:PASSWORD@]HOST[:PORT][/NUMBER]`; `rediss://` for TLS, `unix://PATH` for a socket.
        name: The name before all keys. Stores of one name share their boxes.
        node: The name of what runs here, which no other process has at the same time: after a crash the next process of
            that name does not wait for the leases of the last one. By default each process is on its own.
        ports: Time and threads.
        lease_s: Seconds for which a box belongs to a process that says nothing more.

    Raises:
        UsageError: The address, a name or the duration is invalid, or the extra is not installed.
        JournalError: Nobody answers there, or the server cannot be used.
    """
    holder = read_holder(name, node, lease_s)
    ports = ports or Ports()
    async with open_redis_server(url, blocking=ports.blocking) as server:
        store = RedisInboxStore(server, name, holder=holder, wall=ports.clock.wall, lease_s=lease_s)
        server.nursery.start_soon(store.renew_leases)
        try:
            yield store
        finally:
            with trio.CancelScope(shield=True):
                await store.aclose()
