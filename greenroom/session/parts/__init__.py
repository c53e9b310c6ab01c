"""Parts of an open session: agents, tasks, teams, permissions, files."""

__all__: list[str] = []
