"""The IRC channel against ngircd, a real server."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.core import PeerError
from greenroom.core.ports import Ports
from greenroom.gateway.announce._parts import cut_parts, utf8_bytes
from greenroom.gateway.channels import (
    Assurance,
    ChannelHost,
    ChatRoute,
    Inbound,
    Outbound,
    PeerKind,
    SendReceipt,
    SendResult,
)
from greenroom.gateway.channels._irc import PART_BYTES, IrcClient
from greenroom.gateway.config._channels import IrcAccount
from greenroom.gateway.config._values import Secret
from greenroom.testing import virtual_ports
from tests.gateway.channels.real_servers import (
    IS_DEMANDED,
    RealServer,
    make_certificate,
    ngircd,
    open_files,
    open_person,
    open_server,
)
from tests.gateway.channels.whole_gateways import open_real_gateway

KILLS = 50 if IS_DEMANDED else 4
TO_ROOM = ChatRoute(channel="irc", kind=PeerKind.CHANNEL, peer="#room")


def _ports() -> Ports:
    return attrs.evolve(Ports(), chance=virtual_ports().chance)


@attrs.define(eq=False)
class Agent:
    """A channel that is kept connected, and what it hears."""

    channel: IrcClient
    heard: list[Inbound] = attrs.field(factory=list)
    connected: trio.Event = attrs.field(factory=trio.Event)
    has_more: trio.Event = attrs.field(factory=trio.Event)
    echoes: bool = False

    async def hear(self, inbound: Inbound) -> None:
        self.heard.append(inbound)
        self.has_more.set()
        if self.echoes and not inbound.sender.is_program:
            await self.channel.send(Outbound(route=inbound.route, key=inbound.id, text=f"you said: {inbound.text}"))

    async def _save(self, cursor: str) -> None:
        raise AssertionError("IRC has no cursor")

    async def keep(self) -> None:
        while True:
            try:
                await self.channel.run(
                    ChannelHost(hear=self.hear, connected=self.connected.set, save_cursor=self._save)
                )
            except PeerError:
                self.connected = trio.Event()
                await trio.sleep(0.02)

    async def wait_heard(self, count: int) -> list[Inbound]:
        with trio.fail_after(30):
            while len(self.heard) < count:
                self.has_more = trio.Event()
                await self.has_more.wait()
        return self.heard


@asynccontextmanager
async def open_agent(server: RealServer, nick: str = "agent", *, echoes: bool = False) -> AsyncIterator[Agent]:
    settings = IrcAccount(host="127.0.0.1", port=server.port, tls=False, nick=nick, channels=("#room",))
    agent = Agent(IrcClient("default", settings, ports=Ports(), read_secret=_no_secret), echoes=echoes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent.keep)
        with trio.fail_after(10):
            await agent.connected.wait()
        yield agent
        nursery.cancel_scope.cancel()


async def _no_secret(_: Any) -> str:
    raise AssertionError("the secret is missing")


@pytest.mark.promise("A26-b")
async def test_an_agent_talks_in_a_room_and_to_a_person(tmp_path: Path) -> None:
    long = "Straße 漢字 👩\u200d💻 " * 80
    async with open_server(ngircd(tmp_path)) as server, open_agent(server, echoes=True) as agent:
        async with open_person(server, "ann", "#room") as ann:
            await ann.tell("PRIVMSG", "#room", "agent: hello")
            await ann.tell("PRIVMSG", "agent", "hi")
            await ann.wait_for("PRIVMSG", 2)
            room, direct = agent.heard
            assert sorted(ann.texts()) == ["you said: agent: hello", "you said: hi"]
            assert (room.route, room.mentions_us) == (TO_ROOM, True)
            assert direct.route == ChatRoute(channel="irc", peer="ann!~ann@127.0.0.1")
            assert direct.sender.assurance is Assurance.MASK
            assert direct.id != room.id

            for number, part in enumerate(cut_parts(long, PART_BYTES, utf8_bytes)):
                receipt = await agent.channel.send(Outbound(route=direct.route, key=f"{number}", text=part.text))
                assert receipt == SendReceipt(result=SendResult.TAKEN)
            await ann.tell("PING", "end")
            await ann.wait_for("PONG")
            # ngircd drops blanks at the end of a line.
            assert "".join(ann.texts()[2:]).replace(" ", "") == long.replace(" ", "")


@pytest.mark.promise("A26-b")
async def test_a_text_that_nobody_can_get_is_refused(tmp_path: Path) -> None:
    async with open_server(ngircd(tmp_path)) as server, open_agent(server) as agent, open_person(server) as ann:
        elsewhere = ChatRoute(channel="irc", kind=PeerKind.CHANNEL, peer="#other")
        receipt = await agent.channel.send(Outbound(route=elsewhere, key="1", text="hello"))
        assert (receipt.result, receipt.why[:3]) == (SendResult.REFUSED, "401")

        somebody = ChatRoute(channel="irc", peer="ann!~bob@example.org")
        receipt = await agent.channel.send(Outbound(route=somebody, key="2", text="hello"))
        assert receipt == SendReceipt(result=SendResult.REFUSED, why="ann is somebody else now")
        nobody = ChatRoute(channel="irc", peer="zoe!~zoe@example.org")
        receipt = await agent.channel.send(Outbound(route=nobody, key="3", text="hello"))
        assert receipt == SendReceipt(result=SendResult.REFUSED, why="zoe is not there")
        assert ann.texts() == []


async def test_a_long_reply_is_not_punished_for_haste(tmp_path: Path) -> None:
    async with open_server(ngircd(tmp_path, has_penalties=True)) as server, open_agent(server) as agent:
        async with open_person(server, "ann", "#room") as ann:
            for number in range(2):
                text = "\n".join(f"line {number}.{line}" for line in range(4))
                receipt = await agent.channel.send(Outbound(route=TO_ROOM, key=f"{number}", text=text))
                assert receipt.result is SendResult.TAKEN
            await ann.wait_for("PRIVMSG", 8)
            assert ann.texts() == [f"line {number}.{line}" for number in range(2) for line in range(4)]


@pytest.mark.promise("A26-e")
async def test_two_bots_in_a_room_fall_silent(tmp_path: Path) -> None:
    async with (
        open_server(ngircd(tmp_path)) as server,
        open_agent(server, "agent", echoes=True) as agent,
        open_agent(server, "robot", echoes=True) as robot,
        open_person(server, "ann", "#room") as ann,
    ):
        await ann.tell("PRIVMSG", "#room", "hello, agent and robot")
        await agent.wait_heard(2)
        await robot.wait_heard(2)
        await trio.sleep(0.5)

        assert len(ann.texts("agent")) == len(ann.texts("robot")) == 1, "two bots talk with each other"
        assert [inbound.sender.is_program for inbound in agent.heard] == [False, True]


@pytest.mark.promise("A26-c")
async def test_a_server_killed_while_sending_shows_nothing_twice(tmp_path: Path) -> None:
    chance = random.Random(26)
    results: list[SendResult] = []
    text_of = "part {} " + "x" * 900
    shown: list[str] = []
    async with open_server(ngircd(tmp_path)) as server, open_agent(server) as agent:
        for number in range(KILLS):
            async with open_person(server, "ann", "#room") as ann, trio.open_nursery() as nursery:
                with trio.fail_after(10):
                    await agent.connected.wait()
                await _joined(ann, agent)
                receipts: list[SendReceipt] = []

                async def reply(number: int = number, receipts: list[SendReceipt] = receipts) -> None:
                    part = Outbound(route=TO_ROOM, key=f"{number}", text=text_of.format(number))
                    receipts.append(await agent.channel.send(part))

                nursery.start_soon(reply)
                await trio.sleep(chance.random() * 0.003)
                await server.kill()
            # The other half of a text has no number in it: a text counts as shown if any line of it is.
            seen = ["".join(ann.texts()).count(f"part {number} ")]
            (receipt,) = receipts
            results.append(receipt.result)
            assert seen[0] <= 1, f"shown twice: {receipt}"
            if receipt.result is SendResult.TAKEN:
                assert "".join(ann.texts()) == text_of.format(number)
            elif receipt.result is SendResult.FAILED:
                assert seen == [0]
            else:
                assert receipt.result is SendResult.UNKNOWN
                assert receipt.why
            shown += ann.texts()
            await server.start()
            with trio.fail_after(10):
                await agent.connected.wait()
    assert len(results) == KILLS
    if IS_DEMANDED:
        assert {SendResult.TAKEN, SendResult.UNKNOWN} <= set(results), "the kills do not hit what they are for"


async def _joined(ann: Any, agent: Agent) -> None:
    """Wait until the agent is in the room."""
    with trio.fail_after(10):
        while True:
            answers = sum(line.command == "366" for line in ann.lines)
            await ann.tell("NAMES", "#room")
            await ann.wait_for("366", answers + 1)
            if any("agent" in line.param(-1) for line in ann.lines if line.command == "353"):
                return
            await trio.sleep(0.01)


async def test_a_cancel_leaves_no_socket(tmp_path: Path) -> None:
    async with open_server(ngircd(tmp_path)) as server:
        async with open_agent(server):
            pass
        before = open_files()
        for _ in range(5):
            async with open_agent(server):
                pass
        assert open_files() == before


# --- whole gateways -----------------------------------------------------------------------------------------------------


def section(server: RealServer, nick: str) -> str:
    groups = "groupPolicy: 'open', groups: {'*': {requireMention: true}}"
    place = f"host: '127.0.0.1', port: {server.port}, tls: false, nick: '{nick}', channels: ['#room']"
    return f"irc: {{{place}, dmPolicy: 'open', allowFrom: ['*'], {groups}}}"


async def _wait_in_room(person: Any, *nicks: str) -> None:
    with trio.fail_after(20):
        while True:
            answers = sum(line.command == "366" for line in person.lines)
            await person.tell("NAMES", "#room")
            await person.wait_for("366", answers + 1)
            names = " ".join(line.param(-1) for line in person.lines if line.command == "353")
            if all(nick in names for nick in nicks):
                return
            await trio.sleep(0.05)


@pytest.mark.promise("A26-b", "A26-e")
async def test_two_gateways_in_a_room_answer_mentions_and_not_each_other(tmp_path: Path) -> None:
    async with (
        open_server(ngircd(tmp_path)) as server,
        open_person(server, "ann", "#room") as ann,
        open_real_gateway(tmp_path / "one", section(server, "agent"), "agent"),
        open_real_gateway(tmp_path / "two", section(server, "robot"), "robot") as robot,
    ):
        await _wait_in_room(ann, "agent", "robot")
        await ann.tell("PRIVMSG", "#room", "hello everybody")
        await ann.tell("PRIVMSG", "#room", "agent and robot, say something")
        await ann.wait_for("PRIVMSG", 2)
        await ann.tell("PRIVMSG", "#room", "robot: dig here")
        await ann.wait_for("PRIVMSG", 8)
        await trio.sleep(1)

        assert ann.texts("agent") == ["agent heard you"]
        assert ann.texts("robot")[1:5] == ["robot heard you", '"deep"', "Status: success", "Result: the summary"]
        (run,) = [each for each in robot.parts.registry.runs.values() if each.label == "deep"]
        assert run.state == "completed"


# --- encryption -----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A26-b")
async def test_a_server_with_tls_has_to_have_a_certificate_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ngircd has no SASL, so a password is refused there, and never sent."""
    files = make_certificate(tmp_path)
    async with open_server(ngircd(tmp_path, certificate=files)) as server:
        settings = IrcAccount(host="127.0.0.1", port=server.port, nick="agent", channels=("#room",))
        host = ChannelHost(hear=_unheard, connected=lambda: None, save_cursor=_unheard)
        with pytest.raises(PeerError, match=r"(?i)certificate"):
            await IrcClient("default", settings, ports=Ports(), read_secret=_no_secret).run(host)

        monkeypatch.setenv("SSL_CERT_FILE", str(files[1]))
        agent = Agent(IrcClient("default", settings, ports=Ports(), read_secret=_no_secret))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.keep)
            with trio.fail_after(10):
                await agent.connected.wait()
            receipt = await agent.channel.send(Outbound(route=TO_ROOM, key="1", text="hello"))
            nursery.cancel_scope.cancel()
        assert receipt == SendReceipt(result=SendResult.TAKEN)

        with_password = attrs.evolve(settings, password=Secret("text", ("s3cret",)))
        with pytest.raises(PeerError, match="no SASL"):
            await IrcClient("default", with_password, ports=Ports(), read_secret=_text_of).run(host)


async def _unheard(_: Any) -> None:
    raise AssertionError("nothing is to be heard")


async def _text_of(secret: Secret) -> str:
    return secret.reference[0]
