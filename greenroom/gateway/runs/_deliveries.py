"""Deliveries: texts on their way to chats, each sent in parts until a channel has taken all of it.

    async with open_deliveries(config, record, find_channel, clock) as deliveries:
        await deliveries.reply("agent:main:main", line, route, text)    # durable when it returns; sent as soon as the channel can

Rule 1: a text is on record before it is sent, and each try before it is made. Rule 2: the texts of a route are sent in order; two routes
never wait for each other. Rule 3: `plan_delivery` decides; a task for each route carries out. Rule 4: a text that its channel neither took
nor refused is blocked and kept; nothing is thrown away without a person or a week.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.core import JournalError
from greenroom.core.ports import Clock
from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.announce._parts import cut_parts
from greenroom.gateway.announce._retry_plan import (
    BlockDelivery,
    DismissDelivery,
    TryPart,
    WaitUntil,
    part_key,
    plan_delivery,
)
from greenroom.gateway.channels._channel import Channel, WasSent
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import DeliveryState, SendResult
from greenroom.gateway.record._recovery_plan import OnUnknown
from greenroom.gateway.record._rows import COMPLETION, Delivery
from greenroom.gateway.record._run_events import (
    DeliveryBegan,
    DeliveryBlocked,
    DeliveryDismissed,
    DeliveryDue,
    DeliveryEnded,
)
from greenroom.gateway.routing._chat_messages import ChatRoute, Outbound, SendReceipt
from greenroom.gateway.runs._spawn_plan import agent_of, announce_settings

LOOK_S: Final = 15.0
"""Seconds after which a route looks again for a channel that is not there, if nobody says that it is back."""
NO_ROUTE: Final = "noRoute"
"""The reason of a delivery that has nowhere to go."""
FindChannel: TypeAlias = Callable[[str, str], Channel | None]
"""Returns the channel of a name and an account; None if it is not there now."""
OnSettled: TypeAlias = Callable[[str], object]
"""Called with the id of a delivery that needs nothing any more; it may only store values and wake tasks."""
_RouteName: TypeAlias = tuple[str, str, str, str]


def route_name(route: Mapping[str, Any]) -> _RouteName:
    """Return what tells a route from others: channel, account, chat and thread."""
    return (
        str(route.get("channel", "")),
        str(route.get("account") or "default"),
        str(route.get("peer", "")),
        str(route.get("thread", "")),
    )


@final
@attrs.define(eq=False)
class _RouteQueue:
    """The deliveries of one route, in order."""

    route: ChatRoute | None
    """None if they have nowhere to go."""
    ids: list[str] = attrs.field(factory=list)
    changed: trio.Event = attrs.field(factory=trio.Event)

    def wake(self) -> None:
        """Make its task look again."""
        self.changed.set()
        self.changed = trio.Event()


@final
class Deliveries:
    """The deliveries of a gateway. Made by `open_deliveries`."""

    def __init__(
        self,
        config: Callable[[], GatewayConfig],
        record: GatewayRecord,
        find_channel: FindChannel,
        clock: Clock,
        nursery: trio.Nursery,
    ) -> None:
        self._config = config
        self._record = record
        self._find = find_channel
        self._clock = clock
        self._nursery = nursery
        self._queues: dict[_RouteName, _RouteQueue] = {}
        self._is_held = False
        self.on_settled: OnSettled = lambda _: None
        """Set by the one who archives sessions once their results are delivered."""
        self._waiting = Counter[tuple[str, str]]()
        self.on_waiting: Callable[[str, str], object] = lambda _channel, _account: None
        """Called with channel and account when more or fewer texts wait for it; set by the one who takes messages in."""

    def __repr__(self) -> str:
        return f"<Deliveries on {len(self._queues)} routes>"

    # --- new texts ---------------------------------------------------------------------------------------------------

    async def reply(self, session: str, line: str, route: ChatRoute, text: str) -> str:
        """Send the reply of a turn, and return the id of its delivery; when this returns, it is durable.

        Args:
            session: Key of the session.
            line: Id of the transcript's line, or of whatever else the text stands in; one text for each line and route.
            route: Where it goes.
            text: The text; it gets the prefix of the configuration, and is cut where the configuration says so.

        Raises:
            JournalError: It cannot be put on record.
        """
        event = self.reply_event(session, line, route, text)
        if event is not None:
            await self._record.write(event)
            self.take_up(event.delivery)
        return reply_id(line, route)

    def reply_event(self, session: str, line: str, route: ChatRoute, text: str) -> DeliveryDue | None:
        """Return the event of a reply, for a write with others; `take_up` after it. None if it is due already."""
        id_ = reply_id(line, route)
        if self._record.registry.delivery(id_) is not None:
            return None
        messages, limits = self._config().messages, self._config().limits
        whole = cut_bytes(messages.prefix + text, limits.reply_bytes, session)
        return DeliveryDue(at_s=self._now(), delivery=id_, session=session, route=route.to_json(), text=whole)

    async def post(self, route: ChatRoute, text: str, key: str) -> str:
        """Send a text that belongs to no session, and return the id of its delivery; when this returns, it is durable.

        Args:
            route: Where it goes.
            text: The text.
            key: The same key makes the same delivery, while it is on its way.

        Raises:
            JournalError: It cannot be put on record.
        """
        return await self._post(route, text, key, call="")

    async def answer(self, route: ChatRoute, text: str, item: str) -> str:
        """Send the answer to a message that begins no turn, and return the id of its delivery.

        When this returns, it is durable, and with it that the message is done: one event says both, so that no kill leaves a
        message that was carried out without its answer, or answers it twice.

        Args:
            route: Where it goes.
            text: The text.
            item: Id of the message.

        Raises:
            JournalError: It cannot be put on record.
        """
        return await self._post(route, text, item, call=item)

    async def _post(self, route: ChatRoute, text: str, key: str, *, call: str) -> str:
        id_ = f"post:{key}"
        if self._record.registry.delivery(id_) is None:
            event = DeliveryDue(at_s=self._now(), delivery=id_, route=route.to_json(), text=text, call=call)
            await self._record.write(event)
            self.take_up(id_)
        return id_

    # --- looking and deciding ----------------------------------------------------------------------------------------

    def list(self) -> list[Delivery]:
        """Return the deliveries that are on their way or blocked, in the order in which they were due."""
        found = [row for row in self._record.registry.deliveries() if not row.is_settled]
        return sorted(found, key=lambda row: row.due_s)

    def due_count(self, channel: str, account: str) -> int:
        """Return the number of texts that wait for an account; beyond `limits.dueDeliveries` it takes nothing in."""
        return self._waiting[channel, account or "default"]

    async def retry(self, id_: str, who: str) -> None:
        """Try a blocked delivery again; parts that were taken are not sent again.

        Raises:
            NotFound: It is unknown, or was settled.
            Conflict: It is not blocked.
            JournalError: It cannot be put on record.
        """
        self._blocked(id_)
        await self._record.write(DeliveryDue(at_s=self._now(), delivery=id_, who=who))
        self.take_up(id_)

    async def dismiss(self, id_: str, who: str) -> None:
        """Give a blocked delivery up.

        Raises:
            NotFound: It is unknown, or was settled.
            Conflict: It is not blocked.
            JournalError: It cannot be put on record.
        """
        self._blocked(id_)
        await self._record.write(DeliveryDismissed(at_s=self._now(), delivery=id_, who=who))
        self.on_settled(id_)

    async def channel_is_back(self, channel: str, account: str = "default") -> None:
        """Look at everything that waits for an account, and try again what was blocked because it was not reached.

        A text of which nobody knows whether it arrived, or which was refused, stays blocked: a person decides.
        """
        for row in self.list():
            is_of = route_name(row.route)[:2] == (channel, account or "default")
            if is_of and row.state is DeliveryState.BLOCKED and row.result is SendResult.FAILED:
                await self._record.write(DeliveryDue(at_s=self._now(), delivery=row.id, who="channel"))
        for name, queue in self._queues.items():
            if name[:2] == (channel, account or "default"):
                queue.wake()
        self.look()

    async def sweep(self) -> None:
        """Give up what was blocked for a week."""
        for row in self.list():
            if isinstance(plan_delivery(row, self._now(), repeats_unknown=False), DismissDelivery):
                await self.dismiss(row.id, "gateway")

    def hold(self) -> None:
        """Send nothing before `look`: until the plan of a start is carried out, a try on record is one of an earlier process."""
        self._is_held = True

    def look(self) -> None:
        """Take up everything that is due."""
        self._is_held = False
        for row in self.list():
            self.take_up(row.id)

    def take_up(self, id_: str) -> None:
        """Put a delivery into the queue of its route if it is due, and not in it."""
        row = self._record.registry.delivery(id_)
        if self._is_held or row is None or row.state is not DeliveryState.DUE:
            return
        name = route_name(row.route)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _RouteQueue(ChatRoute.from_json(row.route))
            self._nursery.start_soon(self._work_off, name, queue)
        if id_ not in queue.ids:
            queue.ids.append(id_)
            self._count(name, 1)
            queue.wake()

    def _blocked(self, id_: str) -> Delivery:
        row = self._record.registry.delivery(id_)
        if row is None or row.is_settled:
            raise NotFound(f"unknown delivery {id_!r}")
        if row.state is not DeliveryState.BLOCKED:
            raise Conflict(f"delivery {id_!r} must be blocked, it is {row.state}")
        return row

    # --- the task of a route -----------------------------------------------------------------------------------------

    async def _work_off(self, name: _RouteName, queue: _RouteQueue) -> None:
        while queue.ids:
            row = self._record.registry.delivery(queue.ids[0])
            try:
                is_open = row is not None and row.state is DeliveryState.DUE and await self._advance(row, queue)
            except JournalError:  # intake is shut: nothing is sent that is not on record
                await self._wait(queue, LOOK_S)
                continue
            if not is_open:
                self._tell_settled(queue.ids.pop(0))
                self._count(name, -1)
        del self._queues[name]

    def _count(self, name: _RouteName, step: int) -> None:
        account = name[:2]
        self._waiting[account] += step
        if not self._waiting[account]:
            del self._waiting[account]
        self.on_waiting(*account)

    async def _advance(self, row: Delivery, queue: _RouteQueue) -> bool:
        """Take one step for the first delivery of a route; return False if it needs nothing more now."""
        if queue.route is None:
            await self._record.write(DeliveryBlocked(at_s=self._now(), delivery=row.id, why=NO_ROUTE))
            return False
        channel = self._find(queue.route.channel, queue.route.account)
        if channel is None:
            await self._wait(queue, LOOK_S)
            return True
        match plan_delivery(row, self._now(), repeats_unknown=self._repeats_unknown(row, channel)):
            case TryPart(part):
                await self._try(row, part, channel)
            case WaitUntil(at_s):
                await self._wait(queue, max(0.0, at_s - self._now()))
            case BlockDelivery(why):
                return await self._block(row, channel, why)
            case _:
                return False
        return True

    async def _block(self, row: Delivery, channel: Channel, why: str) -> bool:
        """Block a delivery, unless the channel can say what became of its last part; return True if more is to be done."""
        part, texts = len(row.taken) + 1, parts_of(row, channel)
        if row.result is SendResult.UNKNOWN and row.parts == len(texts):
            answer = await ask_channel(channel, part_key(row.id, part))
            if answer is not WasSent.CANNOT_SAY:
                result = SendResult.TAKEN if answer is WasSent.YES else SendResult.FAILED
                values: dict[str, Any] = {"at_s": self._now(), "delivery": row.id, "part": part}
                key, note = part_key(row.id, part), "the channel was asked"
                await self._record.report(
                    DeliveryBegan(**values, parts=row.parts, key=key, digest=digest_of(texts[part - 1])),
                    DeliveryEnded(**values, result=str(result), why=note),
                )
                return True
        await self._record.write(DeliveryBlocked(at_s=self._now(), delivery=row.id, why=why))
        return False

    async def _wait(self, queue: _RouteQueue, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await queue.changed.wait()

    async def _try(self, row: Delivery, part: int, channel: Channel) -> None:
        route = ChatRoute.from_json(row.route)
        assert route is not None
        texts = parts_of(row, channel)
        if row.parts not in {0, len(texts)}:
            why = (
                f"the limit of {route.channel} has changed: {len(texts)} parts, and {row.parts} when it was first tried"
            )
            await self._record.write(DeliveryBlocked(at_s=self._now(), delivery=row.id, why=why))
            return
        text, key = texts[part - 1], part_key(row.id, part)
        digest = digest_of(text)
        began = DeliveryBegan(at_s=self._now(), delivery=row.id, part=part, parts=len(texts), key=key, digest=digest)
        self._record.journal.check_open()
        await self._record.report(began)
        outbound = Outbound(route=route, key=key, text=text, part=part, parts=len(texts))
        receipt = await send_part(channel, outbound)
        ended = DeliveryEnded(
            at_s=self._now(),
            delivery=row.id,
            part=part,
            result=str(receipt.result),
            why=receipt.why,
            wait_s=receipt.wait_s,
        )
        await self._record.report(ended)

    def _repeats_unknown(self, row: Delivery, channel: Channel) -> bool:
        return channel.traits.takes_keys or self.on_unknown(row) is OnUnknown.AGAIN

    def on_unknown(self, row: Delivery) -> OnUnknown:
        """Return what the configuration says about tries of a delivery whose result nobody knows."""
        run = self._record.registry.run(row.id.removeprefix(COMPLETION))
        agent = agent_of((run.requester if run is not None else "") or row.session)
        return OnUnknown(announce_settings(self._config(), agent).on_unknown)

    def _tell_settled(self, id_: str) -> None:
        row = self._record.registry.delivery(id_)
        if row is None or row.is_settled:
            self.on_settled(id_)

    def _now(self) -> float:
        return self._clock.wall().timestamp()


def parts_of(row: Delivery, channel: Channel) -> list[str]:
    """Return the texts of the parts of a delivery; an empty text is one part."""
    return [each.text for each in cut_parts(row.text, channel.traits.limit, channel.traits.measure)] or [""]


def digest_of(text: str) -> str:
    """Return the digest of a part's bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


async def send_part(channel: Channel, outbound: Outbound) -> SendReceipt:
    """Send a part, and return the result; a channel that raises has an unknown one."""
    try:
        return await channel.send(outbound)
    except Exception as error:  # noqa: BLE001 - a bug of one channel is the result of this try, and nobody else's
        return SendReceipt(result=SendResult.UNKNOWN, why=f"{type(error).__name__}: {error}")


async def ask_channel(channel: Channel, key: str) -> WasSent:
    """Return what a channel knows about a part; a channel that fails cannot say."""
    try:
        return await channel.was_sent(key)
    except Exception:  # noqa: BLE001 - as above
        return WasSent.CANNOT_SAY


def reply_id(line: str, route: ChatRoute) -> str:
    """Return the id of the delivery of a reply to one route."""
    return f"reply:{line}:{digest_of(chr(10).join(route_name(route.to_json())))[:8]}"


def cut_bytes(text: str, limit: int, session: str) -> str:
    """Return a text of at most `limit` bytes; a longer one ends with a line that says where the rest is."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit:
        return text
    note = f"\n… {len(encoded):,} bytes in all; the rest is in the transcript of {session}"
    kept = encoded[: max(0, limit - len(note.encode()))].decode("utf-8", "ignore")
    return kept + note


@asynccontextmanager
async def open_deliveries(
    config: Callable[[], GatewayConfig], record: GatewayRecord, find_channel: FindChannel, clock: Clock
) -> AsyncIterator[Deliveries]:
    """Open the deliveries of a gateway. Leaving the block ends the tries; what was on its way is on record.

    Call `look` once the plan of the start was carried out.

    Args:
        config: Returns the configuration in force.
        record: The gateway's journal.
        find_channel: Returns the channel of an account; None if it is not there now.
        clock: The wall clock.
    """
    async with trio.open_nursery() as nursery:
        yield Deliveries(config, record, find_channel, clock, nursery)
        nursery.cancel_scope.cancel()
