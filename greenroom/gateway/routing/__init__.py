"""Routing: session keys."""

__all__: list[str] = []
