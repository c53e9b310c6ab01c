"""Runs: what sessions are given to do, with one end and one announcement each, and the deliveries of texts to chats."""

__all__: list[str] = []
