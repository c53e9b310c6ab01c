"""The gateway: sessions that spawn sessions, each the chat of somebody."""

__all__: list[str] = []
