"""The screen of a swarm: frozen values, and panes that draw them."""

__all__: list[str] = []
