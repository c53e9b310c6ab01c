"""The terminal client of a gateway: `greenroom chat`."""

__all__: list[str] = []
