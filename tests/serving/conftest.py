from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.virtual import pytest_collection_modifyitems, virtual_time

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["folder", "pytest_collection_modifyitems", "virtual_time"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="gr") as name:
        yield Path(name)
