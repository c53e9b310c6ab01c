"""Unix sockets, TLS and names, over real sockets."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
import trio

from greenroom.core import UsageError
from greenroom.serving import Tcp, UnixSocket, connect_unix, open_server
from greenroom.serving._listeners import own_hosts
from tests.serving.callers import App, read_all, request

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("address", "port", "scheme", "hosts"),
    [
        ("127.0.0.1", 8000, "http", ["127.0.0.1:8000", "localhost:8000"]),
        ("::1", 8000, "http", ["[::1]:8000", "localhost:8000"]),
        ("127.0.0.1", 80, "http", ["127.0.0.1:80", "127.0.0.1", "localhost:80", "localhost"]),
        ("192.0.2.1", 443, "https", ["192.0.2.1:443", "192.0.2.1"]),
        ("192.0.2.1", 80, "https", ["192.0.2.1:80"]),
        ("0.0.0.0", 8000, "https", []),
    ],
)
def test_an_address_is_reached_under_these_names(address: str, port: int, scheme: str, hosts: list[str]) -> None:
    assert own_hosts(ipaddress.ip_address(address), port, scheme=scheme) == hosts


async def asked(stream: trio.abc.Stream, host: str) -> bytes:
    await stream.send_all(request("/page", host=host))
    return await read_all(stream)


async def test_a_unix_socket_is_private_and_goes_with_its_server(folder: Path) -> None:
    path = folder / "s"
    async with open_server(App().endpoints(), listen=[UnixSocket(path)]) as server:
        assert server.addresses == (f"unix:{path}",)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        stream = await connect_unix(path)
        assert (await asked(stream, "localhost")).endswith(b"a page")
        await trio.aclose_forcefully(stream)
        with pytest.raises(UsageError, match="another process listens"):
            async with open_server([], listen=[UnixSocket(path)]):
                pass

    assert not path.exists()


async def test_a_socket_that_was_left_behind_is_replaced(folder: Path) -> None:
    path = folder / "s"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()

    async with open_server(App().endpoints(), listen=[UnixSocket(path)]):
        await trio.aclose_forcefully(await connect_unix(path))


async def test_names_of_one_place_do_not_count_at_another(folder: Path) -> None:
    """A Unix socket is reached as `localhost`, a port never without its number."""
    async with open_server(App().endpoints(), listen=[UnixSocket(folder / "s"), Tcp()]) as server:
        port = int(server.addresses[1].rpartition(":")[2])
        for host, status in (("localhost", b"421"), (f"localhost:{port}", b"200"), (f"127.0.0.1:{port}", b"200")):
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            assert (await asked(stream, host))[9:12] == status
            await trio.aclose_forcefully(stream)


async def test_two_addresses_share_a_port() -> None:
    async with open_server(App().endpoints(), listen=[Tcp()]) as server:
        port = int(server.addresses[0].rpartition(":")[2])
        try:
            async with open_server(App().endpoints(), listen=[Tcp(host="::1", port=port)]) as other:
                assert other.addresses == (f"http://[::1]:{port}",)
        except UsageError as error:
            if "another process" in str(error):
                raise
            pytest.skip("this machine has no IPv6")


@pytest.fixture
def tls(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server and of a client that trusts it."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    key, certificate = folder / "key", folder / "certificate"
    command = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *named, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))


async def test_a_port_with_tls_answers_those_who_speak_it(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    ours, theirs = tls
    async with open_server(App().endpoints(), listen=[Tcp(tls=ours)]) as server:
        port = int(server.addresses[0].rpartition(":")[2])
        plain = await trio.open_tcp_stream("127.0.0.1", port)
        assert not (await asked(plain, f"127.0.0.1:{port}")).startswith(b"HTTP")
        secured = trio.SSLStream(
            await trio.open_tcp_stream("127.0.0.1", port), theirs, server_hostname="127.0.0.1", https_compatible=True
        )
        answer = await asked_once(secured, f"127.0.0.1:{port}")
        await trio.aclose_forcefully(secured)
        await trio.aclose_forcefully(plain)

    assert server.addresses[0].startswith("https://")
    assert answer.startswith(b"HTTP/1.1 200")


async def asked_once(stream: trio.abc.Stream, host: str) -> bytes:
    await stream.send_all(request("/page", host=host))
    return bytes(await stream.receive_some(4_096))
