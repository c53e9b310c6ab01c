"""Pictures of the page of a run, from a real one: `python -m tests.web.run_pictures FOLDER [all]`. Look at them before they are committed.

Without `all` there is only the picture of the documentation; with it one of each view, at three widths and in both themes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio

from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, Entry, read_journal
from greenroom.web import open_page
from tests.web.browser import BrowserPage, open_browser_page, running_chromium

ROOT: Final = Path(__file__).resolve().parents[2]
SURVEYED: Final = ("mailbox", "serving", "teams", "waiting", "web")
VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")
SIZES: Final = ((360, 740), (1200, 800), (2560, 1300))


def make_swarm_run(folder: Path) -> Path:
    """Have a swarm with failures look at a part of this repository, and return its run folder."""
    project = folder / "project"
    for name in SURVEYED:
        shutil.copytree(ROOT / "greenroom" / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "greenroom", "swarm", str(project), "--chaos", "--seed", "7", "--latency", "0.15"]
    environ = {**os.environ, "GREENROOM_RUNS": str(folder / "runs")}
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True, cwd=folder)
    (run,) = (folder / "runs").glob("2*")
    return run


def chosen(entries: tuple[Entry, ...]) -> tuple[int, str]:
    """Return an event to stand at, in the middle of the work, and the path of an actor that was restarted before it."""
    crashed = next(entry for entry in entries if entry.kind == "child.restarted")
    at = next(entry for entry in entries if entry.seq > crashed.seq + 40 and entry.kind == "tool.end")
    paths = {entry.event.actor: entry["path"] for entry in entries if entry.kind == "actor.new"}
    return at.seq, paths[crashed["child"]]


async def open_view(page: BrowserPage, view: str, at: int, actor: str) -> None:
    """Show a view, and wait until it is drawn."""
    await page.evaluate(
        f"location.hash = new URLSearchParams({{at: {at}, actor: '{actor}', view: '{view}', find: ''}})"
    )
    await page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
    await page.wait("document.querySelector('.stage').textContent.trim().length > 20")
    await page.wait("!document.querySelector('.stage .blank[role=status]')")
    await page.wait("document.querySelector('.talk')?.childElementCount !== 0")
    await page.wait("document.querySelector('.card dl')")
    await page.wait("document.querySelector('.detail').textContent.includes('Led to')")


async def draw(folder: Path, *, is_all: bool) -> None:
    """Write the pictures."""
    with TemporaryDirectory(prefix="gr") as name, running_chromium(Path(name)) as address:
        run = await trio.to_thread.run_sync(make_swarm_run, Path(name))
        entries = tuple(read_journal(run / JOURNAL, EVENTS).entries)
        at, actor = chosen(entries)
        async with open_page(run) as served, open_browser_page(address) as page:
            await page.size(1440, 900)
            await page.prefer(prefers_color_scheme="light", prefers_reduced_motion="reduce")
            await page.go(served.url)
            await page.wait(f"document.getElementById('app').dataset.events === '{len(entries)}'")
            await open_view(page, "timeline", at, actor)
            await page.picture(folder / "run-page.webp")
            for width, height in SIZES if is_all else ():
                await page.size(width, height)
                for scheme in ("light", "dark"):
                    await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
                    for view in VIEWS:
                        await open_view(page, view, at, actor)
                        await page.picture(folder / f"run-{view}-{width}-{scheme}.png")
            assert page.complaints() == []


if __name__ == "__main__":
    trio.run(lambda: draw(Path(sys.argv[1]), is_all=len(sys.argv) > 2))
