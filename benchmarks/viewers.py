"""CPU time of a swarm's process while ten viewers look at its page, which another process serves.

    python -m benchmarks.viewers [--rounds 10]

Each round runs the same swarm three times, in another order each time: with no viewer; with ten viewers of a copy of a run that grows at the
same pace; and with ten viewers of the swarm itself. The second is the peer, because what else a machine does costs each process on it some
CPU time: cores share caches, and often more. One of the ten stands still. What the start of the program takes is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import trio
from trio_websocket import ConnectionClosed, wrap_client_stream

from benchmarks.long_runs import RUN
from benchmarks.measure import Target, print_figures, print_table, report_ratio
from benchmarks.page_speed import served
from greenroom.trace import JOURNAL, hold_run

VIEWERS: Final = 10
SURVEYED: Final = Path(__file__).parents[1] / "greenroom" / "trace"
LATENCY_S: Final = 0.1
COMMAND: Final = (sys.executable, "-m", "greenroom")
ALONE, ELSEWHERE, WATCHED = "no viewer", "ten viewers of another run", "ten viewers"
WAYS: Final = (ALONE, ELSEWHERE, WATCHED)
PACE_S: Final = 0.02
TARGETS: Final = (
    Target(bench="viewers", numerator=WATCHED, denominator=ELSEWHERE, limit=1.01, at_least=False),
    Target(bench="viewers-machine", numerator=ELSEWHERE, denominator=ALONE),
)


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds that the threads of a process have taken, of those that go on."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def run_swarm(runs: Path, way: str, sample: Path | None) -> float:
    """Run a swarm to its end; return the CPU seconds that it took from its first event on.

    Args:
        runs: An empty folder for run folders.
        way: Who looks at what.
        sample: Journal of a swarm that has ended, for viewers of another run.
    """
    command = [*COMMAND, "swarm", str(SURVEYED), "--runs", str(runs), "--latency", str(LATENCY_S), "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        while not (found := list(runs.glob(f"*/{JOURNAL}"))):
            assert process.poll() is None, "the swarm ended at once"
            time.sleep(PACE_S)
        before_s = _cpu_s(process.pid)
        if way == WATCHED:
            with served(found[0].parent) as (url, _):
                trio.run(look, url, found[0].parent.name, process.pid)
        elif sample is not None and way == ELSEWHERE:
            with written_again(runs.parent / "other" / RUN, sample) as folder, served(folder) as (url, _):
                trio.run(look, url, folder.name, process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "the swarm failed"
    return used.ru_utime + used.ru_stime - before_s


@contextmanager
def written_again(folder: Path, sample: Path) -> Iterator[Path]:
    """Write a journal into a folder, each line at its time, until the block is left."""
    head, *lines = sample.read_bytes().splitlines(keepends=True)
    has_left = threading.Event()

    def write() -> None:
        began = time.monotonic()
        for line in lines:
            while (left_s := json.loads(line)["t"] - (time.monotonic() - began)) > 0:
                if has_left.wait(min(left_s, PACE_S)):
                    return
            file.write(line)
        has_left.wait()

    folder.mkdir(parents=True)
    with hold_run(folder), (folder / JOURNAL).open("wb", buffering=0) as file:
        file.write(head)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield folder
        finally:
            has_left.set()
            writer.join()


async def look(url: str, run: str, pid: int) -> None:
    """Look at a page until a process has ended."""
    taken = [0] * VIEWERS
    async with trio.open_nursery() as nursery:
        for number in range(VIEWERS):
            nursery.start_soon(partial(view, url, run, taken, number))
        await trio.to_thread.run_sync(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        nursery.cancel_scope.cancel("the run has ended")
    assert min(taken[1:]) > 0, f"a viewer was sent nothing: {taken}"


async def view(url: str, run: str, taken: list[int], number: int) -> None:
    """Take what a page is sent, and count it; the first viewer takes nothing."""
    split = urlsplit(url)
    protocols = ["greenroom.page.1", split.fragment.removeprefix("token=")]
    stream = await trio.open_tcp_stream("127.0.0.1", split.port or 0)
    async with stream, trio.open_nursery() as nursery:
        link = await wrap_client_stream(nursery, stream, split.netloc, "/live", subprotocols=protocols)
        await link.send_message(json.dumps({"run": run, "has": {}}))
        try:
            while number > 0:
                taken[number] += len(await link.get_message())
            await trio.sleep_forever()
        except ConnectionClosed:
            nursery.cancel_scope.cancel("the page is gone")


def measure(way: str, sample: Path | None) -> tuple[float, bytes]:
    """Return the CPU seconds of a swarm, and its journal."""
    with tempfile.TemporaryDirectory(prefix="gr") as name:
        runs = Path(name) / "runs"
        runs.mkdir()
        cpu_s = run_swarm(runs, way, sample)
        (journal,) = runs.glob(f"*/{JOURNAL}")
        return cpu_s, journal.read_bytes()


def main() -> None:
    """Measure, and print what the viewers cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    if not Path("/proc/self/schedstat").exists():
        sys.exit("benchmarks.viewers reads /proc, which is not here")
    with tempfile.TemporaryDirectory(prefix="gr") as name:
        sample = Path(name) / JOURNAL
        sample.write_bytes(measure(ALONE, None)[1])
        taken: dict[str, list[float]] = {way: [] for way in WAYS}
        for round_ in range(asked.rounds):
            turn = round_ % len(WAYS)
            for way in WAYS[turn:] + WAYS[:turn]:
                taken[way].append(measure(way, sample)[0])
            print(
                f"round {round_ + 1}: " + ", ".join(f"{way} {values[-1]:.3f}" for way, values in taken.items()),
                flush=True,
            )
    print_table("CPU time of a swarm", taken, unit="s")
    for target in TARGETS:
        report_ratio(target, taken)
    print_figures()


if __name__ == "__main__":
    main()
