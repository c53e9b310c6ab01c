"""Fixtures of the tests of commands."""

from tests.cli.place import place

__all__ = ["place"]
