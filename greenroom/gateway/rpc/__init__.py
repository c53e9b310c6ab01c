"""The protocol of the gateway: frames over a WebSocket, methods, events, tokens, and a client."""

__all__: list[str] = []
