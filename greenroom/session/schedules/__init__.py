"""Scheduled prompts of a session: their events, their state, their tools."""

__all__: list[str] = []
