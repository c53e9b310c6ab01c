"""Messages between sessions of one machine."""

__all__: list[str] = []
