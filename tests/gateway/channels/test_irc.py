"""The IRC channel: its login, who people are, what is refused, its pace, and messages that are none."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from greenroom.core import PeerError
from greenroom.gateway.channels import (
    Assurance,
    ChannelHost,
    ChatRoute,
    Inbound,
    Outbound,
    PeerKind,
    SendReceipt,
    SendResult,
    WasSent,
)
from greenroom.gateway.channels._irc import FRESH_S, MAX_UNHEARD, IrcClient
from greenroom.gateway.channels._irc_link import BURST, PACE_S, SILENCE_S
from greenroom.gateway.config._values import Secret
from tests.gateway.channels.irc_server import ANN, ScriptedIrc, open_scripted_irc

ROOM = ChatRoute(channel="irc", kind=PeerKind.CHANNEL, peer="#room")
TAGS = ("account-tag", "server-time", "message-tags", "batch")


@attrs.define(eq=False)
class Case:
    """A connected channel."""

    server: ScriptedIrc
    channel: IrcClient
    heard: list[Inbound] = attrs.field(factory=list)
    gate: trio.Event | None = None
    lost: PeerError | None = None

    async def run(self, host: ChannelHost) -> None:
        try:
            await self.channel.run(host)
        except PeerError as error:
            self.lost = error

    async def hear(self, inbound: Inbound) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.heard.append(inbound)

    async def save(self, cursor: str) -> None:
        raise NotImplementedError

    async def send(self, text: str, route: ChatRoute = ROOM) -> SendReceipt:
        return await self.channel.send(Outbound(route=route, key="key", text=text))

    async def hears(self, text: str, target: str = "agent", **options: Any) -> Inbound | None:
        """Return the message that a line becomes; None if it becomes none."""
        self.heard.clear()
        self.server.say(options.pop("command", "PRIVMSG"), target, text, **options)
        await trio.sleep(5)
        return self.heard[0] if self.heard else None


@asynccontextmanager
async def open_case(settings: dict[str, Any] | None = None, **server: Any) -> AsyncIterator[Case]:
    async with open_scripted_irc(**server) as scripted, trio.open_nursery() as nursery:
        case = Case(scripted, scripted.make(**(settings or {})))
        connected = trio.Event()
        host = ChannelHost(hear=case.hear, connected=connected.set, save_cursor=case.save)
        nursery.start_soon(case.run, host)
        await connected.wait()
        await trio.sleep(1)
        yield case
        nursery.cancel_scope.cancel()


async def _login_error(settings: dict[str, Any] | None = None, **server: Any) -> str:
    async with open_scripted_irc(**server) as scripted:
        host = ChannelHost(hear=None, connected=lambda: None, save_cursor=None)  # type: ignore[arg-type]
        with pytest.raises(PeerError) as caught:
            await scripted.make(**(settings or {})).run(host)
        await trio.sleep(1)
        assert scripted.visits == []
        return str(caught.value)


# --- the login --------------------------------------------------------------------------------------------------------


async def test_a_login_asks_for_what_is_offered_and_joins(autojump_clock: MockClock) -> None:
    async with open_case({"channels": ("#room", "#other")}, capabilities=TAGS) as case:
        received = [line.decode() for line in case.server.received]

        assert "CAP REQ :account-tag server-time message-tags" in received
        assert received[-3:] == ["MODE agent :+B", "JOIN :#room", "JOIN :#other"]


async def test_a_password_goes_by_sasl_alone(autojump_clock: MockClock) -> None:
    long = "p" * 290  # its coded form is one chunk of 400 and a rest
    async with open_case(password="secret", capabilities=TAGS) as case:
        assert b"AUTHENTICATE :PLAIN" in case.server.received
        assert not any(b"secret" in line for line in case.server.received)

    assert "refused the login" in await _login_error({"password": _secret(long)}, password="other")
    assert "no SASL" in await _login_error({"password": _secret("x")}, capabilities=TAGS)


def _secret(text: str) -> Secret:
    return Secret("text", (text,))


async def test_a_taken_nick_gets_a_dash_and_then_is_refused(autojump_clock: MockClock) -> None:
    async with open_case(taken_nicks={"agent"}) as case:
        assert case.server.visits[0].nick == "agent_"
        inbound = await case.hears("agent_: hello", "#room")
        assert inbound is not None
        assert inbound.mentions_us

    taken = {"agent" + "_" * count for count in range(9)}
    assert "taken" in await _login_error(taken_nicks=taken)


async def test_a_server_that_says_nothing_is_given_up(autojump_clock: MockClock) -> None:
    async with open_scripted_irc() as scripted:
        silent, _ = trio.testing.memory_stream_pair()
        channel = scripted.make()
        channel._open_stream = _opened(silent)
        host = ChannelHost(hear=None, connected=lambda: None, save_cursor=None)  # type: ignore[arg-type]
        with pytest.raises(PeerError, match="did not finish the login"):
            await channel.run(host)


def _opened(stream: trio.abc.Stream) -> Any:
    async def opened(_: Any) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        return stream

    return opened


async def test_a_server_that_falls_silent_is_lost(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await trio.sleep(3 * SILENCE_S)
        assert len(case.server.visits) == 1, "an idle connection is kept"
        case.server.answers_pings = False
        await trio.sleep(3 * SILENCE_S)
        assert case.server.visits == []
        assert "silent" in str(case.lost)


# --- who people are ---------------------------------------------------------------------------------------------------


async def test_people_are_known_by_account_where_the_server_marks_it(autojump_clock: MockClock) -> None:
    async with open_case(capabilities=TAGS, support="CASEMAPPING=ascii CHANTYPES=# BOT=b") as case:
        tags = "account=Ann;time=2026-02-03T04:05:06.000Z;msgid=m1"
        inbound = await case.hears("hello", tags=tags)
        assert inbound is not None
        assert (inbound.sender.id, inbound.sender.assurance) == ("ann", Assurance.ACCOUNT)
        assert (inbound.route.peer, inbound.id, inbound.sent_s) == ("ann", "m1", 1770091506.0)

        inbound = await case.hears("hello")
        assert inbound is not None
        assert (inbound.sender.id, inbound.sender.assurance) == (ANN, Assurance.MASK)

        forged = await case.hears("hello", tags="account=ann!x@y")
        assert forged is not None
        assert forged.sender.assurance is Assurance.MASK, "an account cannot look like a mask"


async def test_a_tag_that_was_not_granted_proves_nobody(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        inbound = await case.hears("hello", tags="account=ann")
        assert inbound is not None
        assert (inbound.sender.id, inbound.sender.assurance) == (ANN, Assurance.MASK)


async def test_a_reply_goes_to_the_person_and_not_to_a_nick(autojump_clock: MockClock) -> None:
    async with open_case(capabilities=TAGS, support="CASEMAPPING=ascii CHANTYPES=# BOT=b") as case:
        inbound = await case.hears("hello", tags="account=ann", source="annie!~ann@here")
        assert inbound is not None
        case.server.hosts["annie"] = "annie!~ann@here"
        assert (await case.send("hi", inbound.route)).result is SendResult.TAKEN
        assert case.server.messages == [("annie", "hi")]

        await trio.sleep(FRESH_S)
        case.server.hosts["annie"], case.server.accounts = "annie!~eve@there", {"annie": "eve"}
        receipt = await case.send("a secret", inbound.route)
        assert receipt == SendReceipt(result=SendResult.REFUSED, why="annie is somebody else now")

        case.server.accounts = {"annie": "Ann"}
        assert (await case.send("back", inbound.route)).result is SendResult.TAKEN
        assert [text for _, text in case.server.messages] == ["hi", "back"]


async def test_after_a_restart_the_server_is_asked_who_has_the_nick(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        to_ann = ChatRoute(channel="irc", peer=ANN)
        assert (await case.send("hi", to_ann)).result is SendResult.TAKEN
        assert b"WHOIS :ann" in case.server.received

        to_eve = ChatRoute(channel="irc", peer="ann!~eve@there")
        assert (await case.send("hi", to_eve)).result is SendResult.REFUSED
        by_pattern = ChatRoute(channel="irc", peer="ann!*@*")
        assert (await case.send("hi", by_pattern)).result is SendResult.TAKEN
        by_account = ChatRoute(channel="irc", peer="ann")
        assert (await case.send("hi", by_account)).result is SendResult.REFUSED, "nobody is logged in as ann"


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_a_room_is_a_chat_of_its_own(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        for target in ("#Room", "@#room"):
            inbound = await case.hears("hello agent", target)
            assert inbound is not None
            assert (inbound.route, inbound.sender.id, inbound.sender.name) == (ROOM, ANN, "ann")
            assert inbound.mentions_us


@pytest.mark.parametrize(
    "line",
    [
        {"text": "\x01VERSION\x01"},
        {"text": "\x01DCC SEND x 1 2 3\x01"},
        {"text": "mine", "source": "agent!~a@h"},
        {"text": "from a server", "source": "irc.example.org", "command": "NOTICE"},
    ],
)
async def test_what_is_no_message_is_not_handed_in(line: dict[str, str], autojump_clock: MockClock) -> None:
    async with open_case() as case:
        assert await case.hears(**line) is None


@pytest.mark.promise("A26-e")
async def test_programs_are_told_as_programs(autojump_clock: MockClock) -> None:
    async with open_case(programs={"robot"}, capabilities=TAGS) as case:
        case.server.hosts["robot"] = "robot!r@h"
        for line in (
            {"text": "x", "command": "NOTICE"},
            {"text": "x", "tags": "bot"},
            {"text": "x", "source": "robot!r@h"},
        ):
            inbound = await case.hears(**line)
            assert inbound is not None
            assert inbound.sender.is_program
        person = await case.hears("x")
        assert person is not None
        assert not person.sender.is_program


async def test_equal_messages_have_ids_of_their_own(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        for _ in range(3):
            case.server.say("PRIVMSG", "agent", "yes")
        await trio.sleep(5)
        assert len({inbound.id for inbound in case.heard}) == 3


async def test_nothing_is_read_while_too_much_waits(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        assert await case.hears("a first one") is not None  # from now on the server need not be asked about its sender
        case.heard.clear()
        case.gate = trio.Event()
        for number in range(2 * MAX_UNHEARD):
            case.server.say("PRIVMSG", "agent", f"{number}")
        await trio.sleep(5)
        assert len(case.channel._unheard) == MAX_UNHEARD
        case.gate.set()
        await trio.sleep(5)
        assert [inbound.text for inbound in case.heard] == [f"{number}" for number in range(2 * MAX_UNHEARD)]


async def test_a_flood_of_a_new_person_does_not_hide_the_answer_about_it(autojump_clock: MockClock) -> None:
    async with open_case(programs={"ann"}) as case:
        began = trio.current_time()
        for number in range(2 * MAX_UNHEARD):
            case.server.say("PRIVMSG", "agent", f"{number}")
        await trio.sleep(5)
        assert len(case.heard) == 2 * MAX_UNHEARD
        assert all(inbound.sender.is_program for inbound in case.heard)
        assert trio.current_time() - began < 10


# --- sending ----------------------------------------------------------------------------------------------------------


async def test_some_lines_go_at_once_and_then_one_in_a_while(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        await trio.sleep(60)
        case.server.times.clear()
        for number in range(4):
            text = "\n".join(f"line {number}.{line}" for line in range(3))
            assert (await case.send(text)).result is SendResult.TAKEN
        times = case.server.times
        waits = [later - sooner for sooner, later in itertools.pairwise(times)]

        assert waits[: BURST - 1] == pytest.approx([0.0] * (BURST - 1))
        assert waits[BURST - 1 :] == pytest.approx([PACE_S] * (12 - BURST))
        await trio.sleep(60)
        times.clear()
        await case.send("\n".join("12345"))
        assert times[-1] == pytest.approx(times[0])


@pytest.mark.promise("A26-b")
async def test_a_refusal_belongs_to_the_text_it_is_about(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        receipts: dict[str, SendReceipt] = {}

        async def send(target: str) -> None:
            route = ChatRoute(channel="irc", kind=PeerKind.CHANNEL, peer=target)
            receipts[target] = await case.send("hello", route)

        case.server.answers_pings = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, "#room")
            await trio.sleep(1)
            for target in ("#gone", "#also-gone"):
                await send(target)
                assert receipts[target] == SendReceipt(result=SendResult.REFUSED, why="401 no such nick")
            assert set(receipts) == {"#gone", "#also-gone"}
            case.server.cut()
        assert receipts["#room"].result is SendResult.UNKNOWN


@pytest.mark.promise("A26-c")
@pytest.mark.parametrize("is_noticed", [True, False])
async def test_a_text_cut_between_its_lines_is_unknown(*, is_noticed: bool, autojump_clock: MockClock) -> None:
    async with open_case() as case:
        receipts = []

        async def send() -> None:
            receipts.append(await case.send("\n".join("123456789")))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(2 * PACE_S)
            link = case.channel._link
            assert link is not None
            if is_noticed:
                case.server.cut()
            else:
                link._out.close()  # the writer has found out, and the reader has not yet
        assert 0 < len(case.server.messages) < 9
        assert receipts[0].result is SendResult.UNKNOWN


@pytest.mark.promise("A26-c")
async def test_a_lost_connection_leaves_a_begun_text_unknown(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        case.server.answers_pings = False
        receipts = []

        async def send() -> None:
            receipts.append(await case.send("hello"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(1)
            case.server.cut()

        assert receipts[0].result is SendResult.UNKNOWN
        assert receipts[0].why
        assert (await case.send("again")).result is SendResult.FAILED


@pytest.mark.promise("A26-c")
@pytest.mark.parametrize(
    ("answers", "result"), [(0, SendResult.UNKNOWN), (1, SendResult.UNKNOWN), (2, SendResult.TAKEN)]
)
async def test_a_text_is_taken_when_the_server_has_answered_twice(
    answers: int, result: SendResult, autojump_clock: MockClock
) -> None:
    """A server that is killed behind its first answer may not have written the text to its readers."""
    async with open_case() as case:
        case.server.most_answers = answers
        if not answers:
            case.server.nursery.start_soon(_cut_later, case.server)
        receipt = await case.send("hello")

    assert receipt.result is result


async def _cut_later(server: ScriptedIrc) -> None:
    await trio.sleep(1)
    server.cut()


async def test_a_refusal_is_of_a_text_that_was_not_answered(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        link = case.channel._link
        assert link is not None
        receipts = []

        async def send() -> None:
            receipts.append(await case.send("hello"))

        case.server.answers_pings = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(1)
            (sent,) = link._sent.values()
            sent.answers = 1
            case.server.say("404", "agent", "#room", source="s")
            await trio.sleep(1)
            assert receipts == []
            case.server.cut()
        assert receipts[0].result is SendResult.UNKNOWN


async def test_a_blank_text_and_a_false_name_are_refused(autojump_clock: MockClock) -> None:
    async with open_case() as case:
        assert (await case.send(" \n\r\n")).result is SendResult.REFUSED
        for peer in ("#a b", "#a\r\nQUIT", ":x"):
            route = ChatRoute(channel="irc", kind=PeerKind.CHANNEL, peer=peer)
            assert (await case.send("x", route)).result is SendResult.REFUSED
            assert (await case.send("x", ChatRoute(channel="irc", peer=peer))).result is SendResult.REFUSED
        assert await case.channel.was_sent("key") is WasSent.CANNOT_SAY
        assert not any(line.startswith(b"QUIT") for line in case.server.received)
