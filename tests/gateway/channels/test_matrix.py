"""The Matrix channel: logins, rooms and threads, other events, gaps, and what a server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.core import PeerError, UsageError
from greenroom.gateway.announce._parts import cut_parts
from greenroom.gateway.channels import (
    ChannelHost,
    ChatRoute,
    Inbound,
    Outbound,
    PeerKind,
    SendReceipt,
    SendResult,
    WasSent,
)
from greenroom.gateway.channels._matrix import ENCRYPTED, MatrixClient
from greenroom.gateway.channels._matrix_api import POLL_S
from greenroom.gateway.channels._matrix_events import MatrixMark, json_bytes, message_of_part, read_sync, sendable
from greenroom.gateway.config._values import Secret
from tests.gateway.channels.matrix_server import AGENT, ANN, BOB, DIRECT, ROOM, ScriptedMatrix, open_scripted_matrix

TO_ROOM = ChatRoute(channel="matrix", kind=PeerKind.GROUP, peer=ROOM)
TO_ANN = ChatRoute(channel="matrix", peer=ANN)
MENTION: Mapping[str, Any] = {"m.mentions": {"user_ids": [AGENT]}}


@attrs.define(eq=False)
class Case:
    """A connected channel."""

    server: ScriptedMatrix
    channel: MatrixClient
    heard: list[Inbound] = attrs.field(factory=list)
    cursors: list[str] = attrs.field(factory=list)
    lost: PeerError | None = None
    friends: frozenset[str] = frozenset({ANN})

    async def run(self, connected: trio.Event, cursor: str) -> None:
        host = ChannelHost(
            hear=self._hear,
            connected=connected.set,
            save_cursor=self._save,
            cursor=cursor,
            may_invite=self.friends.__contains__,
        )
        try:
            await self.channel.run(host)
        except PeerError as error:
            self.lost = error
            connected.set()

    async def _hear(self, inbound: Inbound) -> None:
        await trio.lowlevel.checkpoint()
        self.heard.append(inbound)

    async def _save(self, cursor: str) -> None:
        await trio.lowlevel.checkpoint()
        self.cursors.append(cursor)

    async def send(self, text: str, route: ChatRoute = TO_ROOM, key: str = "key") -> SendReceipt:
        return await self.channel.send(Outbound(route=route, key=key, text=text))

    async def hears(self, body: str, **options: Any) -> Inbound | None:
        """Return what a message becomes; None if it becomes none."""
        self.heard.clear()
        self.server.say(body, **options)
        await trio.sleep(1)
        return self.heard[0] if self.heard else None

    def sent(self) -> list[Any]:
        return [body for method, path, body in self.server.requests if method == "PUT" and "/send/" in path]


@asynccontextmanager
async def open_case(cursor: str = "", settings: Mapping[str, Any] | None = None, **server: Any) -> AsyncIterator[Case]:
    async with open_scripted_matrix(**server) as scripted, trio.open_nursery() as nursery:
        case = Case(scripted, scripted.make(**(settings or {})))
        connected = trio.Event()
        nursery.start_soon(case.run, connected, cursor)
        await connected.wait()
        yield case
        nursery.cancel_scope.cancel()


# --- logins -----------------------------------------------------------------------------------------------------------


async def test_a_password_logs_in_by_the_same_device_each_time(autojump_clock: MockClock) -> None:
    async with open_scripted_matrix(password="secret") as server:
        bodies = []
        for _ in range(2):
            case = Case(server, server.make())
            with trio.move_on_after(5):
                await case.run(trio.Event(), "")
            bodies.append(next(body for _, path, body in reversed(server.requests) if path == "login"))
        assert bodies[0] == bodies[1]
        assert bodies[0]["device_id"].startswith("GREENROOM")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"access_token": Secret("text", ("another",))}, "401 M_UNKNOWN_TOKEN"),
        ({"user_id": "@other:localhost"}, "not of '@other:localhost'"),
        ({"access_token": None}, "neither a token nor a password"),
        ({"access_token": None, "password": Secret("text", ("wrong",))}, "403 M_FORBIDDEN"),
    ],
)
async def test_a_login_that_is_refused_says_why(settings: dict[str, Any], why: str, autojump_clock: MockClock) -> None:
    async with open_case(settings=settings) as case:
        assert why in str(case.lost)
        assert "another" not in str(case.lost)
        assert case.server.marks == []


@pytest.mark.parametrize(
    "address",
    ["http://example.org", "http://192.168.1.4:8008", "ftp://localhost", "localhost:8008", "", "http://[::1"],
)
def test_an_address_without_encryption_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="https"):
        ScriptedMatrix().make(homeserver=address)


@pytest.mark.parametrize(
    "address", ["https://example.org", "http://localhost:8008", "http://127.0.0.1/", "http://[::1]"]
)
def test_an_address_with_encryption_or_of_this_machine_passes(address: str) -> None:
    ScriptedMatrix().make(homeserver=address)


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_what_was_said_before_the_first_start_is_not_read(autojump_clock: MockClock) -> None:
    async with open_scripted_matrix() as server:
        server.say("yesterday")
        case = Case(server, server.make())
        with trio.move_on_after(5):
            await case.run(trio.Event(), "")
        assert case.heard == []
        server.say("meanwhile")
        with trio.move_on_after(5):
            await case.run(trio.Event(), case.cursors[-1])
        assert [inbound.text for inbound in case.heard] == ["meanwhile"]


async def test_a_direct_chat_is_that_of_a_person_and_a_room_its_own(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        direct = await case.hears("hello")
        assert direct is not None
        assert (direct.route, direct.sender.id, direct.sender.name) == (TO_ANN, ANN, "ann")
        assert direct.sent_s == pytest.approx(1_770_000_000, abs=60)
        room = await case.hears("hello", room=ROOM)
        assert room is not None
        assert (room.route, room.mentions_us) == (TO_ROOM, False)
        thread = await case.hears(
            "more", room=ROOM, **{"m.relates_to": {"rel_type": "m.thread", "event_id": "$root"}}, **MENTION
        )
        assert thread is not None
        assert (thread.route, thread.mentions_us) == (attrs.evolve(TO_ROOM, thread="$root"), True)

        case.server.join(DIRECT, BOB)
        await trio.sleep(1)
        third = await case.hears("and now we are three")
        assert third is not None
        assert third.route == ChatRoute(channel="matrix", kind=PeerKind.GROUP, peer=DIRECT)
        receipt = await case.send("a secret for ann", TO_ANN)
        assert receipt.result is SendResult.REFUSED, "no room has ann alone any more"


@pytest.mark.parametrize(
    "content",
    [
        {"m.relates_to": {"rel_type": "m.replace", "event_id": "$a"}, "m.new_content": {"body": "x"}},
        {"sender": AGENT},
    ],
)
async def test_edits_and_own_messages_are_not_handed_in(content: dict[str, Any], autojump_clock: MockClock) -> None:
    async with open_case() as case:
        assert await case.hears("x", **content) is None


async def test_events_that_are_no_messages_are_not_handed_in(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        case.server.add(DIRECT, "m.room.redaction", {"redacts": "$a"})
        case.server.add(DIRECT, "m.reaction", {"m.relates_to": {"key": "x"}})
        case.server.add(DIRECT, "m.room.message", {})  # it was taken back
        case.server.add(DIRECT, "m.room.message", {"body": 7, "msgtype": "m.text"})
        await trio.sleep(5)
        assert case.heard == []


@pytest.mark.parametrize(
    ("content", "text", "is_mentioned"),
    [
        ({"body": "hi", **MENTION}, "hi", True),
        ({"body": "hi", "m.mentions": {}}, "hi", False),
        ({"body": f"hi {AGENT}"}, f"hi {AGENT}", True),
        ({"body": "hi", "formatted_body": f'<a href="https://matrix.to/#/{AGENT}">agent</a>'}, "hi", True),
        ({"body": f"hi {AGENT}", "m.mentions": {"user_ids": [BOB]}}, f"hi {AGENT}", False),
        ({"body": "waves", "msgtype": "m.emote"}, "* waves", False),
        (
            {"body": "> <@x:y> quoted\n> more\n\nanswer", "m.relates_to": {"m.in_reply_to": {"event_id": "$x"}}},
            "answer",
            False,
        ),
        ({"body": "> said by me"}, "> said by me", False),
        ({"body": "cat.png", "msgtype": "m.image"}, "", False),
        ({"body": "look", "filename": "cat.png", "msgtype": "m.image"}, "look", False),
    ],
)
async def test_texts_and_mentions_are_read(
    content: dict[str, Any], text: str, *, is_mentioned: bool, autojump_clock: MockClock
) -> None:
    async with open_case() as case:
        inbound = await case.hears(room=ROOM, **content)
        assert inbound is not None
        assert (inbound.text, inbound.mentions_us) == (text, is_mentioned)


async def test_an_answer_to_the_agent_mentions_it(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await case.send("a question?")
        mine = next(event["event_id"] for _, event in case.server.events if event["sender"] == AGENT)
        inbound = await case.hears("yes", room=ROOM, **{"m.relates_to": {"m.in_reply_to": {"event_id": mine}}})
        assert inbound is not None
        assert inbound.mentions_us


async def test_a_file_is_named_and_not_fetched(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        facts = {"mimetype": "image/png", "size": 1234}
        inbound = await case.hears("cat.png", msgtype="m.image", info=facts, url="mxc://localhost/x")
        assert inbound is not None
        (file,) = inbound.attachments
        assert (file.name, file.type, file.size_bytes) == ("cat.png", "image/png", 1234)
        assert not any("media" in path for _, path, _ in case.server.requests)


@pytest.mark.promise("A26-e")
async def test_notices_are_told_as_those_of_programs(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        inbound = await case.hears("beep", msgtype="m.notice")
        assert inbound is not None
        assert inbound.sender.is_program

        await case.send("to all")
        await case.send("to one", TO_ANN, key="other")
        assert [content["msgtype"] for content in case.sent()] == ["m.notice", "m.text"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "rooms",
                        "join",
                        "invite",
                        "leave",
                        "timeline",
                        "events",
                        "state",
                        "type",
                        "content",
                        "limited",
                        "unsigned",
                    ]
                ),
                x,
            )
        ),
        max_leaves=20,
    )
)
def test_an_answer_of_any_shape_is_read(answer: Any) -> None:
    read_sync({"rooms": {"join": {"!a:b": answer}, "invite": {"!b:b": answer}}, "next_batch": "s"}, AGENT)
    if isinstance(answer, dict):
        read_sync(answer, AGENT)


# --- rooms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("inviter", "is_followed"), [(ANN, True), (BOB, False)])
async def test_invitations_of_allowed_people_are_followed(
    inviter: str, *, is_followed: bool, autojump_clock: MockClock
) -> None:
    async with open_case() as case:
        case.server.members["!new:localhost"] = {inviter}
        case.server.invite("!new:localhost", inviter)
        await trio.sleep(5)
        assert (AGENT in case.server.members["!new:localhost"]) == is_followed


async def test_an_encrypted_room_is_told_so_once(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        for _ in range(3):
            case.server.add(ROOM, "m.room.encrypted", {"ciphertext": "x"})
            await trio.sleep(1)
        assert case.heard == []
        assert case.server.shown == [ENCRYPTED]
        cursor = case.cursors[-1]
        case.server.add(ROOM, "m.room.encrypted", {"ciphertext": "x"})
        again = Case(case.server, case.server.make())
        with trio.move_on_after(5):
            await again.run(trio.Event(), cursor)
        assert len(case.sent()) == 1, "it was said again after a restart"


def test_a_mark_is_that_of_its_cursor() -> None:
    for mark in (MatrixMark(), MatrixMark(since="s1_2"), MatrixMark(since="s", told=frozenset({"!a:b", "!c:d"}))):
        assert MatrixMark.from_cursor(mark.to_cursor()) == mark


async def test_a_gap_of_many_messages_is_filled_in_order(autojump_clock: MockClock) -> None:
    async with open_scripted_matrix(timeline_limit=3) as server:
        case = Case(server, server.make())
        with trio.move_on_after(5):
            await case.run(trio.Event(), "")
        for number in range(11):
            server.say(f"message {number}")
        with trio.move_on_after(5):
            await case.run(trio.Event(), case.cursors[-1])
        assert [inbound.text for inbound in case.heard] == [f"message {number}" for number in range(11)]


async def test_an_idle_account_asks_seldom_and_saves_its_mark_seldom(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await trio.sleep(3_600)
        assert len(case.server.marks) == pytest.approx(3_600 / POLL_S, abs=3)
        assert len(case.cursors) <= 14


# --- sending ----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A26-b")
@pytest.mark.parametrize(
    ("error", "receipt"),
    [
        (
            (429, {"errcode": "M_LIMIT_EXCEEDED", "error": "slow", "retry_after_ms": 2500}),
            SendReceipt(result=SendResult.REFUSED, why="429 M_LIMIT_EXCEEDED slow", wait_s=2.5),
        ),
        (
            (413, {"errcode": "M_TOO_LARGE", "error": "big"}),
            SendReceipt(result=SendResult.REFUSED, why="413 M_TOO_LARGE big"),
        ),
        (
            (403, {"errcode": "M_FORBIDDEN", "error": "no"}),
            SendReceipt(result=SendResult.REFUSED, why="403 M_FORBIDDEN no"),
        ),
        ((401, {"errcode": "M_UNKNOWN_TOKEN"}), SendReceipt(result=SendResult.FAILED, why="401 M_UNKNOWN_TOKEN")),
        ((502, {}), SendReceipt(result=SendResult.UNKNOWN, why="502")),
    ],
)
async def test_what_a_server_says_to_a_text_is_the_result(
    error: tuple[int, dict[str, Any]], receipt: SendReceipt, autojump_clock: MockClock
) -> None:
    async with open_case() as case:
        case.server.errors.append(error)
        assert await case.send("hello") == receipt
        assert (await case.send("hello")).result is SendResult.TAKEN
        assert case.server.shown == ["hello"]


async def test_a_part_goes_into_its_thread_and_mentions_nobody(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await case.send("@room hi", attrs.evolve(TO_ROOM, thread="$root"))
        await case.send("hi", attrs.evolve(TO_ROOM, answers="$m"), key="other")
        first, second = case.sent()
        assert first["m.relates_to"] == {
            "rel_type": "m.thread",
            "event_id": "$root",
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": "$root"},
        }
        assert first["m.mentions"] == {}
        assert second["m.relates_to"] == {"m.in_reply_to": {"event_id": "$m"}}


async def test_a_direct_room_is_found_after_a_restart(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        assert (await case.send("good morning", TO_ANN)).result is SendResult.TAKEN
        assert case.server.events[-1][0] == DIRECT
        receipt = await case.send("good morning", ChatRoute(channel="matrix", peer="@zoe:localhost"))
        assert receipt.result is SendResult.REFUSED
        assert "invite" in receipt.why
        assert await case.channel.was_sent("key") is WasSent.YES
        assert await case.channel.was_sent("other") is WasSent.CANNOT_SAY


async def test_typing_is_shown_and_its_failure_ignored(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await case.channel.show_typing(TO_ROOM, is_typing=True)
        await case.channel.show_typing(TO_ROOM, is_typing=False)
        bodies = [body for _, path, body in case.server.requests if "/typing/" in path]
        assert [body["typing"] for body in bodies] == [True, False]
        case.server.is_up = False
        await case.channel.show_typing(TO_ROOM, is_typing=True)


@pytest.mark.promise("A26-d")
@given(st.text(st.sampled_from('aä漢🙂"\\\n\t\0\x01\ud800') | st.characters(), max_size=300), st.integers(20, 200))
def test_no_part_is_over_the_limit_in_an_event(text: str, limit: int) -> None:
    parts = cut_parts(text, limit, json_bytes)

    assert "".join(part.body for part in parts) == text
    for part in parts:
        content = message_of_part(Outbound(route=TO_ANN, key="k", text=part.text))
        assert content["body"] == sendable(part.text)
        assert json_bytes(content["body"]) <= limit
