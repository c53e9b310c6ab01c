"""The half of a fault point that is in production code: it does nothing."""

from __future__ import annotations

from contextvars import Context

import pytest
import trio

from greenroom.core import arm_points, point


def test_in_production_a_point_neither_waits_nor_yields() -> None:
    passing = point("saved")

    with pytest.raises(StopIteration):
        passing.send(None)


async def test_a_point_calls_what_is_armed_then_whoever_passes_it() -> None:
    """Actors begin with fresh context variables, so it is no matter of these."""
    passed: list[str] = []

    async def note(name: str) -> None:
        await trio.lowlevel.checkpoint()
        passed.append(name)

    await point("before")
    with pytest.raises(ZeroDivisionError), arm_points(note):
        async with trio.open_nursery() as nursery:
            Context().run(nursery.start_soon, point, "in a task")
        raise ZeroDivisionError
    await point("after")

    assert passed == ["in a task"]


async def test_what_is_armed_inside_replaces_what_is_armed_outside() -> None:
    passed: list[str] = []

    async def outer(name: str) -> None:
        passed.append(f"outer {name}")

    async def inner(name: str) -> None:
        passed.append(f"inner {name}")

    with arm_points(outer):
        with arm_points(inner):
            await point("a")
        await point("b")

    assert passed == ["inner a", "outer b"]
