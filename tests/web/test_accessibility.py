"""Every view of the page of a run, in both themes: axe finds nothing, and keys alone reach all of it."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tests.web.browser import BrowserPage
from tests.web.recorded_run import RECORDED, RUN, make_run, open_recorded_page, transcript_line

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
FOUND: Final = (
    "axe.run(document, {runOnly: %s}).then((found) => found.violations.map(({id, nodes}) =>"
    " [id, ...nodes.map((node) => node.html.slice(0, 200))]))"
)
LOOKED: Final = (
    "document.querySelector('#tab-%s').getAttribute('aria-selected') === 'true'"
    " && document.querySelector('.stage').textContent.trim().length > 20"
)
ANSWER: Final = (
    "# Plan\n\nFirst **this**, then `that`:\n\n- one\n- two\n\n```python\nprint(1)\n```\nhttps://example.org/a"
)


def axe() -> str:
    """Return the script of axe-core, which the package of that name brings along."""
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def make_talking_run(runs: Path) -> tuple[Path, str]:
    """Return a journal whose agents have said something, and one of them."""
    journal = make_run(runs)
    agents = [event for line in RECORDED if (event := json.loads(line)).get("transcript")]
    for event in agents:
        said = transcript_line("Look at it.") + transcript_line(ANSWER, role="assistant")
        (journal.parent / "transcripts" / event["transcript"]).write_bytes(said)
    return journal, agents[0]["actor"]


async def violations(page: BrowserPage) -> Any:
    return await page.evaluate(FOUND % json.dumps(RULES))


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_in_any_view(page: BrowserPage, tmp_path: Path, scheme: str) -> None:
    journal, agent = make_talking_run(tmp_path)
    found = {}
    async with open_recorded_page(journal) as served:
        await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        await page.go(served.url)
        await page.wait(f"document.getElementById('app').dataset.events === '{len(RECORDED) - 1}'")
        await page.evaluate(axe() + "; true")
        for view in VIEWS:
            await page.evaluate(f"location.hash = 'run={RUN}&at=150&view={view}&actor={agent}'")
            await page.wait(LOOKED % view)
            found[view] = await violations(page)
        await page.press("1", "1")
        await page.evaluate("document.querySelector('.view-timeline button[aria-pressed]').click()")
        found["table"] = await violations(page)
        await page.press("?", "?")
        await page.wait("document.querySelector('dialog[open]')")
        found["keys"] = await violations(page)
        await page.evaluate("document.querySelector('dialog[open]').close()")
        await page.click(".runs-button")
        await page.wait("document.querySelector('dialog[open] .runs')")
        found["runs"] = await violations(page)

        assert {where: what for where, what in found.items() if what} == {}
        assert page.complaints() == []


async def test_every_control_of_every_view_is_reached_by_tab(page: BrowserPage, tmp_path: Path) -> None:
    journal, agent = make_talking_run(tmp_path)
    async with open_recorded_page(journal) as served:
        await page.go(served.url)
        await page.wait(f"document.getElementById('app').dataset.events === '{len(RECORDED) - 1}'")
        for view in VIEWS:
            await page.evaluate(f"location.hash = 'run={RUN}&at=150&view={view}&actor={agent}'")
            await page.wait(LOOKED % view)
            # Within a tree and a list of tabs, arrow keys lead from one to the next.
            left_out = await page.evaluate(
                "[...document.querySelectorAll('button, a[href], input, select, summary')]"
                ".filter((node) => node.checkVisibility() && node.tabIndex < 0 && !node.closest('[role=tree], [role=tablist]'))"
                ".map((node) => node.outerHTML.slice(0, 200))"
            )
            assert (view, left_out) == (view, [])
