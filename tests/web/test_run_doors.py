"""The doors of the page of a run: which hosts and origins get data, and that no connection disturbs another one."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import trio
import trio.lowlevel
from trio_websocket import wrap_client_stream

from greenroom.web import OpenedPage
from greenroom.web._run_page import PROTOCOL
from tests.trace.unpacked import Unpacked
from tests.web.plain_requests import get
from tests.web.recorded_run import RECORDED, RUN, make_run, open_recorded_page

HOSTS: Final = {
    "127.0.0.1:PORT": 200,
    "localhost:PORT": 200,
    "127.0.0.1": 421,
    "localhost": 421,
    "localhost:1": 421,
    "127.0.0.1:0PORT": 421,
    "LOCALHOST:PORT": 421,
    "localhost.:PORT": 421,
    "localhost.evil.example:PORT": 421,
    "evil.example:PORT": 421,
    "127.0.0.1.nip.io:PORT": 421,
    "127.1:PORT": 421,
    "127.0.0.2:PORT": 421,
    "0.0.0.0:PORT": 421,
    "2130706433:PORT": 421,
    "0x7f.0.0.1:PORT": 421,
    "[::1]:PORT": 421,
    "[::ffff:127.0.0.1]:PORT": 421,
    "me@127.0.0.1:PORT": 421,
    "127.0.0.1:PORT, evil.example": 421,
    "127.0.0.1:PORT/": 421,
    "": 421,
}
ORIGINS: Final = {
    "http://127.0.0.1:PORT": 200,
    "http://localhost:PORT": 200,
    "null": 403,
    "": 403,
    "https://127.0.0.1:PORT": 403,
    "http://127.0.0.1": 403,
    "http://127.0.0.1:1": 403,
    "http://127.0.0.1:PORT/": 403,
    "http://127.0.0.1:PORT.evil.example": 403,
    "http://evil.example": 403,
    "http://evil.example:PORT": 403,
    "HTTP://127.0.0.1:PORT": 403,
    "http://LOCALHOST:PORT": 403,
    "http://localhost.:PORT": 403,
    "http://[::1]:PORT": 403,
    "file://": 403,
    "http://127.0.0.1:PORT http://evil.example": 403,
}
SITES: Final = {"none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403}


def address_of(page: OpenedPage) -> tuple[int, str]:
    """Return the port and the token of a page."""
    split = urlsplit(page.url)
    return split.port or 0, split.fragment.removeprefix("token=")


def upgrade_of(page: OpenedPage, *lines: str) -> bytes:
    """Return a request for the connection of rows, with the right token."""
    port, token = address_of(page)
    head = (
        "GET /live HTTP/1.1",
        *(lines or (f"Host: 127.0.0.1:{port}",)),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Sec-WebSocket-Protocol: {PROTOCOL}, {token}",
        "",
        "",
    )
    return "\r\n".join(head).encode()


async def status_of(page: OpenedPage, sent: bytes) -> int:
    """Return the status of the answer; 0 for none."""
    async with await trio.open_tcp_stream("127.0.0.1", address_of(page)[0]) as stream:
        await stream.send_all(sent)
        answer = await stream.receive_some(4_096)
    return int(answer.split()[1]) if answer else 0


@pytest.mark.promise("V-host")
async def test_only_exact_hosts_and_origins_get_data_or_rows(tmp_path: Path) -> None:
    async with open_recorded_page(make_run(tmp_path)) as page:
        port, token = address_of(page)
        forms: list[tuple[tuple[str, ...], int]] = [((f"Host: {host}",), status) for host, status in HOSTS.items()]
        own = f"Host: 127.0.0.1:{port}"
        forms += [((own, f"Origin: {origin}"), status) for origin, status in ORIGINS.items()]
        forms += [((own, f"Sec-Fetch-Site: {site}"), status) for site, status in SITES.items()]
        forms += [((own, own), 400), ((own, "Origin: null", f"Origin: http://127.0.0.1:{port}"), 403)]
        forms += [(("Accept: */*",), 400), ((own, "Host: evil.example"), 400), ((f"{own}\t", "X: 1"), 200)]
        forms += [
            ((own, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"), 403),
            ((own, "Sec-Fetch-Site: "), 403),
        ]
        wrong = []
        for said, expected in forms:
            lines = [line.replace("PORT", str(port)) for line in said]
            for path in (f"/data/events?run={RUN}&from=0&to=2", "/data/runs"):
                status, _, body = await get(port, path, *lines, f"Authorization: Bearer {token}")
                if status != expected or (b'"run' in body) != (expected == 200 and path == "/data/runs"):
                    wrong.append((path, lines, status))
            opened = await status_of(page, upgrade_of(page, *lines))
            if opened != (101 if expected == 200 else expected):
                wrong.append(("/live", lines, opened))
        assert len(forms) >= 50
        assert wrong == []


def bad_bytes(page: OpenedPage) -> list[bytes]:
    """Return what connections send that are no viewers."""
    upgrade = upgrade_of(page)
    greeting = json.dumps({"run": RUN, "has": {}}).encode()
    frame = b"\x81" + bytes((0x80 | len(greeting),)) + bytes(4) + greeting
    return [
        b"",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        b"GET /live HTTP/1.1\r\nHost: 127",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000,
        upgrade + b"\xff",
        upgrade + b"\x88\x80mask\x89\x80mask\x81\x80mask",
        upgrade + b"\x81\xfe\xff\xffmask" + bytes(70_000),
        upgrade + b"\x82\x80mask",
        upgrade + frame + frame,
        upgrade + frame + b"\x81\x85" + bytes(4) + b"hello",
        upgrade + frame,  # and then reads nothing
    ]


def descriptors_and_tasks() -> tuple[int, int]:
    return len(list(Path("/proc/self/fd").iterdir())), trio.lowlevel.current_statistics().tasks_living


@pytest.mark.promise("V-viewer")
async def test_bad_connections_disturb_no_viewer_and_leave_nothing(tmp_path: Path) -> None:
    journal = make_run(tmp_path, RECORDED[:50])
    before = descriptors_and_tasks()
    async with open_recorded_page(journal) as page, trio.open_nursery() as nursery:
        port, token = address_of(page)
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        viewer = await wrap_client_stream(nursery, stream, f"127.0.0.1:{port}", "/live", subprotocols=[PROTOCOL, token])
        await viewer.send_message(json.dumps({"run": RUN, "has": {}}))
        held, streams = Unpacked(), []
        for sent in bad_bytes(page) * 2:
            bad = await trio.open_tcp_stream("127.0.0.1", port)
            with trio.move_on_after(1):
                try:
                    await bad.send_all(sent)
                except trio.BrokenResourceError:  # it was shown out while it spoke
                    pass
            streams.append(bad)
            assert (await get(port, "/data/runs", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}"))[
                0
            ] == 200
        with journal.open("ab") as file:
            file.write(b"".join(RECORDED[50:]))
        with trio.fail_after(20):
            while len(held.rows.get("events", ())) < len(RECORDED) - 1:
                message = await viewer.get_message()
                if isinstance(message, bytes):
                    length = int.from_bytes(message[:4], "little")
                    held.add(json.loads(message[4 : 4 + length]), message[4 + length :])
        assert page.statistics().failed == 0
        for number, each in enumerate(streams):
            if number % 2:  # reset, not closed
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await trio.aclose_forcefully(each)
        assert (await get(port, "/data/runs", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}"))[0] == 200
        nursery.cancel_scope.cancel()
    await trio.aclose_forcefully(stream)

    assert descriptors_and_tasks() == before


@pytest.mark.promise("V-reads")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_nothing_but_reading_is_answered(tmp_path: Path, method: str) -> None:
    async with open_recorded_page(make_run(tmp_path)) as page:
        port, token = address_of(page)
        head = f"{method} /data/runs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        assert await status_of(page, head.encode()) == 405
