from __future__ import annotations

import pytest

from greenroom.supervisor import Backoff
from tests.virtual import pytest_collection_modifyitems, virtual_time

__all__ = ["at_once", "pytest_collection_modifyitems", "virtual_time"]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server be tried again at once: as often, but without the seconds in between, which pass in real time."""
    monkeypatch.setattr("greenroom.mcp._server_lifecycle.BACKOFF", Backoff(first_s=0.001, cap_s=0.001))
