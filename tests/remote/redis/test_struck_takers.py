"""Real processes that share a box on a real server, killed and stopped; `make test-redis` runs these, `make chaos-redis` many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.remote.redis.real_redis import need_strikes
from tools.chaos.redis_boxes import strike_processes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.promise("R9-a")
def test_killed_processes_and_a_killed_server_lose_and_repeat_no_item(tmp_path: Path) -> None:
    """Mechanism: a put returns when the server has it on disk, an item leaves after its line, and a step is whole or not there."""
    need_strikes()
    totals = strike_processes(tmp_path, 4, seed=1, blows=("writer", "taker", "server", "dead taker"))

    assert totals.acknowledged > 50
    assert totals.is_right


@pytest.mark.promise("R9-b")
def test_late_acknowledgement_of_a_stopped_taker_is_refused(tmp_path: Path) -> None:
    """Mechanism: every acknowledgement says the number of the lease, and the server compares it."""
    need_strikes()
    totals = strike_processes(tmp_path, 2, seed=1, blows=("stopped taker",))

    assert totals.refused >= 2
    assert totals.is_right
