"""Links over TLS, between addresses of this machine, with authorities made by the test."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import greenroom as gr
from greenroom.core import UsageError
from greenroom.remote.links._dialling import Unreachable
from greenroom.remote.links._link_peers import LinkPeer
from greenroom.remote.links._node import LinkNode, open_node
from greenroom.serving import Incident, Tcp, read_authority, read_certificate
from tests.remote.links.authority import Authority
from tests.remote.links.linked import CODEC, Counter, Sum

TOKEN = b"0123456789abcdef" * 2
HOST = "127.0.0.2"
"""Another address of the loopback interface than that from which connections come."""
YESTERDAY = -dt.timedelta(days=1)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("other"), "other")


@asynccontextmanager
async def open_pair(
    listens: ssl.SSLContext | None, dials: ssl.SSLContext | None, scheme: str = "https"
) -> AsyncIterator[tuple[LinkNode, list[Incident]]]:
    """Open a node that listens on a TCP port, and one that knows where; return the second, and what the first reports."""
    incidents: list[Incident] = []
    async with (
        gr.open_runtime() as runtime,
        gr.open_runtime() as other,
        open_node(
            runtime,
            name="host",
            codec=CODEC,
            peers={"guest": LinkPeer(token=TOKEN)},
            listen=[Tcp(host=HOST, tls=listens)],
            report=incidents.append,
        ) as host,
    ):
        host.publish("counter", await runtime.spawn(Counter))
        address = f"{scheme}:{host.addresses[0].partition(':')[2]}"
        peers = {"host": LinkPeer(token=TOKEN, address=address, tls=dials)}
        async with open_node(other, name="guest", codec=CODEC, peers=peers) as guest:
            yield guest, incidents


@pytest.mark.promise("R13-d")
@pytest.mark.parametrize("demands", [False, True], ids=["certificate of one side", "certificates of both"])
async def test_a_link_over_tls_carries_messages(ours: Authority, other: Authority, demands: bool) -> None:
    listens = ours.listening(HOST, demands=other if demands else None)
    dials = ours.trusting(shows=other if demands else None)
    async with open_pair(listens, dials) as (guest, incidents):
        counter = await (await guest.connect("host")).find("counter")
        assert counter is not None
        counter.tell(5)
        assert await counter.ask(Sum()) == 5
    assert incidents == []


@pytest.mark.promise("R13-d")
@pytest.mark.parametrize(
    ("case", "says", "records"),
    [
        ("another authority", "its certificate is not accepted here: unable to get local issuer certificate", []),
        (
            "the system's authorities",
            "its certificate is not accepted here: unable to get local issuer certificate",
            [],
        ),
        ("another address", "its certificate is not accepted here: ip address mismatch", []),
        ("expired", "its certificate is not accepted here: certificate has expired", []),
        ("no certificate", "it may demand a certificate", ["TLS: peer did not return a certificate"]),
        ("a stranger's certificate", "it may demand a certificate", ["TLS: certificate verify failed"]),
        ("plain to TLS", "it may expect https", ["TLS: http request"]),
        ("TLS to plain", "TLS failed: wrong version number", ["malformed head"]),
    ],
)
async def test_a_certificate_that_does_not_fit_is_refused_with_one_line(
    ours: Authority, other: Authority, case: str, says: str, records: list[str]
) -> None:
    listens: ssl.SSLContext | None = ours.listening(HOST)
    dials: ssl.SSLContext | None = ours.trusting()
    match case:
        case "another authority":
            dials = other.trusting()
        case "the system's authorities":
            dials = None
        case "another address":
            listens = ours.listening("127.0.0.9")
        case "expired":
            listens = ours.listening(HOST, ends_in=YESTERDAY)
        case "no certificate":
            listens = ours.listening(HOST, demands=ours)
        case "a stranger's certificate":
            listens, dials = ours.listening(HOST, demands=ours), ours.trusting(shows=other)
        case "TLS to plain":
            listens = None
    scheme = "http" if case == "plain to TLS" else "https"
    async with open_pair(listens, dials, scheme) as (guest, incidents):
        with pytest.raises(Unreachable) as caught:
            await guest.connect("host")
        assert guest.links() == []
    said = str(caught.value)
    assert said.startswith(f"cannot reach node 'host' at {scheme}://{HOST}:")
    assert says in said
    assert "\n" not in said
    assert [each.reason for each in incidents] == records


@pytest.mark.promise("R13-d")
async def test_nothing_listens_beyond_this_machine_without_tls(ours: Authority) -> None:
    async with gr.open_runtime() as runtime:
        for place, says in {
            Tcp(host="0.0.0.0"): "cannot listen on 0.0.0.0 without TLS: other machines can reach it",
            Tcp(host="192.0.2.1"): "cannot listen on 192.0.2.1 without TLS: other machines can reach it",
            Tcp(host="::"): "cannot listen on :: without TLS: other machines can reach it",
            Tcp(host="0.0.0.0", tls=ours.listening(HOST)): "cannot listen on 0.0.0.0 without names",
        }.items():
            with pytest.raises(UsageError, match=says) as caught:
                async with open_node(runtime, name="host", listen=[place]):
                    pass
            assert "\n" not in str(caught.value)


def test_files_that_hold_no_certificate_are_one_line(ours: Authority, other: Authority, tmp_path: Path) -> None:
    certificate, key = ours.certificate("one", HOST)
    _, strange = other.certificate("two", HOST)
    nothing = tmp_path / "nothing"
    text = tmp_path / "text"
    text.write_text("no certificate")
    for files, says in {
        (certificate, nothing): "no such file or directory",
        (certificate, strange): "key values mismatch",
        (text, key): "no start line|pem lib",
    }.items():
        with pytest.raises(UsageError, match=f"cannot be used: .*({says})"):
            read_certificate(*files)
    for file in (nothing, text):
        with pytest.raises(UsageError, match=f"the authority '{file}' cannot be used: "):
            read_authority(file)
    assert read_authority(ours.file).verify_mode is ssl.CERT_REQUIRED
    assert read_certificate(certificate, key).verify_mode is ssl.CERT_NONE
