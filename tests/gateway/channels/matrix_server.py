"""A Matrix server in memory behind the transport of the HTTP library: one account of the agent, one person `ann`, and faults on request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import attrs
import httpx2
import orjson
import trio

from greenroom.gateway.channels import ChatRoute
from greenroom.gateway.channels._matrix import MatrixClient
from greenroom.gateway.config._channels import MatrixAccount
from greenroom.gateway.config._values import Secret
from greenroom.testing import virtual_ports

AGENT, ANN, BOB = "@agent:localhost", "@ann:localhost", "@bob:localhost"
DIRECT, ROOM = "!direct:localhost", "!room:localhost"
TOKEN = "a token"


@attrs.define(eq=False)
class ScriptedMatrix:
    """The server. Settings first, then what a test reads."""

    password: str = ""
    """With one, the account logs in; else it has a token."""
    members: dict[str, set[str]] = attrs.field(
        factory=lambda: {DIRECT: {AGENT, ANN}, ROOM: {AGENT, ANN, BOB, "@robot:localhost"}}
    )
    timeline_limit: int = 1_000
    steps: int = 3
    """Steps of other tasks between receiving a request, carrying it out, and answering it."""
    errors: list[tuple[int, dict[str, Any]]] = attrs.field(factory=list)
    """Answers to the next texts, instead of taking them."""
    is_up: bool = True
    events: list[tuple[str, dict[str, Any]]] = attrs.field(factory=list)
    """All events, with their rooms."""
    invitations: list[tuple[int, str, str]] = attrs.field(factory=list)
    transactions: dict[tuple[str, str], str] = attrs.field(factory=dict)
    requests: list[tuple[str, str, Any]] = attrs.field(factory=list)
    """Method, path and body of all requests."""
    marks: list[str] = attrs.field(factory=list)
    """The marks that clients asked from."""
    syncs: list[float] = attrs.field(factory=list)
    _scopes: set[trio.CancelScope] = attrs.field(factory=set)
    _changed: trio.Event = attrs.field(factory=trio.Event)
    route: ChatRoute = attrs.field(factory=lambda: ChatRoute(channel="matrix", peer=ANN))

    # --- what the kit uses --------------------------------------------------------------------------------------------

    @property
    def shown(self) -> list[str]:
        return [
            event["content"]["body"]
            for _, event in self.events
            if event["sender"] == AGENT and event["type"] == "m.room.message"
        ]

    @property
    def open_connections(self) -> int:
        return len(self._scopes)

    def make(self, name: str = "default", **settings: Any) -> MatrixClient:
        secret = Secret("text", (self.password or TOKEN,))
        given = {"password" if self.password else "access_token": secret, **settings}
        account = MatrixAccount(**{"homeserver": "http://localhost:8008", "user_id": AGENT, **given})
        return MatrixClient(
            name,
            account,
            ports=virtual_ports(),
            read_secret=_plain,
            transport=httpx2.MockTransport(self._serve),
        )

    def write(self, text: str, *, is_program: bool = False) -> None:
        self.say(text, msgtype="m.notice" if is_program else "m.text")

    def cut(self) -> None:
        for scope in self._scopes:
            scope.cancel()

    def set_up(self, *, is_up: bool) -> None:
        self.is_up = is_up

    # --- what tests use -----------------------------------------------------------------------------------------------

    def say(self, body: str, *, room: str = DIRECT, sender: str = ANN, **content: Any) -> str:
        """Write a message, and return its id."""
        return self.add(room, "m.room.message", {"msgtype": "m.text", "body": body, **content}, sender=sender)

    def add(self, room: str, kind: str, content: Mapping[str, Any], *, sender: str = ANN, **fields: Any) -> str:
        event_id = f"$e{len(self.events)}"
        event = {"type": kind, "event_id": event_id, "sender": sender, "content": dict(content)}
        self.events.append((room, {**event, "origin_server_ts": 1_770_000_000_000 + len(self.events), **fields}))
        self.wake()
        return event_id

    def invite(self, room: str, person: str = ANN) -> None:
        self.invitations.append((len(self.events), room, person))
        self.add("!nowhere:localhost", "m.tick", {})

    def join(self, room: str, person: str) -> None:
        self.members.setdefault(room, set()).add(person)
        self.add(room, "m.room.member", {"membership": "join"}, sender=person, state_key=person)

    def wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _serve(self, request: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        if not self.is_up:
            raise httpx2.ConnectError("connection refused")
        response: httpx2.Response | None = None
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                for _ in range(self.steps):
                    await trio.lowlevel.checkpoint()
                status, answer = await self._answer(request)
                for _ in range(self.steps):
                    await trio.lowlevel.checkpoint()
                response = httpx2.Response(status, json=answer)
            finally:
                self._scopes.discard(scope)
        if response is None:
            raise httpx2.RemoteProtocolError("the server disconnected")
        return response

    async def _answer(self, request: httpx2.Request) -> tuple[int, dict[str, Any]]:
        path = request.url.raw_path.decode().partition("?")[0].removeprefix("/_matrix/client/v3/")
        parts = [unquote(part) for part in path.split("/")]
        body: Any = orjson.loads(request.content) if request.content else None
        self.requests.append((request.method, path, body))
        if parts == ["login"]:
            is_right = body["password"] == self.password and body["identifier"]["user"] == AGENT
            error = {"errcode": "M_FORBIDDEN", "error": "Invalid username or password"}
            return (200, {"access_token": TOKEN, "user_id": AGENT}) if is_right else (403, error)
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {"errcode": "M_UNKNOWN_TOKEN", "error": "Unknown token"}
        match parts:
            case ["account", "whoami"]:
                return 200, {"user_id": AGENT, "device_id": "D"}
            case ["sync"]:
                return 200, await self._sync(request.url.params)
            case ["joined_rooms"]:
                return 200, {"joined_rooms": [room for room, people in self.members.items() if AGENT in people]}
            case ["rooms", room, "joined_members"]:
                return 200, {"joined": {person: {} for person in sorted(self.members[room])}}
            case ["join", room]:
                self.join(room, AGENT)
                return 200, {"room_id": room}
            case ["rooms", room, "messages"]:
                return 200, self._messages(room, request.url.params)
            case ["rooms", room, "send", "m.room.message", key]:
                return self._send(room, key, body)
            case ["rooms", _, "typing", _]:
                return 200, {}
        return 404, {"errcode": "M_UNRECOGNIZED"}

    def _send(self, room: str, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.errors:
            return self.errors.pop(0)
        if len(orjson.dumps(body)) > 65_000:
            return 413, {"errcode": "M_TOO_LARGE", "error": "event too large"}
        if AGENT not in self.members.get(room, set()):
            return 403, {"errcode": "M_FORBIDDEN", "error": "not in the room"}
        if (room, key) not in self.transactions:
            self.transactions[room, key] = self.add(room, "m.room.message", body, sender=AGENT)
        return 200, {"event_id": self.transactions[room, key]}

    async def _sync(self, query: httpx2.QueryParams) -> dict[str, Any]:
        self.marks.append(query.get("since") or "")
        self.syncs.append(trio.current_time())
        since = int((query.get("since") or "s-1")[1:])
        with trio.move_on_after(int(query.get("timeout") or 0) / 1000):
            while since >= 0 and len(self.events) <= since:
                await self._changed.wait()
        rooms: dict[str, list[dict[str, Any]]] = {}
        for room, event in self.events[max(since, 0) :]:
            if AGENT in self.members.get(room, set()):
                rooms.setdefault(room, []).append(event)
        join = {room: {"timeline": self._timeline(events, since)} for room, events in rooms.items()}
        invite = {
            room: {"invite_state": {"events": [_invitation(person)]}}
            for at, room, person in self.invitations
            if at >= since and AGENT not in self.members.get(room, set())
        }
        return {"next_batch": f"s{len(self.events)}", "rooms": {"join": join, "invite": invite}}

    def _timeline(self, events: list[dict[str, Any]], since: int) -> dict[str, Any]:
        kept = events[-self.timeline_limit :]
        is_limited = len(kept) < len(events) or since < 0
        prev = next(at for at, (_, event) in enumerate(self.events) if event is kept[0])
        return {"events": kept, "limited": is_limited, "prev_batch": f"p{prev}"}

    def _messages(self, room: str, query: httpx2.QueryParams) -> dict[str, Any]:
        end, start = int(query["from"][1:]), int(query["to"][1:])
        found = [(at, event) for at, (place, event) in enumerate(self.events) if place == room and start <= at < end]
        page = found[::-1][:2]
        return {"chunk": [event for _, event in page], "end": f"p{page[-1][0]}" if page else ""}


def _invitation(person: str) -> dict[str, Any]:
    return {"type": "m.room.member", "state_key": AGENT, "sender": person, "content": {"membership": "invite"}}


async def _plain(secret: Secret) -> str:
    await trio.lowlevel.checkpoint()
    return secret.reference[0]


@asynccontextmanager
async def open_scripted_matrix(**settings: Any) -> AsyncIterator[ScriptedMatrix]:
    await trio.lowlevel.checkpoint()
    yield ScriptedMatrix(**settings)
