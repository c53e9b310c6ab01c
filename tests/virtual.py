"""Helpers for the tests of the kernel: virtual time under three schedules, and an end for what would wait forever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
import trio
import trio.testing

from greenroom.testing import scheduled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

FOR_EVER_S: Final = 100_000.0


@pytest.fixture(params=[None, 1, 2], ids=["in-order", "seed-1", "seed-2"])
def virtual_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run an async test in virtual time, three times: tasks first in, first out, and twice shuffled by a fixed seed."""
    with scheduled(request.param):
        yield


def run_virtually(
    test: Callable[[], Awaitable[Any]], *, clock: object, instruments: Sequence[trio.abc.Instrument]
) -> Any:
    """Run a test as pytest-trio does, in virtual time; it fails when all that is left is waiting forever."""
    assert clock is None

    async def limited() -> Any:
        with trio.fail_after(FOR_EVER_S):
            return await test()

    return trio.run(limited, clock=trio.testing.MockClock(autojump_threshold=0), instruments=instruments)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell pytest-trio how the tests that use `virtual_time` are run."""
    for item in items:
        if "virtual_time" in getattr(item, "fixturenames", ()):
            # In front: pytest-trio takes the first such marker that it finds.
            item.add_marker(pytest.mark.trio(run=run_virtually), append=False)
