"""Many agents at once over real sockets leave nothing; `make crowd` does it with 1,000."""

from __future__ import annotations

import sys
from pathlib import Path

import anthropic as _loaded_before  # noqa: F401 - on a busy machine its import takes seconds
import pytest
import trio

from tools.crowd import check_crowd, held

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")


@pytest.mark.slow
async def test_a_crowd_of_agents_leaves_no_socket_task_process_or_file_handle() -> None:
    await check_crowd(40, 10)


async def test_what_is_held_is_seen(tmp_path: Path) -> None:
    before = held()

    with (tmp_path / "open").open("w"):
        assert held().descriptors != before.descriptors
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        assert held().tasks == before.tasks + 1
        nursery.cancel_scope.cancel()
    process = await trio.lowlevel.open_process(["sleep", "60"])
    assert len(held().children) == len(before.children) + 1
    process.kill()
    await process.wait()

    assert held() == before
