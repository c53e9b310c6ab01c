"""Runs of any length in the page: what the views show is the fold, few rows are in the document, the last one is reached."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from benchmarks.long_runs import RUN, write_run
from greenroom.session import EVENTS, FOLDS
from greenroom.trace import fold, read_journal
from tests.web.browser import BrowserPage
from tests.web.page_state import APP, compare_moments, state_of
from tests.web.recorded_run import open_recorded_page

more = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
EVENTS_OF_A_CROWD: Final = 6_000
ROWS: Final = "document.querySelectorAll('.tree li, .stage li, .stage tr').length"

HOLD_REQUESTS: Final = """
const held = [];
const ask = window.fetch;
window.requests = { held, open: 0, answer: () => {
  window.requests.hold = (go) => go();
  held.splice(0).forEach((go) => go());
}, hold: (go) => held.push(go) };
window.fetch = (...said) => {
  window.requests.open += 1;
  return new Promise((go) => window.requests.hold(go)).then(() => ask(...said)).finally(() => { window.requests.open -= 1; });
};
0
"""
MOVE_SLIDER: Final = """
(async () => {
  const slider = document.querySelector('.slider');
  for (let step = 1; step < 40; step += 1) {
    slider.value = String(Math.floor(slider.max * step / 40));
    slider.dispatchEvent(new Event('input'));
    await new Promise(requestAnimationFrame);
  }
})()
"""


@more
@pytest.mark.parametrize("seed", range(10))
async def test_views_show_the_fold_at_any_moment_of_any_run(page: BrowserPage, tmp_path: Path, seed: int) -> None:
    await page.size(1280, 4_000)
    journal = write_run(tmp_path / RUN, events=150 + 40 * seed, actors=4 + seed, seed=seed)
    await compare_moments(page, journal, moments=20, stories=3, seed=seed)


@more
async def test_of_a_thousand_actors_those_in_sight_are_in_the_document_and_the_last_are_reached(
    page: BrowserPage, tmp_path: Path
) -> None:
    journal = write_run(tmp_path / RUN, events=EVENTS_OF_A_CROWD, needle="needle in the hay")
    entries = read_journal(journal, EVENTS).entries
    state = state_of(fold(entries, FOLDS))
    async with open_recorded_page(journal) as served:
        await page.go(served.url)
        await page.wait(f"{APP}.dataset.events === '{len(entries)}'")
        await page.evaluate("document.querySelectorAll('.view-timeline .check input')[1].click()")
        for view, last in (
            ("timeline", "[...document.querySelectorAll('.timeline .rows li')].at(-1).textContent === 'mate-9'"),
            ("board", "document.querySelectorAll('.view-board li').length > 5"),
            ("mail", "document.querySelectorAll('.view-mail tr[data-actor]').length > 5"),
            ("tokens", "document.querySelectorAll('.view-tokens tr[data-actor]').length > 5"),
            ("search", f"[...document.querySelectorAll('.view-search .seq')].at(-1)?.textContent === '{len(entries)}'"),
        ):
            await page.evaluate(f"document.getElementById('tab-{view}').click()")
            await page.wait(f"document.getElementById('tab-{view}').getAttribute('aria-selected') === 'true'")
            await page.evaluate(
                "document.querySelectorAll('.tree, .stage, .stage *').forEach((each) => { each.scrollTop = each.scrollHeight; })"
            )
            await page.wait(last)
            assert await page.evaluate(ROWS) < 250, view
        await page.wait("[...document.querySelectorAll('.tree li')].at(-1).getAttribute('aria-posinset') === '1000'")
        shown = await page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.tree li')].map((line) => [line.dataset.actor, line.dataset.turn]))"
        )
        assert {actor: state["tree"][actor].split("/")[2] for actor in shown} == shown
        await page.evaluate(HOLD_REQUESTS)
        for view in ("search", "messages", "why"):
            await page.evaluate(f"document.getElementById('tab-{view}').click()")
            await page.evaluate(MOVE_SLIDER)
            assert 0 < await page.evaluate("window.requests.held.length") <= 6, view
        await page.evaluate("window.requests.answer()")
        await page.wait("window.requests.open === 0")
        await page.type("input[placeholder='Search events']", "NEEDLE hay")
        await page.wait("document.querySelector('.view-search [role=status]').textContent === '1 hit'")
        assert page.complaints() == []
