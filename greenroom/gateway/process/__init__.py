"""The process of a gateway: its state folder, start, stop, reload, health and log."""

__all__: list[str] = []
