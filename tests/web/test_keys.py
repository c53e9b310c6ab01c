"""The page of a run by keys alone: all that a mouse can press is reached, in both themes, and axe finds nothing on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from tests.web.accessibility import axe, make_talking_run, press, reach, violations
from tests.web.browser import BrowserPage
from tests.web.recorded_run import RECORDED, RUN, files_in, open_recorded_page

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
AT: Final = 150
APP: Final = "document.getElementById('app')"
MOVED: Final = f"{APP}.dataset.at !== '{AT}'"
CHOSEN: Final = "new URLSearchParams(location.hash.slice(1)).get('actor')"
FOCUS: Final = "document.activeElement"
WATCHED: Final = """
globalThis.pressed = new Set();
globalThis.reached = new Set();
globalThis.unseen = [];
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...more) {
  if (['click', 'dblclick', 'pointerdown', 'mousedown', 'wheel'].includes(type) && this instanceof Element) pressed.add(this);
  return listen.call(this, type, ...more);
};
addEventListener('focusin', ({ target }) => reached.add(target));
addEventListener('keydown', () => {
  const target = document.activeElement;
  if (target === document.body) return;
  const { top, left, width, height } = target.getBoundingClientRect();
  const over = document.elementFromPoint(left + width / 2, Math.min(top + height / 2, innerHeight - 1));
  const { boxShadow, outlineStyle } = getComputedStyle(target);
  const isMarked = boxShadow !== 'none' || outlineStyle !== 'none' || getComputedStyle(target.querySelector('.hit') ?? target).stroke.startsWith('rgb');
  if (!isMarked) unseen.push(['no mark of the focus', target.outerHTML.slice(0, 160)]);
  if (!over || !(target.contains(over) || over.contains(target))) unseen.push(['out of sight', target.outerHTML.slice(0, 160), over?.outerHTML.slice(0, 160)]);
}, true);
"""
"""Notes what listens to a mouse, what has had the focus, and what had it without being seen."""
LEFT_OUT: Final = """
[...new Set([...pressed, ...document.querySelectorAll('a[href], button, input, select, textarea, summary')])]
  .filter((node) => node.isConnected && node.checkVisibility() && node.getClientRects().length && !reached.has(node) && !node.disabled)
  .filter((node) => !node.matches('[role=treeitem] *, [role=tab], .timeline canvas'))
  .filter((node) => !node.closest('[data-rows]')?.querySelector('[tabindex="0"]'))
  .map((node) => node.outerHTML.slice(0, 200))
"""
"""Within a tree, a list and tabs, arrow keys lead from one to the next. The picture of the timeline has `+`, `-`, `0`, arrows, and its table."""


@attrs.frozen
class Step:
    """Something that a mouse can do in a view, by keys.

    Attributes:
        does: What is done.
        at: The element that the tab key is pressed for; empty where a key does it from anywhere.
        keys: Keys that are pressed then.
        shows: What is true afterwards.
        types: A text that is typed before the keys.
    """

    does: str
    at: str
    keys: tuple[str, ...]
    shows: str
    types: str = ""


STEPS: Final[dict[str, tuple[Step, ...]]] = {
    "timeline": (
        Step("zoom in by wheel", "", ("+", "+"), "document.querySelector('.timeline').dataset.span === '0.4444'"),
        Step("zoom in by its button", "[title='Zoom in (+)']", ("Enter",), "document.querySelector('.timeline').dataset.span === '0.2963'"),
        Step("drag", "", ("ArrowLeft",) * 12, "document.querySelector('.timeline').dataset.from === '0.0000'"),
        Step("drag back", "", ("ArrowRight",) * 12, "document.querySelector('.timeline').dataset.from === '0.7037'"),
        Step("step to what is out of sight", "", ("j",), "Number(document.querySelector('.timeline').dataset.from) < 0.7"),
        Step("fit", "", ("0",), "document.querySelector('.timeline').dataset.span === '1.0000'"),
        Step("show idle time", ".tools input", ("Space",), f"!{FOCUS}.checked"),
        Step("use a letter there", ".tools input", ("k", "k"), f"{APP}.dataset.at === '{AT - 1}'"),
        Step("choose a row", ".timeline .rows button", ("End", "ArrowUp", "Enter"), f"{FOCUS}.matches('li:nth-last-child(2) [aria-pressed=true]')"),
        Step("show the table", ".tools [aria-pressed]", ("Enter",), "document.querySelector('.facts tr')"),
        Step("sort the totals", ".totals thead th:nth-child(6) button", ("Enter",), "document.querySelector('.totals th:nth-child(6)[aria-sort=descending]')"),
        Step("go to a longest step", ".totals .step-of", ("Enter",), f"{FOCUS}.closest('tr.is-chosen') || {CHOSEN}"),
        Step("hide the totals", ".tools [aria-pressed=true]:nth-of-type(5)", ("Enter",), "document.querySelector('.totals').hidden"),
        Step("press a bar", ".facts tbody tr:nth-child(9) button", ("Enter",), f"{MOVED} && {CHOSEN}"),
    ),
    "talk": (
        Step("unfold thoughts", ".thinking summary", ("Enter",), "document.querySelector('.thinking').open"),
        Step("show a long result", "[data-call=toolu_long] .link:not(.to-event)", ("Enter",), f"{FOCUS}.matches('pre') && {FOCUS}.textContent.length > 140"),
        Step("go to an event", ".call:not([data-call=toolu_long]) .to-event", ("Enter",), MOVED),
        Step("choose another agent", ".chip[aria-pressed=false]", ("Enter",), "document.querySelector('.chip:nth-child(2)[aria-pressed=true]')"),
        Step("copy it", "[aria-label*=Markdown]", ("Enter",), "document.querySelector('.said-copied')"),
    ),
    "board": (
        Step("choose an item", ".item", ("Enter",), "document.querySelector('.history .event')"),
        Step("choose the next one", ".item", ("ArrowDown", "Enter"), f"{FOCUS}.matches('li:nth-child(2) [aria-pressed=true]')"),
        Step("go to a step of it", ".history .event", ("Enter",), f"{MOVED} && {FOCUS}.matches('.history .event')"),
    ),
    "mail": (
        Step("choose a mailbox", ".view-mail tr[data-actor] button", ("Home", "ArrowDown", "Enter"), f"{FOCUS}.closest('tr:nth-child(2).is-chosen')"),
    ),
    "findings": (Step("go to a problem", ".finding", ("Enter",), f"{MOVED} && {FOCUS}.ariaCurrent"),),
    "why": (
        Step("walk back", ".step", ("Enter",), f"{MOVED} && {FOCUS}.matches('.step[aria-current]')"),
        Step("walk on", ".led .step", ("Enter",), f"{FOCUS}.matches('.chain:not(.led) .step[aria-current]')"),
    ),
    "tokens": (
        Step("choose an agent", ".view-tokens tbody button", ("Home", "ArrowDown", "Enter"), f"{FOCUS}.closest('tr:nth-child(2).is-chosen')"),
    ),
    "messages": (
        Step("show more", ".view-messages select", ("ArrowDown",), "document.querySelector('.view-messages').dataset.most === '200'"),
        Step("show those of one actor", ".view-messages input", ("Space",), "document.querySelector('.view-messages').dataset.only === 'true'"),
        Step("go to one", ".arrow", ("Enter",), f"{MOVED} && {FOCUS}.matches('.arrow[aria-current]')"),
        Step("copy them", ".view-messages .tools button", ("Enter",), "document.querySelector('.said-copied')"),
    ),
    "search": (
        Step("look for words", "", ("/",), f"{FOCUS}.type === 'search'"),
        Step("find", ".search input", ("Enter",), "document.querySelectorAll('.step').length === 5", types="kind:item.created"),
        Step("leave the field", "", ("Escape",), f"{FOCUS} === document.body"),
        Step("walk the hits", "", ("n",), f"{APP}.dataset.at !== '{AT}' || document.querySelector('.step[aria-current]')"),
        Step("walk them back", "", ("N",), f"{APP}.dataset.at !== '{AT}'"),
        Step("go down the rows", ".step", ("ArrowUp",) * 5 + ("ArrowDown", "Enter"), f"{FOCUS}.matches('li:nth-child(2) .step[aria-current]')"),
    ),
}  # fmt: skip
"""Per view all that a mouse can do, in order; each view begins at the same moment."""
EVERYWHERE: Final = (
    Step("choose an actor", "[role=treeitem]", ("ArrowDown", "ArrowDown", "Enter"), CHOSEN),
    Step("choose none", "[role=treeitem]", ("Space",), f"!{CHOSEN}"),
    Step("fold", "[role=treeitem]", ("ArrowUp", "ArrowLeft"), f"{FOCUS}.ariaExpanded === 'false'"),
    Step("unfold", "[role=treeitem]", ("ArrowRight",), f"{FOCUS}.ariaExpanded === 'true'"),
    Step("show ended ones", ".actors [type=checkbox]", ("Space",), f"{FOCUS}.checked"),
    Step("filter", ".actors [type=search]", (), "document.querySelectorAll('[role=treeitem]').length === 1", types="reader-1"),
    Step("go on to another view", "[role=tab]", ("ArrowRight",), f"{APP}.dataset.view === 'talk' && {FOCUS}.id === 'tab-talk'"),
    Step("move the slider", ".slider", ("ArrowRight",), f"{APP}.dataset.at === '{AT + 1}'"),
    Step("type a number", ".number", ("Enter",), f"{APP}.dataset.at === '77'", types="77"),
    Step("play", "", ("Space",), "document.querySelector('[aria-label=Pause]')"),
    Step("pause", "", ("Space",), "document.querySelector('[aria-label=Play]')"),
    Step("go to a number", "", ("g",), "document.querySelector('dialog[open] input')"),
    Step("type it", "dialog input", ("Enter",), f"{APP}.dataset.at === '99' && !document.querySelector('dialog')", types="99"),
    Step("copy the event", "[aria-label='Copy the event as JSON']", ("Enter",), "document.querySelector('.said-copied')"),
    Step("go to its cause", ".detail [data-part=cause]", ("Enter",), f"Number({APP}.dataset.at) < 99 && {FOCUS}.closest('.detail')"),
    Step("see the runs", ".runs-button", ("Enter",), "document.querySelector('dialog[open] .runs')"),
    Step("leave them", "dialog button", ("Escape",), f"!document.querySelector('dialog') && {FOCUS}.matches('.runs-button')"),
    Step("see the keys", "", ("?",), "document.querySelector('dialog[open] kbd')"),
    Step("leave them", "dialog button", ("Escape",), "!document.querySelector('dialog')"),
    Step("choose a theme", "[aria-label$=system]", ("Enter",), "document.documentElement.dataset.theme === 'light'"),
    Step("go to the end", ".follow", ("Enter",), f"{APP}.dataset.at === '{len(RECORDED) - 1}'"),
)  # fmt: skip
NARROW: Final = (
    Step("see the event", "[aria-label=Event]", ("Enter",), "document.querySelector('.detail').checkVisibility()"),
    Step("leave it", "", ("Escape",), "!document.querySelector('.detail').checkVisibility()"),
    Step("see the actors", "[aria-label=Actors]", ("Enter",), "document.querySelector('[role=tree]').checkVisibility()"),
    Step("choose one", "[role=treeitem]", ("Enter",), f"{CHOSEN} && !document.querySelector('[role=tree]').checkVisibility()"),
)  # fmt: skip


async def walk(page: BrowserPage, steps: tuple[Step, ...]) -> None:
    for step in steps:
        if step.at:
            await reach(page, step.at)
        if step.types:
            await page.send("Input.insertText", text=step.types)
        await press(page, *step.keys)
        try:
            await page.wait(step.shows)
        except AssertionError as error:
            raise AssertionError(f"{step.does}: {error}") from None


async def show(page: BrowserPage, view: str, agent: str = "") -> None:
    """Show a view at the moment of these tests, with the focus nowhere, and wait until it is drawn."""
    place = f"run={RUN}&at={AT}&view={view}" + (f"&actor={agent}" if agent else "")
    await page.evaluate(f"{FOCUS}.blur(); location.hash = '{place}'")
    await page.wait(f"{APP}.dataset.view === '{view}' && {APP}.dataset.at === '{AT}'")
    await page.wait("document.querySelector('.stage').textContent.trim().length > 20")
    await page.wait(f"document.querySelector('.detail .under')?.textContent.startsWith('event {AT} ')")


async def open_watched(page: BrowserPage, url: str, scheme: str) -> None:
    origin = url.partition("/#")[0]
    await page.send(
        "Browser.grantPermissions", "", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=origin
    )
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=WATCHED)
    await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    await page.go(url)
    await page.wait(f"{APP}.dataset.events === '{len(RECORDED) - 1}'")
    await page.evaluate(axe() + "; true")


async def tab_around(page: BrowserPage) -> Any:
    """Press the tab key until it is at the beginning again; return what a mouse can press and it did not reach, and what was not seen."""
    await page.evaluate("reached.clear(); unseen.length = 0; true")
    for _ in range(40):
        await press(page, *["Tab"] * 10)
        if await page.evaluate("globalThis.had === (globalThis.had = reached.size)"):
            break
    return await page.evaluate(LEFT_OUT), await page.evaluate("unseen")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_keys_do_in_every_view_what_a_mouse_does(page: BrowserPage, tmp_path: Path, scheme: str) -> None:
    journal, agent = make_talking_run(tmp_path)
    before = files_in(tmp_path)
    async with open_recorded_page(journal) as served:
        await open_watched(page, served.url, scheme)
        tabs = await page.evaluate("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id.slice(4))")
        assert tabs == list(STEPS)
        for number, view in enumerate(STEPS, start=1):
            await show(page, "why" if view != "why" else "mail", agent)
            await press(page, str(number))
            await show(page, view, agent)
            assert (view, *await tab_around(page)) == (view, [], [])
            await show(page, view, agent)
            await walk(page, STEPS[view])
            assert (view, await violations(page)) == (view, [])
        host, token = served.url.split("/")[2], served.url.partition("token=")[2]
        asked = [url for url in page.requests() if not url.startswith("data:")]
        assert [url for url in asked if token in url or url.split("/")[2] != host] == []
        assert page.complaints() == []
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_keys_do_beside_the_views_what_a_mouse_does(page: BrowserPage, tmp_path: Path, scheme: str) -> None:
    journal, _ = make_talking_run(tmp_path)
    async with open_recorded_page(journal) as served:
        await open_watched(page, served.url, scheme)
        await show(page, "timeline")
        await walk(page, EVERYWHERE)
        await page.size(360, 740)
        await walk(page, NARROW)
        assert await violations(page) == []
        assert page.complaints() == []
