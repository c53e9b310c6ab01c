"""The session tools: how an agent starts, watches and stops runs, and reads and writes to other sessions."""

__all__: list[str] = []
