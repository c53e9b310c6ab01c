"""The command line: `greenroom swarm` and `greenroom replay`."""

from greenroom.cli._app import main

__all__ = ["main"]
