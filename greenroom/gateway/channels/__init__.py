"""Channels: accounts of chat services, each an actor that reads messages and sends what is due."""

__all__: list[str] = []
