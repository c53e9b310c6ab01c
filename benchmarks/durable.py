"""Cost of a durable item: puts a second one at a time and together, opening a run with 10,000 items in its store, a swarm.

`python -m benchmarks.durable`. The store in memory is the peer; the disk is that of the temporary folder.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from benchmarks.measure import Target, print_figures, print_table, report
from greenroom.core.ports import InlineBlocking, SystemClock
from greenroom.inbox import InboxStore, StoredItem
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.store import INBOX, MemoryInboxStore, open_inbox_store
from greenroom.swarm import _swarm
from greenroom.swarm._swarm_plan import SwarmOptions
from tests.swarm.small_repo import make_small_repo

ROUNDS: Final = 5
ITEMS: Final = 2_000
BOXES: Final = 20
TOGETHER: Final = 100
SWARMS: Final = 60


async def opened(folder: Path | None) -> InboxStore:
    """Return a store in memory, or in a folder."""
    wall = SystemClock().wall
    if folder is None:
        return MemoryInboxStore(wall)
    return await open_inbox_store(folder / INBOX, blocking=InlineBlocking(), wall=wall)


def item(number: int, *, boxes: int = BOXES) -> StoredItem:
    return StoredItem(id=str(number), box=f"box {number % boxes}", text="a message of forty characters, or so it is")


async def puts(*, on_disk: bool, together: int) -> float:
    """Return the seconds of one put."""
    with tempfile.TemporaryDirectory() as folder:
        store = await opened(Path(folder) if on_disk else None)
        await store.put([item(ITEMS)])  # the file is made
        began = time.perf_counter()
        if together == 1:
            for number in range(ITEMS):
                await store.put([item(number)])
        else:
            for first in range(0, ITEMS, together):
                async with trio.open_nursery() as nursery:
                    for number in range(first, first + together):
                        nursery.start_soon(store.put, [item(number)])
        took = time.perf_counter() - began
        await store.aclose()
    return took / ITEMS


async def opening(count: int) -> float:
    """Return the seconds in which a run is opened whose store holds so many items, 500 of them its own."""
    with tempfile.TemporaryDirectory() as folder:
        runs, model = Path(folder) / "runs", PlaybookModel({"main": lambda _: "Read."})
        async with open_session(model=model, cwd=folder, runs=runs) as session:
            await session.run("begin")
        store = await opened(session.run_folder)
        for first in range(0, count, TOGETHER):
            await store.put([item(number) for number in range(first, min(count, first + TOGETHER))])
        await store.aclose()
        began = time.perf_counter()
        async with open_session(model=model, cwd=folder, runs=runs, resume=session.run_folder, box="box 0") as again:
            took = time.perf_counter() - began
            again.kill()
    return took


def swarm(*, on_disk: bool) -> tuple[float, float]:
    """Return the seconds of CPU and of wall time of a swarm on a small repository."""
    with tempfile.TemporaryDirectory() as name, redirect_stdout(io.StringIO()), pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        options = SwarmOptions(path=make_small_repo(folder / "small"), runs=folder / "runs", model="playbook")
        if not on_disk:
            store = MemoryInboxStore(SystemClock().wall)
            patch.setattr(_swarm, "open_session", partial(open_session, store=store))
        began, cpu = time.perf_counter(), time.process_time()
        assert _swarm.run_swarm(options) == 0
        return time.process_time() - cpu, time.perf_counter() - began


def report_swarm() -> None:
    """Compare swarms with and without a store on disk, in rounds that alternate."""
    swarm(on_disk=True)  # what is imported by a first one
    rounds = []
    for number in range(SWARMS):  # in turns, so that neither profits from being second
        measured = {on_disk: swarm(on_disk=on_disk) for on_disk in ((True, False) if number % 2 else (False, True))}
        rounds.append((measured[True], measured[False]))
    for place, what in enumerate(("CPU", "wall")):
        kept = {
            "with its store": [on_disk[place] for on_disk, _ in rounds],
            "in memory": [memory[place] for _, memory in rounds],
        }
        print_table(f"a swarm, {what}", kept, unit="ms", scale=1e3)
    report(
        Target(
            bench="CPU of a swarm with its store",
            numerator="with its store",
            denominator="in memory",
            limit=1.03,
            at_least=False,
        ),
        [on_disk[0] / memory[0] for on_disk, memory in rounds],
    )


def main() -> None:
    """Measure in rounds that alternate, and print medians."""
    kinds: dict[str, Callable[[], float]] = {
        "in memory, one at a time": partial(trio.run, partial(puts, on_disk=False, together=1)),
        "on disk, one at a time": partial(trio.run, partial(puts, on_disk=True, together=1)),
        "on disk, 100 at once": partial(trio.run, partial(puts, on_disk=True, together=TOGETHER)),
    }
    samples: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, measure in kinds.items():
            samples[name].append(measure())
    print_table("a put", samples, unit="us", scale=1e6)
    report(
        Target(bench="puts a second, 100 at once", numerator="puts", denominator="second", limit=20_000),
        [1 / each for each in samples["on disk, 100 at once"]],
    )
    report(
        Target(bench="puts a second, one at a time", numerator="puts", denominator="second"),
        [1 / each for each in samples["on disk, one at a time"]],
    )
    ratios = [
        disk / memory
        for disk, memory in zip(samples["on disk, 100 at once"], samples["in memory, one at a time"], strict=True)
    ]
    report(
        Target(
            bench="a durable item over one in memory",
            numerator="on disk, 100 at once",
            denominator="in memory",
            at_least=False,
        ),
        ratios,
    )
    trio.run(opening, 1)  # what is imported by a first session
    full = {f"{count:,} items": [trio.run(opening, count) for _ in range(ROUNDS)] for count in (1, 500 * BOXES)}
    print_table("opening a run", full, unit="ms", scale=1e3)
    report(
        Target(
            bench="a run with 10,000 items is open",
            numerator="seconds",
            denominator="opening",
            limit=0.5,
            at_least=False,
        ),
        full[f"{500 * BOXES:,} items"],
    )
    report_swarm()
    print_figures()


if __name__ == "__main__":
    main()
