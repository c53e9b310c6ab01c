"""Host names, addresses, and the words of transport errors."""

from greenroom.core.network._hosts import (
    address_of,
    canonical_host,
    is_loopback_host,
    is_private_address,
    is_private_host,
)
from greenroom.core.network._transport import transport_words

__all__ = [
    "address_of",
    "canonical_host",
    "is_loopback_host",
    "is_private_address",
    "is_private_host",
    "transport_words",
]
