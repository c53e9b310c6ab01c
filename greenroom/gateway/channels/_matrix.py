"""An account of a Matrix server.

Rule 1: the mark of what was read moves only when everything before it is stored. Rule 2: a part is sent with its key as the id of the
transaction, always by the same device, so the server shows it once however often it is sent. Rule 3: the token and the password go to the
server of the account alone.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

import trio

from greenroom.core import PeerError
from greenroom.core.ports import Ports
from greenroom.gateway.channels._channel import ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.channels._irc import ReadSecret
from greenroom.gateway.channels._matrix_api import MatrixApi, MatrixLost, MatrixRefused, check_address, open_matrix_api
from greenroom.gateway.channels._matrix_events import (
    MatrixMark,
    RoomNews,
    SyncNews,
    inbound_of,
    is_direct_room,
    is_message,
    json_bytes,
    message_of_part,
    read_sync,
)
from greenroom.gateway.config._channels import MatrixAccount
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import ChatRoute, Outbound, PeerKind, SendReceipt

if TYPE_CHECKING:
    import httpx2

PART_BYTES: Final = 30_000
"""Longest part; a server takes events of 64 kB."""
QUIET_MARK_S: Final = 300.0
"""Seconds between two saves of the mark while nothing happens."""
TYPING_S: Final = 30
ENCRYPTED: Final = "This room is encrypted, and I cannot read it. Please write to me in a room without encryption."
_MAX_KNOWN: Final = 2_000


@final
class MatrixClient:
    """A channel: an account of a Matrix server.

    Args:
        account: Its name in the configuration.
        settings: Its settings.
        ports: Time and ids.
        read_secret: Reads the token or the password at each connection.
        transport: Replaces the network in tests.

    Raises:
        UsageError: The server's address has no encryption beyond this machine.
    """

    traits = ChannelTraits(limit=PART_BYTES, measure=json_bytes, takes_keys=True)

    def __init__(
        self,
        account: str,
        settings: MatrixAccount,
        *,
        ports: Ports,
        read_secret: ReadSecret,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._account = account
        self._settings = settings
        self._ports = ports
        self._read_secret = read_secret
        self._transport = transport
        self._address = check_address(settings.homeserver)
        self._api: MatrixApi | None = None
        self._own_id = settings.user_id
        self._members: dict[str, frozenset[str]] = {}
        """The people in each room; a room that is missing is asked for."""
        self._direct_rooms: dict[str, str] = {}
        """The rooms in which persons have written to the agent alone, by person."""
        self._own_events: OrderedDict[str, None] = OrderedDict()
        self._taken: OrderedDict[str, None] = OrderedDict()
        """Keys of parts that the server has confirmed."""

    # --- reading ----------------------------------------------------------------------------------------------------

    async def run(self, host: ChannelHost) -> None:
        """Log in, and read messages until it is cancelled; see `Channel.run`."""
        async with open_matrix_api(self._address, self._transport) as api:
            try:
                await self._log_in(api)
                mark = MatrixMark.from_cursor(host.cursor)
                if not mark.since:  # what was said before the first start is not read
                    mark = await self._take(api, host, mark, read_sync(await api.sync(""), self._own_id))
                    await host.save_cursor(mark.to_cursor())
                self._api = api
                host.connected()
                await self._follow(api, host, mark)
            finally:
                self._api = None
                self._members.clear()

    async def _log_in(self, api: MatrixApi) -> None:
        settings = self._settings
        if settings.access_token is not None:
            api.token = await self._read_secret(settings.access_token)
            answer = await api.call("GET", "/account/whoami")
        else:
            if settings.password is None:
                raise PeerError("the account has neither a token nor a password")
            body = {
                "type": "m.login.password",
                "identifier": {"type": "m.id.user", "user": settings.user_id},
                "password": await self._read_secret(settings.password),
                # Always the same one: keys of parts count by device.
                "device_id": f"GREENROOM{hashlib.sha256(self._account.encode()).hexdigest()[:8].upper()}",
                "initial_device_display_name": settings.device_name,
            }
            answer = await api.call("POST", "/login", body=body)
            api.token = str(answer.get("access_token") or "")
        self._own_id = str(answer.get("user_id") or "")
        if self._own_id != settings.user_id:
            raise PeerError(f"the login is that of {self._own_id!r}, not of {settings.user_id!r}")

    async def _follow(self, api: MatrixApi, host: ChannelHost, mark: MatrixMark) -> None:
        saved_at_s = trio.current_time()
        while True:
            news = read_sync(await api.sync(mark.since), self._own_id)
            mark = await self._take(api, host, mark, news)
            if not news.is_empty or trio.current_time() - saved_at_s >= QUIET_MARK_S:
                await host.save_cursor(mark.to_cursor())
                saved_at_s = trio.current_time()

    async def _take(self, api: MatrixApi, host: ChannelHost, mark: MatrixMark, news: SyncNews) -> MatrixMark:
        """Hand in what an answer says, and return the mark behind it."""
        for room in news.left:
            self._members.pop(room, None)
        for room, inviter in news.invitations:
            if host.may_invite(inviter):
                with suppress(MatrixRefused):  # it was withdrawn, or the room is closed to us
                    await api.call("POST", "/join/{}", room, body={})
        told = mark.told
        for each in news.rooms:
            if each.has_new_members:
                self._members.pop(each.room, None)
            if each.is_encrypted and each.room not in told:
                await self._say_encrypted(api, each.room)
                told |= {each.room}
            if mark.since:
                await self._hand_in(api, host, mark, each)
        return MatrixMark(since=news.since or mark.since, told=told)

    async def _hand_in(self, api: MatrixApi, host: ChannelHost, mark: MatrixMark, news: RoomNews) -> None:
        events: list[Mapping[str, Any]] = []
        if news.gap_from:
            events += await api.between(news.room, news.gap_from, mark.since)
        events += news.events
        for event in events:
            if event.get("sender") == self._own_id:
                _remember(self._own_events, str(event.get("event_id")))
            if not is_message(event, self._own_id):
                continue
            members = await self._members_of(api, news.room)
            inbound = inbound_of(
                event,
                account=self._account,
                room=news.room,
                own_id=self._own_id,
                members=members,
                own_events=self._own_events.keys(),
            )
            if inbound.route.kind is PeerKind.DIRECT:
                self._direct_rooms[inbound.sender.id] = news.room
            await host.hear(inbound)

    async def _say_encrypted(self, api: MatrixApi, room: str) -> None:
        content = {"msgtype": "m.notice", "body": ENCRYPTED, "m.mentions": {}}
        with suppress(MatrixRefused):
            await api.call("PUT", "/rooms/{}/send/m.room.message/{}", room, "encrypted", body=content)

    async def _members_of(self, api: MatrixApi, room: str) -> frozenset[str]:
        if room not in self._members:
            self._members[room] = await api.members(room)
        return self._members[room]

    # --- sending ----------------------------------------------------------------------------------------------------

    async def send(self, part: Outbound) -> SendReceipt:
        """Send a part; see `Channel.send`."""
        api = self._api
        if api is None:
            return SendReceipt(result=SendResult.FAILED, why="not connected")
        try:
            room = await self._room_of(api, part.route)
        except (MatrixRefused, MatrixLost) as error:
            return SendReceipt(result=SendResult.FAILED, why=f"cannot find the room: {error}")
        if not room:
            why = f"there is no direct room with {part.route.peer}; they have to invite the agent"
            return SendReceipt(result=SendResult.REFUSED, why=why)
        try:
            path = "/rooms/{}/send/m.room.message/{}"
            answer = await api.call("PUT", path, room, part.key, body=message_of_part(part), is_patient=False)
        except MatrixLost as lost:
            return SendReceipt(result=SendResult.UNKNOWN if lost.is_sent else SendResult.FAILED, why=str(lost))
        except MatrixRefused as refused:
            return _receipt_of(refused)
        _remember(self._own_events, str(answer.get("event_id")))
        _remember(self._taken, part.key)
        return SendReceipt(result=SendResult.TAKEN)

    async def _room_of(self, api: MatrixApi, route: ChatRoute) -> str:
        """Return the room of a route; empty if a person has none."""
        if route.kind is not PeerKind.DIRECT:
            return route.peer
        known = self._direct_rooms.get(route.peer)
        for room in [known] if known else []:
            if is_direct_room(await self._members_of(api, room), self._own_id, route.peer):
                return room
        for room in await api.rooms():
            if is_direct_room(await self._members_of(api, room), self._own_id, route.peer):
                self._direct_rooms[route.peer] = room
                return room
        return ""

    async def was_sent(self, key: str) -> WasSent:
        """Return yes if the server confirmed the part to this process; else send it again, which shows it once."""
        return WasSent.YES if key in self._taken else WasSent.CANNOT_SAY

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        """Show that an answer is being written; a failure is ignored."""
        api = self._api
        if api is None:
            return
        with suppress(PeerError):
            room = await self._room_of(api, route)
            body = {"typing": True, "timeout": TYPING_S * 1000} if is_typing else {"typing": False}
            if room:
                await api.call("PUT", "/rooms/{}/typing/{}", room, self._own_id, body=body)


def _receipt_of(refused: MatrixRefused) -> SendReceipt:
    """Return the result of a try that the server answered with an error."""
    if refused.status == 429:
        return SendReceipt(result=SendResult.REFUSED, why=str(refused), wait_s=refused.wait_s)
    if refused.status == 401:  # the connection logs in again
        return SendReceipt(result=SendResult.FAILED, why=str(refused))
    if refused.status >= 500:  # a proxy answers so, too, when the server behind it has taken the text
        return SendReceipt(result=SendResult.UNKNOWN, why=str(refused))
    return SendReceipt(result=SendResult.REFUSED, why=str(refused))


def _remember(known: OrderedDict[str, None], name: str) -> None:
    known[name] = None
    while len(known) > _MAX_KNOWN:
        known.popitem(last=False)
