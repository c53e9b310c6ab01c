"""The page of a run in a real browser: steps of the slider by view, the first picture, search, memory, and a run that grows.

Each step is a frame: from its beginning to what was drawn and laid out. What a view asks the server for comes later, and is not in it.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio

from benchmarks.long_runs import RUN, timed_events
from greenroom.core import field_values
from greenroom.gateway.record import EVENTS
from greenroom.trace import JOURNAL, Codec, Header, hold_run
from tests.web.browser import BrowserPage, BrowserRefused, open_browser_page, running_chromium

VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")
STEPS: Final = 200
PER_SECOND: Final = 5_000
PATIENCE_S: Final = 600.0
NEEDLE: Final = "needle-in-the-hay"
_APP: Final = "document.getElementById('app')"
_FRAME: Final = """
new Promise((done) => {
  const slider = document.querySelector('.slider');
  let begun = 0;
  requestAnimationFrame(() => { begun = performance.now(); });
  slider.value = String(%d);
  slider.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => {
    document.body.getBoundingClientRect();
    done(performance.now() - begun);
  });
})
"""
_WATCH: Final = """
window.seenAt = [];
new MutationObserver(() => window.seenAt.push([performance.timeOrigin + performance.now(), Number(%s.dataset.events)]))
  .observe(%s, { attributes: true, attributeFilter: ['data-events'] });
0
"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve the page of a run in another process, and yield its address and the process's id."""
    command = [sys.executable, "-m", "greenroom", "replay", str(folder), "--page"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = next((re.search(r"http://\S+", line) for line in process.stdout if "http://" in line), None)
            assert found is not None, "the page has no address"
            yield found[0], process.pid
        finally:
            process.terminate()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[BrowserPage, str, int]]:
    """Open a browser, and serve a run."""
    with TemporaryDirectory(prefix="gr") as home, running_chromium(Path(home)) as address, served(folder) as (url, pid):
        async with open_browser_page(address) as page:
            yield page, url, pid


async def look(folder: Path, count: int) -> dict[str, float]:
    """Return the figures of a run of that many events."""
    async with opened(folder) as (page, url, pid):
        began = time.monotonic()
        await page.go(url)
        await _until(page, f"{_APP}?.dataset.events > 0")
        figures = {"page: first picture, s": time.monotonic() - began}
        await _until(page, f"{_APP}.dataset.events === '{count}'")
        figures["page: all read, s"] = time.monotonic() - began
        for view in VIEWS:
            steps = await _steps(page, view, count)
            figures[f"step: {view}, ms p50"] = statistics.median(steps)
            figures[f"step: {view}, ms p99"] = steps[len(steps) * 99 // 100 - 1]
        figures |= await _rows(page, count)
        await page.send("HeapProfiler.collectGarbage")
        heap = await page.send("Runtime.getHeapUsage")
        figures["page: heap, MB"] = (heap["usedSize"] + heap.get("backingStorageSize", 0)) / 1e6
        figures["server: memory, MB"] = _peak_kb(pid) / 1000
        figures["page: complaints"] = len(page.complaints())
        print(*page.complaints()[:5], sep="\n", end="", file=sys.stderr)
    return figures


async def open_file(file: Path, count: int) -> dict[str, float]:
    """Return how long the file of a run takes to show all of its events."""
    with TemporaryDirectory(prefix="gr") as home, running_chromium(Path(home)) as address:
        async with open_browser_page(address) as page:
            began = time.monotonic()
            await page.go(file.as_uri())
            await _until(page, f"{_APP}?.dataset.events === '{count}'")
            return {"html: usable, s": time.monotonic() - began}


async def _steps(page: BrowserPage, view: str, count: int) -> list[float]:
    """Return the milliseconds of steps over the whole run, the longest last."""
    await page.evaluate(f"document.getElementById('tab-{view}').click()")
    await _until(page, f"document.getElementById('tab-{view}').getAttribute('aria-selected') === 'true'")
    await page.evaluate(_FRAME % 10)
    return sorted([await page.evaluate(_FRAME % (count * (step + 1) // (STEPS + 1))) for step in range(STEPS)])


async def _rows(page: BrowserPage, count: int) -> dict[str, float]:
    await page.evaluate("document.getElementById('tab-search').click()")
    began = time.monotonic()
    await page.evaluate("const list = document.querySelector('.view-search .list'); list.scrollTop = list.scrollHeight")
    await _until(page, f"[...document.querySelectorAll('.view-search .seq')].at(-1)?.textContent === '{count}'")
    figures = {"page: last row, s": time.monotonic() - began}
    began = time.monotonic()
    await page.type("input[type=search][placeholder='Search events']", NEEDLE)
    await _until(page, "document.querySelector('.view-search [role=status]').textContent === '1 hit'")
    return figures | {"page: needle found, s": time.monotonic() - began}


async def _until(page: BrowserPage, expression: str) -> None:
    """Wait until an expression is true in the page; it is looked at often, and an error counts as false."""
    look = f"let seen = false; try {{ seen = Boolean({expression}); }} catch {{ seen = false; }} if (seen) {{ clearInterval(timer); done(1); }}"
    promise = f"new Promise((done) => {{ const timer = setInterval(() => {{ {look} }}, 15); }})"
    with trio.fail_after(PATIENCE_S):
        while True:
            try:
                await page.evaluate(promise)
            except (BrowserRefused, trio.TooSlowError):  # the page was left meanwhile
                await trio.lowlevel.checkpoint()
            else:
                return


async def follow(seconds: float) -> dict[str, float]:
    """Return how long events take from the disk to the document, at `PER_SECOND`."""
    with TemporaryDirectory(prefix="gr") as name:
        folder = Path(name) / RUN
        folder.mkdir()
        with hold_run(folder):
            writer = _Writer(folder / JOURNAL, int(PER_SECOND * seconds) + 10_000)
            writer.write(5_000)
            async with opened(folder) as (page, url, _):
                await page.go(url)
                await _until(page, f"{_APP}?.dataset.events === '5000'")
                await page.evaluate(_WATCH % (_APP, _APP))
                await writer.pour(seconds)
                await _until(page, f"{_APP}.dataset.events === '{writer.count}'")
                seen = await page.evaluate("window.seenAt")
    delays = sorted(_delays(writer.written, seen))
    return {"live: disk to document, ms p95": delays[len(delays) * 95 // 100]}


class _Writer:
    """A journal that grows at a steady pace."""

    def __init__(self, path: Path, most: int) -> None:
        codec = Codec(EVENTS)
        self._file = path.open("wb", buffering=0)
        header = Header(run=RUN, greenroom="0", python="3", trio="0", started="2026-11-01T08:00:00+00:00", clock=0.0)
        self._file.write(codec.encode_header(header))
        events = enumerate(timed_events(most), start=1)
        self._lines = [codec.encode((seq, t, type(event), *field_values(event)), 0.0) for seq, (t, event) in events]
        self.written: list[tuple[float, int]] = []
        self.count = 0

    def write(self, count: int) -> None:
        self._file.write(b"".join(self._lines[self.count : self.count + count]))
        self.count += count
        self.written.append((time.time() * 1000, self.count))

    async def pour(self, seconds: float) -> None:
        self.written.clear()
        began = time.monotonic()
        first = self.count
        while (elapsed_s := time.monotonic() - began) < seconds:
            due = first + int(elapsed_s * PER_SECOND)
            if due > self.count:
                self.write(due - self.count)
            await trio.sleep(0.01)


def _delays(written: list[tuple[float, int]], seen: list[Any]) -> Iterator[float]:
    place = 0
    for at_ms, count in written:
        while seen[place][1] < count:
            place += 1
        yield seen[place][0] - at_ms


def _peak_kb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None, status
    return float(found[1])
