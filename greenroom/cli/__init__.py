"""The command line: arguments and exit codes."""

from greenroom.cli._app import main

__all__ = ["main"]
