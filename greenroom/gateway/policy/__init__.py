"""What agents may do: the tools that sessions are offered."""

__all__: list[str] = []
