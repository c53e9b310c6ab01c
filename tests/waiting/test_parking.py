"""Parking below Trio's documented calls: on where this Trio is as expected, off otherwise, the same either way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.waiting import _parking, prepare, sleep, wake
from greenroom.waiting._parking import SHORTCUTS

ROOT = Path(__file__).parents[2]


def test_the_shortcuts_are_on_with_the_trio_that_is_locked() -> None:
    """If this fails, a new Trio has changed what they rest on: everything works, each switch costs twice as much."""
    assert SHORTCUTS
    assert prepare is _parking._TRAP


def test_the_self_test_notices_a_trio_that_keeps_the_abort_function_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(abort: object) -> None:
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)

    monkeypatch.setattr(_parking, "wait_task_rescheduled", other)

    assert not _parking._self_test()


def test_the_self_test_notices_a_trio_that_does_more_than_unwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(abort: object) -> object:
        result = await trio.lowlevel.wait_task_rescheduled(abort)  # type: ignore[arg-type]
        raise TypeError(result)

    monkeypatch.setattr(_parking, "wait_task_rescheduled", other)

    assert not _parking._self_test()


async def test_one_trap_serves_many_sleeps_and_a_cancel_wakes_its_sleeper() -> None:
    forgotten: list[object] = []

    def forget(_: object) -> trio.lowlevel.Abort:
        forgotten.append(1)
        return trio.lowlevel.Abort.SUCCEEDED

    trap = prepare(forget)
    woken = 0
    tasks: list[trio.lowlevel.Task] = []

    async def sleeper() -> None:
        nonlocal woken
        tasks.append(trio.lowlevel.current_task())
        for _ in range(3):
            await sleep(trap)
            woken += 1
        await sleep(trap)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sleeper)
        for count in range(3):
            await wait_all_tasks_blocked()
            assert woken == count
            wake(tasks[0])
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert (woken, len(forgotten)) == (3, 1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_promises_hold_with_the_shortcuts_off() -> None:
    """The tests of whatever parks, once more, in a process whose Trio looks different; `make soak` runs all of the kernel's."""
    actors = ["turns", "asks", "aborts", "ends", "sweep"]
    folders = ["tests/waiting", "tests/mailbox", *(f"tests/actors/test_{name}.py" for name in actors)]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.waiting.other_trio", "-p", "no:cacheprovider"]
    chosen = ["-m", "not slow", "-k", "in-order or not seed", *folders, "--deselect", "tests/waiting/test_parking.py"]
    chosen += ["--hypothesis-profile", "brief"]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        environment.pop(name, None)

    done = subprocess.run(
        [*command, *chosen], check=False, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=280
    )

    assert done.returncode == 0, done.stdout[-3_000:]
