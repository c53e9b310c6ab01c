"""The gateway: one process that holds many sessions, each the chat of somebody."""

__all__: list[str] = []
