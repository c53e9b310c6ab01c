"""Channels: accounts of chat services, each an actor that reads messages and sends what is due."""

from greenroom.gateway.channels._channel import Channel, ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import (
    Assurance,
    ChatRoute,
    Inbound,
    Outbound,
    PeerKind,
    Sender,
    SendReceipt,
)

__all__ = [
    "Assurance",
    "Channel",
    "ChannelHost",
    "ChannelTraits",
    "ChatRoute",
    "Inbound",
    "Outbound",
    "PeerKind",
    "SendReceipt",
    "SendResult",
    "Sender",
    "WasSent",
]
