"""Every view of the page of a run, in both themes: axe finds nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.web.accessibility import axe, make_talking_run, violations
from tests.web.browser import BrowserPage
from tests.web.recorded_run import RECORDED, RUN, open_recorded_page

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")
LOOKED: Final = (
    "document.querySelector('#tab-%s').getAttribute('aria-selected') === 'true'"
    " && document.querySelector('.stage').textContent.trim().length > 20"
)


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
