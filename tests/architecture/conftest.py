"""Syntax trees of all files, without the collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


# Trees have no cycles, and going through all live nodes again and again takes a quarter of the time.
@pytest.fixture(autouse=True, scope="module")
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
