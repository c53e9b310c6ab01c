from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.redis.real_redis import started_redis
from tools.chaos.redis_process import RealRedis


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRedis]:
    """One server for the tests of a module, which use names of their own."""
    with started_redis(Path(tmp_path_factory.mktemp("redis"))) as server:
        yield server
