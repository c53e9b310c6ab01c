"""Fixtures of the tests of swarms."""

from tests.cli.place import place

__all__ = ["place"]
