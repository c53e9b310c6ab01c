"""The stages in which a session is built: spec, plan, services."""

__all__: list[str] = []
