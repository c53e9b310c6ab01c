from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from greenroom.supervisor import Backoff
from tests.mcp.project_files import Files
from tests.virtual import pytest_collection_modifyitems, virtual_time

__all__ = ["at_once", "pytest_collection_modifyitems", "virtual_time"]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry servers at once: as often, but without the seconds in between, which pass in real time."""
    monkeypatch.setattr("greenroom.mcp._connection.BACKOFF", Backoff(first_s=0.001, cap_s=0.001))


@pytest.fixture
def collected_here() -> Iterator[None]:
    """Collect the generators that the SDK left while the warnings of the test's module about them are still ignored."""
    yield
    gc.collect()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
