"""The Matrix channel against Synapse, a real server. It is started once for all tests of this module."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.core import PeerError
from greenroom.core.ports import Ports
from greenroom.gateway.channels import ChannelHost, ChatRoute, Inbound, Outbound, PeerKind, SendReceipt, SendResult
from greenroom.gateway.channels._matrix import ENCRYPTED, PART_BYTES, MatrixClient
from greenroom.gateway.config._channels import MatrixAccount
from greenroom.gateway.config._values import Secret
from tests.gateway.channels.real_servers import IS_DEMANDED, SYNAPSE, MatrixPerson, Synapse, free_port, need, open_files
from tests.gateway.channels.whole_gateways import open_real_gateway

KILLS = 10 if IS_DEMANDED else 1


@pytest.fixture(scope="module")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    need("Synapse", is_there=SYNAPSE.is_file())
    server = Synapse(tmp_path_factory.mktemp("synapse"), free_port())
    server.set_up()
    server.start()
    yield server
    server.kill()


_names = iter(range(1_000))


def new_person(synapse: Synapse, kind: str = "ann") -> MatrixPerson:
    return synapse.register(f"{kind}{next(_names)}")


@attrs.define(eq=False)
class Agent:
    """A channel that is kept connected, and what it hears."""

    channel: MatrixClient
    id: str
    echoes: bool = False
    heard: list[Inbound] = attrs.field(factory=list)
    cursor: str = ""
    connected: trio.Event = attrs.field(factory=trio.Event)
    has_more: trio.Event = attrs.field(factory=trio.Event)

    async def _hear(self, inbound: Inbound) -> None:
        self.heard.append(inbound)
        self.has_more.set()
        if self.echoes and not inbound.sender.is_program:
            part = Outbound(route=inbound.route, key=f"to {inbound.id}", text=f"you said: {inbound.text}")
            receipt = await self.channel.send(part)
            assert receipt.result is SendResult.TAKEN, receipt.why

    async def _save(self, cursor: str) -> None:
        self.cursor = cursor
        await trio.lowlevel.checkpoint()

    async def keep(self) -> None:
        while True:
            host = ChannelHost(
                hear=self._hear,
                connected=self.connected.set,
                save_cursor=self._save,
                cursor=self.cursor,
                may_invite=lambda _: True,
            )
            try:
                await self.channel.run(host)
            except PeerError:
                self.connected = trio.Event()
                await trio.sleep(0.1)

    async def wait_heard(self, count: int) -> list[Inbound]:
        with trio.fail_after(60):
            while len(self.heard) < count:
                self.has_more = trio.Event()
                await self.has_more.wait()
        return self.heard


@asynccontextmanager
async def open_agent(synapse: Synapse, *, echoes: bool = False, uses_password: bool = False) -> AsyncIterator[Agent]:
    account = await trio.to_thread.run_sync(new_person, synapse, "agent")
    name = account.id.partition(":")[0].removeprefix("@")
    secret: dict[str, Any] = (
        {"password": Secret("text", (f"password of {name}",))}
        if uses_password
        else {"access_token": Secret("text", (account.token,))}
    )
    settings = MatrixAccount(homeserver=synapse.url, user_id=account.id, **secret)
    agent = Agent(MatrixClient("default", settings, ports=Ports(), read_secret=_plain), account.id, echoes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent.keep)
        with trio.fail_after(60):
            await agent.connected.wait()
        yield agent
        nursery.cancel_scope.cancel()


async def _plain(secret: Secret) -> str:
    await trio.lowlevel.checkpoint()
    return secret.reference[0]


async def in_thread(function: Any, *args: Any, **options: Any) -> Any:
    return await trio.to_thread.run_sync(lambda: function(*args, **options))


async def wait_until(read: Any, count: int) -> list[Any]:
    """Return the messages of a room, as soon as there are that many."""
    with trio.fail_after(60):
        while len(found := await in_thread(*read)) < count:  # noqa: ASYNC110 - it is another process that changes it
            await trio.sleep(0.1)
    assert isinstance(found, list)
    return found


@pytest.mark.promise("A26-b")
@pytest.mark.slow
async def test_an_agent_talks_in_a_direct_chat_a_room_and_a_thread(synapse: Synapse) -> None:
    async with open_agent(synapse, echoes=True, uses_password=True) as agent:
        ann, bob = new_person(synapse), new_person(synapse, "bob")
        direct = await in_thread(ann.make_room, agent.id, is_direct=True)
        await in_thread(ann.say, direct, "hello")
        said = await wait_until((ann.read, direct), 2)
        assert [event["content"]["body"] for event in said] == ["hello", "you said: hello"]
        assert agent.heard[0].route == ChatRoute(channel="matrix", peer=ann.id)
        assert agent.heard[0].id == said[0]["event_id"]

        room = await in_thread(ann.make_room, agent.id, bob.id)
        await in_thread(bob.join, room)
        root = await in_thread(bob.say, room, "agent?", **{"m.mentions": {"user_ids": [agent.id]}})
        await wait_until((ann.read, room), 2)
        thread = {"m.relates_to": {"rel_type": "m.thread", "event_id": root}}
        await in_thread(bob.say, room, "in the thread", **thread)
        said = await wait_until((ann.read, room), 4)
        assert agent.heard[1].route == ChatRoute(channel="matrix", kind=PeerKind.GROUP, peer=room)
        assert agent.heard[1].mentions_us
        assert agent.heard[2].route.thread == root
        assert said[3]["content"]["m.relates_to"]["event_id"] == root
        assert said[3]["content"]["msgtype"] == "m.notice"


@pytest.mark.promise("A26-b")
@pytest.mark.slow
async def test_a_part_is_shown_once_for_its_key_and_too_much_is_refused(synapse: Synapse) -> None:
    async with open_agent(synapse) as agent:
        ann = new_person(synapse)
        room = await in_thread(ann.make_room, agent.id)
        await in_thread(ann.say, room, "hello")
        (heard,) = await agent.wait_heard(1)
        text = 'ä"\n' * (PART_BYTES // 6)
        for _ in range(3):
            receipt = await agent.channel.send(Outbound(route=heard.route, key="a: key/1", text=text))
            assert receipt == SendReceipt(result=SendResult.TAKEN)
        receipt = await agent.channel.send(Outbound(route=heard.route, key="2", text="x" * 70_000))
        assert (receipt.result, receipt.why[:3]) == (SendResult.REFUSED, "413")
        elsewhere = ChatRoute(channel="matrix", kind=PeerKind.GROUP, peer="!nowhere:localhost")
        receipt = await agent.channel.send(Outbound(route=elsewhere, key="3", text="x"))
        assert (receipt.result, receipt.why[:3]) == (SendResult.REFUSED, "403")
        said = await in_thread(ann.read, room)
        assert [event["content"]["body"] for event in said] == ["hello", text]


@pytest.mark.slow
async def test_an_encrypted_room_is_told_so(synapse: Synapse) -> None:
    async with open_agent(synapse) as agent:
        ann = new_person(synapse)
        encryption = {"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
        room = await in_thread(ann.make_room, agent.id, initial_state=[encryption])
        said = await wait_until((ann.read, room), 1)
        assert said[0]["content"]["body"] == ENCRYPTED


@pytest.mark.promise("A26-e")
@pytest.mark.slow
async def test_two_bots_in_a_room_fall_silent(synapse: Synapse) -> None:
    async with open_agent(synapse, echoes=True) as one, open_agent(synapse, echoes=True) as other:
        ann = new_person(synapse)
        room = await in_thread(ann.make_room, one.id, other.id)
        with trio.fail_after(60):
            members = f"/rooms/{room}/joined_members"
            while len((await in_thread(ann.call, "GET", members))["joined"]) < 3:  # noqa: ASYNC110 - as above
                await trio.sleep(0.1)
        await in_thread(ann.say, room, "hello both")
        await wait_until((ann.read, room), 3)
        await one.wait_heard(2)
        await other.wait_heard(2)
        await trio.sleep(1)
        said = await in_thread(ann.read, room)
        assert len(said) == 3, "two bots talk with each other"


@pytest.mark.promise("A26-b", "A26-e")
@pytest.mark.slow
async def test_two_gateways_in_a_room_answer_mentions_and_threads_and_not_each_other(
    synapse: Synapse, tmp_path: Path
) -> None:
    one, two = [await in_thread(new_person, synapse, "agent") for _ in range(2)]
    ann = await in_thread(new_person, synapse)

    def section(person: MatrixPerson) -> str:
        groups = "groupPolicy: 'open', groups: {'*': {requireMention: true}}"
        place = f"homeserver: '{synapse.url}', userId: '{person.id}', accessToken: '{person.token}'"
        return f"matrix: {{{place}, dmPolicy: 'open', allowFrom: ['*'], {groups}}}"

    async with (
        open_real_gateway(tmp_path / "one", section(one), "one"),
        open_real_gateway(tmp_path / "two", section(two), "two"),
    ):
        room = await in_thread(ann.make_room, one.id, two.id)
        for person in (one, two):
            with suppress(AssertionError):  # the gateway may have joined before
                await in_thread(person.join, room)
        await trio.sleep(3)
        await in_thread(ann.say, room, "hello everybody")
        both = {"m.mentions": {"user_ids": [one.id, two.id]}}
        root = await in_thread(ann.say, room, "you two, say something", **both)
        await wait_until((ann.read, room), 4)
        thread = {"m.relates_to": {"rel_type": "m.thread", "event_id": root}, "m.mentions": {"user_ids": [two.id]}}
        await in_thread(ann.say, room, "dig here", **thread)
        await wait_until((ann.read, room), 7)
        await trio.sleep(3)
        said = await in_thread(ann.read, room)

    bodies = {each.id: [event["content"] for event in said if event["sender"] == each.id] for each in (one, two)}
    assert [content["body"] for content in bodies[one.id]] == ["one heard you"]
    assert bodies[two.id][0]["body"] == "two heard you"
    announced = bodies[two.id][-1]
    assert "Result: the summary" in announced["body"]
    assert announced["m.relates_to"]["event_id"] == root


@pytest.mark.slow
async def test_a_cancel_leaves_no_socket(synapse: Synapse) -> None:
    async with open_agent(synapse):
        pass
    before = open_files()
    for _ in range(3):
        async with open_agent(synapse):
            pass
    assert open_files() <= before


@pytest.mark.promise("A26-c")
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_server_killed_while_sending_shows_everything_once(synapse: Synapse) -> None:
    """A try with an unknown result is repeated with the same key and bytes, also after a restart of the server."""
    chance = random.Random(26)
    results: list[SendResult] = []
    async with open_agent(synapse) as agent:
        ann = new_person(synapse)
        room = await in_thread(ann.make_room, agent.id)
        await in_thread(ann.say, room, "hello")
        (heard,) = await agent.wait_heard(1)

        async def reply(number: int) -> None:
            part = Outbound(route=heard.route, key=f"reply:{number}", text=f"part {number}")
            while True:
                receipt = await agent.channel.send(part)
                results.append(receipt.result)
                if receipt.result is SendResult.TAKEN:
                    return
                assert receipt.result is not SendResult.REFUSED, receipt.why
                await trio.sleep(0.5)

        for number in range(KILLS):
            with trio.fail_after(60):
                await agent.connected.wait()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(reply, number)
                await trio.sleep(chance.random() * 0.04)
                await in_thread(synapse.kill)
                await in_thread(synapse.start)
        await in_thread(ann.say, room, "still there?")
        await agent.wait_heard(2)
        said = [event["content"]["body"] for event in await in_thread(ann.read, room)]
        assert said == ["hello", *(f"part {number}" for number in range(KILLS)), "still there?"]
        assert len({inbound.id for inbound in agent.heard}) == 2
    if IS_DEMANDED:
        assert SendResult.UNKNOWN in results, "the kills do not hit what they are for"
