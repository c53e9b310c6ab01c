"""Lanes: how many turns run at once, and who is next."""

__all__: list[str] = []
