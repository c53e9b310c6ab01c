"""Announcements: the text about the end of a run, its parts, and when each is tried."""

__all__: list[str] = []
