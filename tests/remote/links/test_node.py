"""Nodes over real sockets: who is let in, what is said to others, and what a restart means."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import attrs
import pytest
import trio

import greenroom as gr
from greenroom.core import Cause, UsageError
from greenroom.mailbox import Delivery, MailboxPolicy
from greenroom.remote.links._dialling import Unreachable, read_address
from greenroom.remote.links._link import LinkPace
from greenroom.remote.links._link_peers import LinkPeer
from greenroom.remote.links._link_states import LinkState, RemoteMessageDied
from greenroom.remote.links._node import LinkNode, open_node
from greenroom.remote.links._remote_calls import RemoteError
from greenroom.remote.wire._link_frames import KillFrame, TellFrame
from greenroom.remote.wire._message_codec import MessageCodec
from greenroom.serving import Incident, Tcp, TcpAddress, UnixSocket, open_unix_listener
from tests.remote.links.cutting_proxy import CuttingProxy
from tests.remote.links.linked import CODEC, Counter, Sum

TOKEN = b"0123456789abcdef" * 2
LIMIT_S = 60


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="gr") as name:
        yield Path(name)


@final
@attrs.define
class Host:
    """A node that listens, with one published actor."""

    node: LinkNode
    runtime: gr.Runtime
    counter: gr.Ref[Any]
    incidents: list[Incident]


@asynccontextmanager
async def open_host(path: Path, *, name: str = "host", token: bytes = TOKEN) -> AsyncIterator[Host]:
    """Open a node on a socket that knows one other, `guest`."""
    incidents: list[Incident] = []
    async with (
        gr.open_runtime() as runtime,
        open_node(
            runtime,
            name=name,
            codec=CODEC,
            peers={"guest": LinkPeer(token=token)},
            listen=[UnixSocket(path)],
            report=incidents.append,
            pace=LinkPace(resume_s=300),
        ) as node,
    ):
        counter = await runtime.spawn(Counter)
        node.publish("counter", counter)
        yield Host(node, runtime, counter, incidents)


@asynccontextmanager
async def open_guest(
    address: str, *, name: str = "guest", token: bytes = TOKEN, of: str = "host"
) -> AsyncIterator[LinkNode]:
    """Open a node that knows where the host is."""
    async with (
        gr.open_runtime() as runtime,
        open_node(
            runtime,
            name=name,
            codec=CODEC,
            peers={of: LinkPeer(token=token, address=address)},
            pace=LinkPace(resume_s=300),
        ) as node,
    ):
        yield node


async def test_two_nodes_over_a_unix_socket(folder: Path) -> None:
    async with open_host(folder / "s") as host, open_guest(f"unix:{folder}/s") as guest:
        link = await guest.connect("host")
        assert await guest.connect("host") is link
        ref = await link.find("counter")
        assert ref is not None
        assert await link.find("other") is None
        assert ref.tell(5) is Delivery.ACCEPTED
        assert await ref.ask(Sum()) == 5
        assert [each.node for each in host.node.links()] == ["guest"]
        host.counter.stop()
        assert (await ref.wait_ended()).state.value == "completed"
    assert not (folder / "s").exists()


async def test_two_nodes_over_tcp_on_this_machine() -> None:
    async with (
        gr.open_runtime() as runtime,
        open_node(runtime, name="host", peers={"guest": LinkPeer(token=TOKEN)}, listen=[Tcp()]) as host,
        open_guest(host.addresses[0]) as guest,
    ):
        link = await guest.connect("host")
        assert await link.find("nobody") is None


async def test_a_runtime_whose_link_actor_is_killed_has_lost_the_link(folder: Path) -> None:
    async with open_host(folder / "s"), open_guest(f"unix:{folder}/s") as guest:
        link = await guest.connect("host")
        ref = await link.find("counter")
        assert ref is not None
        actor = next(each for each in guest._supervisor.children() if not each.cell.is_gone)
        actor.kill()
        down = await ref.wait_ended()
        assert (down.state.value, link.is_lost, guest.links()) == ("failed", True, [])
        again = await guest.connect("host")
        assert again is not link


@pytest.mark.promise("R3-d", "RM-03")
async def test_a_host_that_was_started_anew_is_another_one(folder: Path) -> None:
    """RM-03. Mechanism: a reference belongs to one start of its node; the hello of another start closes it."""
    async with open_guest(f"unix:{folder}/s") as guest:
        async with open_host(folder / "s"):
            link = await guest.connect("host")
            ref = await link.find("counter")
            assert ref is not None
        async with open_host(folder / "s") as host:
            with trio.fail_after(20):
                down = await ref.wait_ended()
            assert down.cause == Cause("runtime", "link_lost")
            assert ref.tell(1) is Delivery.CLOSED
            again = await guest.connect("host")
            anew = await again.find("counter")
            assert anew is not None
            assert anew != ref
            assert await anew.ask(Sum()) == 0
            assert host.counter.get_state()["told"] == []


@pytest.mark.promise("R3-d")
async def test_a_guest_that_was_started_anew_is_another_one(folder: Path) -> None:
    async with open_host(folder / "s") as host:
        async with open_guest(f"unix:{folder}/s") as guest:
            guest.publish("counter", await guest._runtime.spawn(Counter))
            await guest.connect("host")
            ref = await host.node.links()[0].find("counter")
            assert ref is not None
        async with open_guest(f"unix:{folder}/s") as guest:
            await guest.connect("host")
            with trio.fail_after(20):
                down = await ref.wait_ended()
            assert down.cause == Cause("runtime", "link_lost")
            assert [each.node for each in host.node.links()] == ["guest"]


# --- who is let in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guest", "says"),
    [
        ({"token": b"x" * 32}, "the token is wrong, or the node is not expected there"),
        ({"name": "stranger"}, "the token is wrong, or the node is not expected there"),
        ({"of": "another"}, "the node there is called 'host'"),
    ],
    ids=["token", "name", "other node"],
)
async def test_who_does_not_fit_is_refused_with_one_line(folder: Path, guest: dict[str, Any], says: str) -> None:
    async with open_host(folder / "s") as host, open_guest(f"unix:{folder}/s", **guest) as node:
        with pytest.raises(Unreachable, match=says) as caught:
            await node.connect(guest.get("of", "host"))
        assert caught.value.is_final
        assert host.node.links() == []
        assert TOKEN.decode() not in str(caught.value) + repr(host.incidents)


async def test_nobody_at_an_address_is_said_with_name_and_address(folder: Path) -> None:
    async with open_guest(f"unix:{folder}/s") as guest:
        with pytest.raises(Unreachable, match=r"cannot reach node 'host' at unix:.*/s: no such file"):
            await guest.connect("host")
        with pytest.raises(UsageError, match="no node 'moon' is known; known: host"):
            await guest.connect("moon")


async def test_a_server_that_takes_no_links_is_named(folder: Path) -> None:
    async with trio.open_nursery() as nursery:
        listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]

        async def refuse(stream: trio.SocketStream) -> None:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

        nursery.start_soon(trio.serve_listeners, refuse, [listener])
        async with open_guest(f"http://127.0.0.1:{listener.socket.getsockname()[1]}") as guest:
            with pytest.raises(Unreachable, match="the server there rejects it"):
                await guest.connect("host")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("host", "must be unix:/path"),
        ("http://127.0.0.1", "must be unix:/path"),
        ("http://example.org:80", "use https for another machine"),
        ("http://10.0.0.1:80", "use https for another machine"),
        ("ftp://127.0.0.1:80", "must be unix:/path"),
        ("http://127.0.0.1:99999", "must be unix:/path"),
        ("https://example.org:1/x", "must be unix:/path"),
        ("unix:relative", "must be absolute"),
    ],
)
async def test_an_address_that_cannot_be_used_says_so(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_address(text)


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    address = read_address("http://[::1]:7000")
    assert isinstance(address, TcpAddress)
    assert address.authority == "[::1]:7000"


async def test_a_node_that_never_answers_holds_up_no_other_one(folder: Path) -> None:
    async with open_host(folder / "s"), gr.open_runtime() as runtime:
        silent = await open_unix_listener(folder / "silent", backlog=1)
        addresses = {"host": f"unix:{folder}/s", "silent": f"unix:{folder}/silent"}
        peers = {name: LinkPeer(token=TOKEN, address=address) for name, address in addresses.items()}
        async with open_node(runtime, name="guest", peers=peers) as guest, trio.open_nursery() as nursery:
            nursery.start_soon(guest.connect, "silent")
            await trio.testing.wait_all_tasks_blocked(0.01)
            with trio.fail_after(3):
                assert (await guest.connect("host")).state is LinkState.UP
            nursery.cancel_scope.cancel()
        await silent.aclose()


async def test_messages_that_wait_when_the_link_is_lost_are_dead_letters(folder: Path) -> None:
    class Stuck(Counter):
        mailbox = MailboxPolicy(capacity=10)

        async def on_message(self, message: Any, ctx: gr.Context) -> None:
            await trio.sleep_forever()

    async with open_host(folder / "s") as host, open_guest(f"unix:{folder}/s") as guest:
        stuck = await host.runtime.spawn(Stuck)
        host.node.publish("stuck", stuck)
        link = await guest.connect("host")
        ref = await link.find("stuck")
        assert ref is not None
        assert {ref.tell(number) for number in range(100)} == {Delivery.ACCEPTED}
        await link.find("stuck")  # answered behind all of them
        host.node.lose_links()
        dead = 0
        with trio.fail_after(LIMIT_S):
            while dead < 90:
                await trio.lowlevel.checkpoint()
                dead = sum(each[2] is RemoteMessageDied for each in host.runtime.recorder.latest())
        stuck.kill()


async def test_a_token_and_a_name_are_checked_at_the_start() -> None:
    with pytest.raises(ValueError, match="at least 32 bytes"):
        LinkPeer(token=b"short")
    assert TOKEN.decode() not in repr(LinkPeer(token=TOKEN))
    async with gr.open_runtime() as runtime:
        with pytest.raises(UsageError, match="the name of a node must be"):
            async with open_node(runtime, name="a b"):
                pass


# --- what is not reached ---------------------------------------------------------------------------------------------


@pytest.mark.promise("R13-a")
async def test_what_was_not_published_or_found_is_no_actor(folder: Path) -> None:
    async with open_host(folder / "s") as host, open_guest(f"unix:{folder}/s") as guest:
        secret = await host.runtime.spawn(Counter, name="secret")
        link = await guest.connect("host")
        assert await link.find("secret") is None
        for number in range(1, 5):
            link.put(TellFrame(to=number, lane="next", value=1))
            link.put(KillFrame(to=number))
        ref = await link.find("counter")
        assert ref is not None
        assert await ref.ask(Sum()) == 0
        assert not secret.cell.is_gone
        assert not host.counter.cell.is_gone


async def test_what_fits_no_registered_class_is_told_to_the_sender(folder: Path) -> None:
    async with open_host(folder / "s"), open_guest(f"unix:{folder}/s") as guest:
        ref = await (await guest.connect("host")).find("counter")
        assert ref is not None
        with pytest.raises(UsageError, match="its class is not registered"):
            ref.tell(Incident)
        stranger = attrs.make_class("Stranger", ["x"])
        ref._calls.codec = MessageCodec([Sum, stranger])
        with pytest.raises(RemoteError, match="no registered class: 'Stranger'"):
            await ref.ask(stranger(1))


# --- cuts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("R2-c")
async def test_a_proxy_that_cuts_loses_and_repeats_nothing(folder: Path) -> None:
    proxy = CuttingProxy(folder / "s", chance=random.Random(7))
    async with open_host(folder / "s") as host, trio.open_nursery() as nursery:
        listener = await open_unix_listener(folder / "proxy", backlog=16)
        nursery.start_soon(partial(trio.serve_listeners, proxy.serve, [listener]))
        async with open_guest(f"unix:{folder}/proxy") as guest:
            with trio.fail_after(LIMIT_S):
                link = await guest.connect("host")
                ref = await link.find("counter")
                assert ref is not None
                for number in range(10_000):
                    while ref.tell(number) is not Delivery.ACCEPTED:
                        await link.wait_state(LinkState.UP)
                        await trio.sleep(0.001)
                await ref.ask(Sum())
            assert host.counter.get_state()["told"] == list(range(10_000))
            assert proxy.cuts > 5
        nursery.cancel_scope.cancel()
