"""Channels: accounts of chat services, each an actor that reads messages and sends what is due."""

from greenroom.gateway.channels._channel import Channel, ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._messages import Assurance, Inbound, Outbound, PeerKind, Route, Sender, SendReceipt

__all__ = [
    "Assurance",
    "Channel",
    "ChannelHost",
    "ChannelTraits",
    "Inbound",
    "Outbound",
    "PeerKind",
    "Route",
    "SendReceipt",
    "SendResult",
    "Sender",
    "WasSent",
]
