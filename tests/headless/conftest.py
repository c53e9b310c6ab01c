"""Fixtures of the tests of headless runs."""

from tests.cli.place import place

__all__ = ["place"]
