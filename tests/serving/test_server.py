"""Requests and WebSocket connections over one server, in virtual time."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed, ConnectionRejected

from greenroom.core import UsageError
from greenroom.serving import Tcp, UnixSocket, open_server
from greenroom.serving._admission import MAX_UNPROVEN_OF_ADDRESS
from greenroom.serving._endpoints import SECURITY_HEADERS
from tests.serving.callers import RIGHT, App, open_loopback, open_served, read_all, request, upgrade

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("virtual_time")


# --- requests -----------------------------------------------------------------------------------------------------------


async def test_a_page_is_answered_with_every_security_header() -> None:
    async with open_served() as served:
        answer = await served.exchange(request("/page?view=tree"))

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert body == b"a page"
    for name, value in SECURITY_HEADERS.items():
        assert f"{name}: {value}".encode() in head
    assert b"Content-Type: text/html" in head


async def test_a_refusal_has_every_security_header() -> None:
    async with open_served() as served:
        answer = await served.exchange(request("/nothing"))

    assert answer.startswith(b"HTTP/1.1 404")
    assert all(name.encode() in answer for name in SECURITY_HEADERS)


async def test_a_head_request_has_the_length_and_no_body() -> None:
    async with open_served() as served:
        answer = await served.exchange(request("/page", method="HEAD"))

    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: 6" in answer


async def test_a_folder_answers_for_everything_below_and_decodes_nothing() -> None:
    async with open_served() as served:
        below = await served.status(request("/files/a/..%2f/b"))
        itself = await served.status(request("/files/"))

    assert (below, itself) == (200, 404)
    assert served.app.calls == ["page /files/a/..%2f/b"]


async def test_a_body_is_taken_where_the_endpoint_takes_one() -> None:
    async with open_served() as served:
        taken = await served.exchange(request("/post", "Content-Length: 5", method="POST", body="hello"))
        late = await served.exchange(request("/post", "Content-Length: 5", method="POST", body="he"), b"l", b"lo")
        large = await served.status(request("/post", "Content-Length: 10001", method="POST"))

    assert taken.endswith(b"\r\n\r\nhello")
    assert late.endswith(b"\r\n\r\nhello")
    assert large == 413
    assert served.app.calls == ["post 5", "post 5"]


async def test_a_client_that_waits_for_permission_gets_it() -> None:
    async with open_served() as served:
        stream = await served.dial()
        await stream.send_all(request("/post", "Content-Length: 5", "Expect: 100-continue", method="POST"))
        assert (await stream.receive_some(4_096)).startswith(b"HTTP/1.1 100")
        await stream.send_all(b"hello")
        assert (await read_all(stream)).endswith(b"hello")


async def test_an_error_of_the_application_is_reported_and_not_told() -> None:
    async with open_served() as served:
        answer = await served.exchange(request("/fail"))
        assert await served.is_well()

    assert answer.startswith(b"HTTP/1.1 500")
    assert b"LookupError" not in answer
    (incident,) = served.app.incidents
    assert isinstance(incident.error, LookupError)
    assert (incident.kind, incident.path) == ("failed", "/fail")
    assert served.server.statistics().failed == 1


async def test_an_answer_that_takes_too_long_is_given_up() -> None:
    async with open_served() as served:
        assert await served.status(request("/hang")) == 503
        assert trio.current_time() >= 30
        assert await served.is_well()


# --- limits of time -----------------------------------------------------------------------------------------------------


async def test_half_a_head_is_answered_after_five_seconds() -> None:
    async with open_served() as served:
        started = trio.current_time()
        assert await served.status(request("/page")[:-4]) == 408
        assert 5 <= trio.current_time() - started < 5.1


async def test_a_byte_a_second_does_not_keep_a_connection() -> None:
    async with open_served() as served, trio.open_nursery() as nursery:
        stream = await served.dial()

        async def drip() -> None:
            for byte in request("/page"):
                await stream.send_all(bytes([byte]))
                await trio.sleep(1)

        nursery.start_soon(drip)
        started = trio.current_time()
        answer = await read_all(stream)
        assert trio.current_time() - started < 6.1
        nursery.cancel_scope.cancel()

    assert answer.startswith(b"HTTP/1.1 408")


async def test_a_silent_connection_is_closed_without_an_answer() -> None:
    async with open_served() as served:
        started = trio.current_time()
        assert await served.exchange() == b""
        assert trio.current_time() - started == 5


async def test_a_connection_that_does_not_prove_itself_is_closed() -> None:
    async with open_served() as served, served.connected() as connection:
        started = trio.current_time()
        with pytest.raises(ConnectionClosed) as caught:
            await connection.get_message()

        assert caught.value.reason is not None
        assert caught.value.reason.code == 1008
        assert trio.current_time() - started == 5


# --- credentials --------------------------------------------------------------------------------------------------------


async def test_a_right_credential_is_let_in_at_once_and_a_wrong_one_late() -> None:
    async with open_served() as served:
        started = trio.current_time()
        right = await served.asks(RIGHT)
        between = trio.current_time()
        wrong = await served.asks(RIGHT[:-1] + "0")

    assert (right, between - started) == ("hello", 0)
    assert wrong == 1008
    assert trio.current_time() - between >= 1
    assert served.server.statistics().wrong == 1
    assert [incident.kind for incident in served.app.incidents] == ["wrong"]
    assert RIGHT[:-1] not in repr(served.app.incidents)


@pytest.mark.parametrize(
    ("lines", "status", "waits_s"),
    [
        ((f"Authorization: Bearer {RIGHT}",), 200, 0),
        ((f"authorization: bearer {RIGHT}",), 200, 0),
        ((f"Authorization: Bearer {RIGHT[:-1]}0",), 401, 1),
        ((f"Authorization: Basic {RIGHT}",), 401, 0),
        ((f"Authorization: Bearer {RIGHT}", f"Authorization: Bearer {RIGHT}"), 401, 0),
        ((), 401, 0),
    ],
)
async def test_a_guarded_resource_wants_a_right_credential(lines: tuple[str, ...], status: int, waits_s: float) -> None:
    async with open_served() as served:
        stream = await served.dial()
        started = trio.current_time()
        await stream.send_all(request("/secret", *lines))
        answer = await stream.receive_some(4_096)

        assert answer.startswith(f"HTTP/1.1 {status}".encode())
        assert trio.current_time() - started == waits_s
        assert ("secret admin" in served.app.calls) == (status == 200)
        await trio.aclose_forcefully(stream)


async def test_a_credential_in_the_subprotocol_is_judged_before_the_upgrade() -> None:
    async with open_served() as served:
        async with served.connected("/watch", "greenroom.test.1", RIGHT) as connection:
            assert await connection.get_message() == "seen"
            assert connection.subprotocol == "greenroom.test.1"
        with pytest.RaisesGroup(ConnectionRejected):
            async with served.connected("/watch", "greenroom.test.1", "wrong"):
                pass
        with pytest.RaisesGroup(ConnectionRejected):
            async with served.connected("/watch", "greenroom.test.1"):
                pass

    assert served.app.calls == ["judge", "watch admin", "judge"]


async def test_proven_connections_beyond_the_limit_are_refused() -> None:
    async with open_served() as served:
        async with served.connected() as first, served.connected() as second:
            for connection in (first, second):
                await connection.send_message(RIGHT)
                assert await connection.get_message() == "hello"
            assert await served.asks(RIGHT) == 1013
            assert served.server.statistics().proven == 2
        await trio.sleep(5)
        assert await served.asks(RIGHT) == "hello"


async def test_the_oldest_silent_connection_goes_for_a_newer_one() -> None:
    async with open_served() as served:
        silent = [await served.dial() for _ in range(MAX_UNPROVEN_OF_ADDRESS + 1)]

        assert await silent[0].receive_some(1) == b""
        assert served.server.statistics().unproven == MAX_UNPROVEN_OF_ADDRESS
        assert [incident.kind for incident in served.app.incidents] == ["given_up"]
        for stream in silent:
            await trio.aclose_forcefully(stream)


# --- messages -----------------------------------------------------------------------------------------------------------


async def test_messages_have_one_limit_before_the_proof_and_another_after() -> None:
    async with open_served() as served:
        assert await served.asks("x" * 16_385) == 1009
        async with served.connected() as connection:
            await connection.send_message(RIGHT)
            assert await connection.get_message() == "hello"
            await connection.send_message("x" * 1_048_576)
            assert len(await connection.get_message()) == 1_048_576
            await connection.send_message("x" * 1_048_577)
            with pytest.raises(ConnectionClosed) as caught:
                await connection.get_message()
            assert caught.value.reason is not None
            assert caught.value.reason.code == 1009


async def test_what_was_sent_behind_the_head_is_read_after_the_upgrade() -> None:
    """A client must not do so, but what it has sent is not lost."""
    masked = b"\x81\x80\x00\x00\x00\x00"  # an empty text, which no judge knows
    async with open_served() as served:
        answer = await served.exchange(upgrade() + masked)

    assert answer.startswith(b"HTTP/1.1 101")
    assert served.app.calls == ["echo", "judge"]


async def test_a_byte_behind_the_upgrade_ends_that_connection_only() -> None:
    async with open_served() as served:
        assert (await served.exchange(upgrade() + b"\xff")).startswith(b"HTTP/1.1 101")
        assert await served.is_well()


async def test_an_error_of_the_application_closes_its_connection_with_1011() -> None:
    async with open_served() as served:
        async with served.connected("/broken") as connection:
            await connection.send_message(RIGHT)
            with pytest.raises(ConnectionClosed) as caught:
                await connection.get_message()
        assert await served.is_well()

    assert caught.value.reason is not None
    assert caught.value.reason.code == 1011
    assert [incident.kind for incident in served.app.incidents] == ["failed"]


# --- the end ------------------------------------------------------------------------------------------------------------


async def test_leaving_closes_connections_with_1001() -> None:
    async with trio.open_nursery() as nursery:
        closed: list[int] = []

        async def stay(*, task_status: trio.TaskStatus[None]) -> None:
            async with served.connected() as connection:
                await connection.send_message(RIGHT)
                assert await connection.get_message() == "hello"
                task_status.started()
                with pytest.raises(ConnectionClosed) as caught:
                    await connection.get_message()
                assert caught.value.reason is not None
                closed.append(caught.value.reason.code)

        started = trio.current_time()
        async with open_served() as served:
            await nursery.start(stay)
            silent = await served.dial()
        await trio.aclose_forcefully(silent)

    assert closed == [1001]
    assert trio.current_time() - started < 1


async def test_a_peer_that_ignores_the_close_delays_the_end_by_three_seconds() -> None:
    async with open_served() as served:
        stream = await served.dial()
        await stream.send_all(upgrade())
        await trio.testing.wait_all_tasks_blocked()
        started = trio.current_time()
        await served.server.stop(1012, "restart")
        assert trio.current_time() - started <= 3
        assert b"\x88\x09\x03\xf4restart" in await stream.receive_some(4_096)


async def test_a_cancel_leaves_no_task() -> None:
    with trio.CancelScope() as scope:
        async with open_served() as served, served.connected() as connection:
            await connection.send_message(RIGHT)
            await connection.get_message()
            await served.dial()
            before = served.server
            scope.cancel()
            await trio.lowlevel.checkpoint()

    assert (before.statistics().unproven, before.statistics().proven) == (0, 0)
    gc.collect()


async def test_a_taken_port_is_one_clear_error() -> None:
    async with open_loopback() as served:
        port = int(served.server.addresses[0].rpartition(":")[2])
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1: another process listens there"):
            async with open_server([], listen=[Tcp(port=port)]):
                pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost", ""])
async def test_other_machines_are_not_listened_to_without_tls(host: str) -> None:
    with pytest.raises(UsageError):
        async with open_server([], listen=[Tcp(host=host)]):
            pass


async def test_a_place_that_cannot_be_opened_leaves_none_open(folder: Path) -> None:
    socket = folder / "s"
    with pytest.raises(UsageError):
        async with open_server([], listen=[UnixSocket(socket), Tcp(host="192.0.2.1")]):
            pass

    assert not socket.exists()


async def test_two_endpoints_of_one_path_are_refused() -> None:
    app = App()
    with pytest.raises(UsageError, match="same path"):
        async with open_server([*app.endpoints(), *app.endpoints()], listen=[]):
            pass
