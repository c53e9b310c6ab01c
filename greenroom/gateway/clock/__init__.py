"""Jobs of the clock: when each is due, and one run for each time."""

__all__: list[str] = []
