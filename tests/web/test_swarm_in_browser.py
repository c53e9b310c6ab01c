"""A swarm in a real browser: its own page and one of another process, while it works, is killed, and goes on."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TextIO

import pytest
import trio

from greenroom.session import EVENTS
from greenroom.trace import read_journal
from greenroom.web import open_page
from tests.cli.forked import Forked, run_forked
from tests.swarm.small_repo import make_small_repo
from tests.web.browser import BrowserPage, open_browser_page

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
STANDING: Final = "document.querySelector('.standing').textContent"
BANNER: Final = "document.querySelector('.banner').textContent"
AT: Final = "document.getElementById('app').dataset.at"
COUNT: Final = "Number(document.getElementById('app').dataset.events)"


@asynccontextmanager
async def command(*arguments: str, runs: Path) -> AsyncIterator[Forked]:
    """Run a command until the block is left; then it is killed if it has not ended."""
    process = await trio.to_thread.run_sync(
        lambda: Forked(*arguments, environ={**os.environ, "GREENROOM_RUNS": str(runs)})
    )
    try:
        yield process
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(process.communicate)


async def address_from(output: TextIO | None) -> str:
    """Return the address of the page that a command prints."""
    assert output is not None
    while line := await trio.to_thread.run_sync(output.readline):
        if "http://" in line:
            return line[line.index("http://") :].strip()
    raise AssertionError("the command printed no address")


async def test_a_swarm_is_watched_killed_and_resumed_in_the_same_page(
    page: BrowserPage, browser: str, tmp_path: Path
) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    async with command("swarm", str(repo), "--page", "--latency", "2", runs=runs) as swarm:
        await page.go(await address_from(swarm.stderr))
        await page.wait(f"{STANDING} === 'running' && {COUNT} > 10")
        async with command("replay", "last", "--page", runs=runs) as replay, open_browser_page(browser) as other:
            await other.go(await address_from(replay.stdout))
            await other.wait(f"{STANDING} === 'running' && {COUNT} > 30")
            swarm.kill()
            await other.wait(f"{STANDING} === 'broken off' && {BANNER}.includes('ended before the run did')")
            cut = await other.evaluate(COUNT)
            await page.wait(f"{BANNER}.includes('lost')")
            async with command("swarm", "--resume", "last", "--latency", "0", runs=runs) as again:
                await other.wait(f"{STANDING} === 'ended'")
                _, err = await trio.to_thread.run_sync(again.communicate)
            (journal,) = runs.glob("2*/journal.jsonl")
            count = len(journal.read_bytes().splitlines()) - 1
            await other.wait(f"{COUNT} === {count}")

            assert (again.returncode, err) == (0, "")
            assert 30 < cut < count
            assert other.complaints() == []


async def test_the_page_of_a_run_that_has_ended_keeps_what_it_has(page: BrowserPage, tmp_path: Path) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    async with command("swarm", str(repo), "--page", "--latency", "0.6", runs=runs) as swarm:
        await page.go(await address_from(swarm.stderr))
        await page.wait(f"{STANDING} === 'ended' && {BANNER}.includes('--page shows the run again')")
        (journal,) = runs.glob("2*/journal.jsonl")

        assert await page.evaluate(COUNT) == len(journal.read_bytes().splitlines()) - 1
        assert journal.parent.name in await page.evaluate(BANNER)


async def test_calls_and_answers_lead_from_event_to_line_and_back(page: BrowserPage, tmp_path: Path) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    await trio.to_thread.run_sync(
        lambda: run_forked("swarm", str(repo), environ={**os.environ, "GREENROOM_RUNS": str(runs)})
    )
    (journal,) = runs.glob("2*/journal.jsonl")
    entries = read_journal(journal, EVENTS).entries
    calls = [entry for entry in entries if entry.kind == "tool.end"]
    async with open_page(journal) as served:
        await page.go(served.url)
        await page.wait(f"{COUNT} === {len(entries)}")
        for call in calls[:: max(1, len(calls) // 6)]:
            begin = next(entry for entry in entries if entry.kind == "tool.begin" and entry["call"] == call["call"])
            await page.evaluate(f"location.hash = 'at={call.seq}&view=talk&actor={call.event.actor}'")
            await page.wait(f"{AT} === '{call.seq}' && document.querySelector('.is-chosen[data-call={call['call']}]')")
            assert await page.evaluate("document.querySelector('.call.is-chosen h2').firstChild.data") == call["tool"]
            await page.click(".call.is-chosen .to-event")
            await page.wait(f"{AT} === '{begin.seq}'")
        answer = next(entry for entry in entries if entry.kind == "agent.spoke")
        await page.evaluate(f"location.hash = 'at={answer.seq}&view=talk&actor={answer.event.actor}'")
        await page.wait(f"{AT} === '{answer.seq}' && document.querySelector('.said.by-model time button')")
        await page.click(".said.by-model time button")
        await page.wait("document.querySelector('.detail h2').textContent === 'model.end'")
        assert page.complaints() == []
