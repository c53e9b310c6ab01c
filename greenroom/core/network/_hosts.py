"""Hosts of URLs: canonical form, and whether one belongs to this machine or its network."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


def canonical_host(host: str) -> str | None:
    """Return the canonical form of a host; None if it is invalid or ambiguous.

    Names are in lower case without trailing dots; an IPv4 address has four decimal numbers, however it was written
    (`2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]`); an IPv6 address is compressed and in brackets.
    """
    host = host.lower()
    if host.startswith("[") or ":" in host:
        if "%" in host:  # an interface of this machine
            return None
        try:
            address = _inner(ipaddress.IPv6Address(host.removeprefix("[").removesuffix("]")))
        except ValueError:
            return None
        return str(address) if address.version == 4 else f"[{address}]"
    host = host.rstrip(".")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):  # as in the URL standard: the whole host is then an address
        return _numeric(host.split("."))
    return host if _NAME.fullmatch(host) else None


def address_of(host: str) -> Address | None:
    """Return the address of a canonical host; None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_private_address(address: Address) -> bool:
    """True if an address is not public: loopback, private, link-local (cloud metadata), shared or reserved."""
    inner = _inner(address) if isinstance(address, ipaddress.IPv6Address) else address
    return not inner.is_global or inner.is_multicast


def is_private_host(host: str) -> bool:
    """True if a canonical host is a private address, or a name of this machine."""
    address = address_of(host)
    return is_loopback_host(host) if address is None else is_private_address(address)


def is_loopback_host(host: str) -> bool:
    """True if a canonical host is this machine, by any of its loopback addresses or names."""
    address = address_of(host)
    if address is None:
        return host in {"localhost", "ip6-localhost", "ip6-loopback"} or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _inner(address: ipaddress.IPv6Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for (mapped, compatible, 6to4, NAT64), else itself."""
    is_compatible = address in _COMPATIBLE and int(address) > 1
    carried = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if is_compatible or address in _NAT64 else None
    return address.ipv4_mapped or address.sixtofour or carried or address


def _numeric(parts: list[str]) -> str | None:
    """Return the address that one to four numbers, in any base of C, stand for."""
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        *first, last = [_number(part) for part in parts]
    except ValueError:
        return None
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return None
    value = last + sum(number << (24 - 8 * place) for place, number in enumerate(first))
    return str(ipaddress.IPv4Address(value))


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)
