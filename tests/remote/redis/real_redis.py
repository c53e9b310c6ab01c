"""A redis server for tests.

A test that needs one is skipped where the program is not installed, and fails instead if `REDIS_SERVER=demanded` (`make test-redis`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.chaos.redis_process import PROGRAM, RealRedis

IS_DEMANDED = os.environ.get("REDIS_SERVER") == "demanded"
MEMORY_STREAMS = "ignore:Unclosed <Memory:ResourceWarning"
"""The warning for what the library leaves to the garbage collector whenever it closes a connection."""


def need_redis() -> None:
    """Skip the test if the program is not installed."""
    if PROGRAM is None:
        text = "redis-server is not installed; `make test-redis` installs it"
        pytest.fail(text) if IS_DEMANDED else pytest.skip(text)


def need_strikes() -> None:
    """Skip a test that kills processes for many seconds, unless it is demanded."""
    need_redis()
    if not IS_DEMANDED:
        pytest.skip("kills of redis take long; `make test-redis` runs them")


@contextmanager
def started_redis(folder: Path, *options: str) -> Iterator[RealRedis]:
    """Start a server; further options replace those that keep everything."""
    need_redis()
    server = RealRedis(folder, **({"options": options} if options else {}))  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.kill()
