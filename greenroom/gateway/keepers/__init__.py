"""Keepers: an actor for each session key, which opens its session when there is something to do, and closes it when it is idle."""

__all__: list[str] = []
