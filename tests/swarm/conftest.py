"""Fixtures of the tests of swarms."""

import pytest

from greenroom.swarm.survey import _linter
from tests.cli.place import place

__all__ = ["place"]


@pytest.fixture(autouse=True)
def _no_linter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are the same whether or not a linter is installed; the tests of the linter start it themselves."""
    monkeypatch.setattr(_linter, "find_linter", lambda: None)
