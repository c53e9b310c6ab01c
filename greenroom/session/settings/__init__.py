"""Settings of a session: files, variables of the environment, edits while it runs."""

__all__: list[str] = []
