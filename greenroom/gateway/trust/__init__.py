"""Trust: the admission of messages, pairing, limits of chats, and questions about tool calls."""

__all__: list[str] = []
