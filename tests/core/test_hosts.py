"""Hosts: one form for every spelling of an address, and which ones are private."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.network import canonical_host, is_loopback_host, is_private_host


def spellings(address: ipaddress.IPv4Address) -> set[str]:
    """Return many ways in which programs accept an IPv4 address."""
    value, parts = int(address), address.packed
    forms = {
        str(address),
        f"{address}.",
        str(value),
        hex(value),
        hex(value).upper(),
        f"0{value:o}",
        ".".join(map(hex, parts)),
        ".".join(f"0{part:o}" if part else "0" for part in parts),
        f"{parts[0]}.{value & 0xFFFFFF}",
        f"{parts[0]:#x}.{parts[1]}.{value & 0xFFFF}",
        f"[::ffff:{address}]",
        f"[::FFFF:{value >> 16:x}:{value & 0xFFFF:x}]",
        f"[0:0:0:0:0:ffff:{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{value >> 16:x}:{value & 0xFFFF:x}::]",
    }
    return forms | ({f"[::{address}]"} if value > 1 else set())


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_has_one_form(address: ipaddress.IPv4Address) -> None:
    assert {canonical_host(spelling) for spelling in spellings(address)} == {str(address)}


@given(st.ip_addresses(v=6))
def test_addresses_of_version_six_have_one_form(address: ipaddress.IPv6Address) -> None:
    form = canonical_host(f"[{address.exploded.upper()}]")

    assert form is not None
    assert form == canonical_host(str(address)) == canonical_host(form)


@given(st.text(max_size=20))
def test_form_of_a_host_is_its_own_form(text: str) -> None:
    form = canonical_host(text)

    assert form is None or canonical_host(form) == form


@pytest.mark.parametrize(
    "host",
    ["", ".", "a b", "1.2.3.4.5", "256.1.1.1", "08", "4294967296", "a.1", "[::1%eth0]", "[::g]", "ä.de", "%31.1.1.1"],
)
def test_host_that_programs_could_differ_about_has_no_form(host: str) -> None:
    assert canonical_host(host) is None


PRIVATE = [
    *(
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "2130706433",
        "0x7f.1",
    ),
    *("10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255"),
    *(
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::169.254.169.254]",
        "[2002:7f00:1::]",
    ),
]


@pytest.mark.parametrize("host", PRIVATE)
def test_host_of_this_machine_or_its_network_is_private(host: str) -> None:
    form = canonical_host(host)

    assert form is not None
    assert is_private_host(form)
    assert is_loopback_host(form) == (host in PRIVATE[:10] or host == "[2002:7f00:1::]")


@pytest.mark.parametrize(
    "host", ["example.com", "8.8.8.8", "172.32.0.1", "[2606:4700::1111]", "localhost.example.com", "[::ffff:8.8.8.8]"]
)
def test_public_host_is_not_private(host: str) -> None:
    form = canonical_host(host)

    assert form is not None
    assert not is_private_host(form)
