"""The terminal client of a gateway: `greenroom chat`."""

from greenroom.gateway.chat._chat_command import chat_command

__all__ = ["chat_command"]
