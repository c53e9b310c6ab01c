"""Hold the views of a page against the fold: random moments of many made-up runs, in a real browser.

`python -m tools.soak.visibility` prints each difference. SOAK_PAGES says how many runs, SOAK_SEED from where on. Exit code 1 when there
was one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio

from benchmarks.long_runs import RUN, write_run
from tests.web.browser import open_browser_page, running_chromium
from tests.web.page_state import compare_moments

PAGES: Final = int(os.environ.get("SOAK_PAGES", "200"))
SEED: Final = int(os.environ.get("SOAK_SEED", "1000"))
MOMENTS: Final = 20
TALL: Final = 4_000
"""Pixels, so that all rows of a small run are in sight."""


async def soak(address: str, seed: int) -> str:
    """Compare one run; return what differs, or an empty text."""
    with TemporaryDirectory(prefix="gr") as name:
        journal = write_run(Path(name) / RUN, events=80 + seed * 7 % 900, actors=4 + seed % 20, seed=seed)
        async with open_browser_page(address) as page:
            await page.size(1280, TALL)
            try:
                await compare_moments(page, journal, moments=MOMENTS, stories=MOMENTS, seed=seed)
            except (AssertionError, ExceptionGroup) as error:
                return f"seed {seed}: {_first(error)}"
    return ""


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def main() -> int:
    """Soak one run after another."""
    print(f"{PAGES:,} runs, {MOMENTS} moments each, seed {SEED}", flush=True)
    differences = 0
    with TemporaryDirectory(prefix="gr") as home, running_chromium(Path(home)) as address:
        for number in range(PAGES):
            said = trio.run(soak, address, SEED + number)
            if said:
                differences += 1
                print(f"  {said}", flush=True)
            elif (number + 1) % 20 == 0:
                print(f"  {number + 1:,} runs, {differences} differences", flush=True)
    print(f"{differences} differences in {PAGES:,} runs")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
