from __future__ import annotations

from tests.session.conftest import short
from tests.virtual import pytest_collection_modifyitems, virtual_time

__all__ = ["pytest_collection_modifyitems", "short", "virtual_time"]
