"""The page of a run in a real browser: what it shows at a moment is the fold, keys reach every view, and nothing said there is markup."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

from greenroom.session import EVENTS, FOLDS
from greenroom.trace import World, fold, read_journal
from tests.web.browser import BrowserPage
from tests.web.hostile_texts import TEXTS, poisoned, transcript_of
from tests.web.recorded_run import RECORDED, RUN, make_run, open_recorded_page

more = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
TREE: Final = "[...document.querySelectorAll('.tree li')].map((line) => ({...line.dataset}))"
VIEWS: Final = ("timeline", "talk", "board", "mail", "findings", "why", "tokens", "messages", "search")
AGENT: Final = next(event["actor"] for line in RECORDED if (event := json.loads(line)).get("transcript"))
ELEMENTS: Final = "document.querySelectorAll('script, img, iframe, link, style, meta, object, embed').length"


async def open_at(page: BrowserPage, url: str, place: str = "") -> None:
    """Open a run at a place, and wait until it is read."""
    await page.go(url + place)
    await page.wait(f"document.getElementById('app').dataset.events === '{len(RECORDED) - 1}'")


async def go_to(page: BrowserPage, seq: int) -> None:
    await page.evaluate(f"location.hash = 'run={RUN}&at={seq}'")
    await page.wait(f"document.getElementById('app').dataset.at === '{seq}'")


def tree_of(world: World) -> dict[str, dict[str, str]]:
    """What the tree has to say of each actor."""
    found = {}
    for actor, view in world.section("actors").items():
        box, agent = world.section("mailboxes").get(actor), world.section("agents").get(actor)
        mail = "" if box is None else f"{len(box.now)} {len(box.next)} {len(box.later)} {len(box.leased)}"
        found[actor] = {
            "actor": actor,
            "state": str(view.state),
            "incarnation": str(view.incarnation),
            "turn": str(view.turn),
            "busy": str(view.is_busy).lower(),
            "mail": mail,
            "tokens": str(agent.usage.input_tokens + agent.usage.output_tokens) if agent else "",
        }
    return found


async def test_the_tree_at_a_moment_is_what_the_fold_says(page: BrowserPage, tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    entries = read_journal(journal, EVENTS).entries
    async with open_recorded_page(journal) as served:
        await open_at(page, served.url, "&at=1")
        await page.evaluate("document.querySelector('.actors .check input').click()")
        for seq in (1, 7, 60, len(entries) // 2, len(entries) - 1, 33):
            await go_to(page, seq)
            shown = {line["actor"]: line for line in await page.evaluate(TREE)}
            for line in shown.values():
                line.pop("gone", None)

            assert shown == tree_of(fold(entries, FOLDS, at=seq))
        assert page.complaints() == []


@more
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_keys_reach_every_view_and_the_address_names_what_is_seen(
    page: BrowserPage, tmp_path: Path, scheme: str
) -> None:
    journal = make_run(tmp_path)
    async with open_recorded_page(journal) as served:
        await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        await open_at(page, served.url)
        assert "token" not in await page.evaluate("location.href")
        await go_to(page, 100)
        for number, view in enumerate(VIEWS, start=1):
            await page.press(str(number), str(number))
            await page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
            await page.wait("document.querySelector('.stage').textContent.trim().length > 20")
            assert await page.evaluate("document.getElementById('app').dataset.at") == "100"
        await page.press("j", "j")
        await page.wait("document.getElementById('app').dataset.at === '101'")
        await page.press("K", "K")
        await page.wait("document.getElementById('app').dataset.at === '1'")
        await page.press("f", "f")
        await page.wait(f"document.getElementById('app').dataset.at === '{len(RECORDED) - 1}'")
        await go_to(page, 50)
        await page.evaluate("location.reload()")
        await page.wait("document.getElementById('app').dataset.at === '50'")
        await page.evaluate("history.back()")
        await page.wait("document.getElementById('app').dataset.at !== '50'")
        assert page.complaints() == []


@more
@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("turn", [0, 30])
async def test_texts_of_a_run_are_shown_as_text(page: BrowserPage, tmp_path: Path, turn: int, is_whole: bool) -> None:
    """Sixty texts in every field that holds words, or in all fields, so that events contradict each other."""
    assert len(TEXTS) == 60
    events = [poisoned(line, turn + 7 * number, is_whole=is_whole) for number, line in enumerate(RECORDED[1:])]
    journal = make_run(tmp_path, [RECORDED[0], *events])
    for name in transcripts(RECORDED):
        (journal.parent / "transcripts" / name).write_bytes(transcript_of(turn))
    async with open_recorded_page(journal) as served:
        await open_at(page, served.url)
        elements = await page.evaluate(ELEMENTS)
        for at in (150, len(RECORDED) - 1, 30):
            for view in VIEWS:
                await page.evaluate(f"location.hash = 'run={RUN}&at={at}&view={view}&actor={AGENT}'")
                await page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
                await page.wait("document.querySelector('.stage').textContent.trim().length > 20")
                await page.evaluate("document.querySelectorAll('.stage details').forEach((each) => each.open = true)")
            assert await page.evaluate(ELEMENTS) == elements
        assert await page.evaluate("window.evil") is None
        assert await page.evaluate("document.querySelectorAll('a:not([href^=http])').length") == 0
        assert {url.split("/")[2] for url in page.requests() if not url.startswith("data:")} == {
            served.url.split("/")[2]
        }
        assert page.complaints() == []


def transcripts(lines: list[bytes]) -> set[str]:
    return {event["transcript"] for line in lines if (event := json.loads(line)).get("transcript")}


@more
async def test_a_run_that_is_cut_and_resumed_goes_on_in_the_same_page(page: BrowserPage, tmp_path: Path) -> None:
    journal = make_run(tmp_path, RECORDED[:121])
    (journal.parent / "run.lock").touch()
    async with open_recorded_page(journal) as served:
        await page.go(served.url)
        await page.wait("document.getElementById('app').dataset.events === '120'")
        await page.wait("document.querySelector('.standing').textContent === 'broken off'")
        await page.wait("document.querySelector('.banner').textContent.includes('ended before the run did')")
        with journal.open("ab") as file:
            file.write(b"".join(RECORDED[121:]))
        await page.wait(f"document.getElementById('app').dataset.events === '{len(RECORDED) - 1}'")
    await page.wait("document.querySelector('.banner').textContent.includes('lost')")
    async with open_recorded_page(journal, port=int(served.url.split(":")[2].split("/")[0])) as anew:
        await page.wait("document.querySelector('.banner').textContent.includes('no longer valid')")
        await page.evaluate("location.reload()")
        await page.wait("document.querySelector('.banner')?.textContent.includes('no longer valid')")
        await page.evaluate(f"location.hash = '{anew.url.partition('#')[2]}&at=50'")
        await page.wait("document.getElementById('app').dataset.at === '50'")
        assert "token" not in await page.evaluate("location.href")
        assert "no longer valid" not in await page.evaluate("document.querySelector('.banner').textContent")


@more
async def test_a_view_that_is_shown_again_is_scrolled_as_it_was_left(page: BrowserPage, tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    scrolled = "document.querySelector('.stage .list, .stage .sequence').scrollTop"
    async with open_recorded_page(journal) as served:
        await page.size(1280, 400)
        await open_at(page, served.url, "&at=200&view=search")
        await page.wait(f"{scrolled} > 0 && document.querySelector('.step[aria-current]')")
        left = await page.evaluate(scrolled)
        await page.press("8", "8")
        await page.wait(f"document.querySelector('.stage .sequence') && {scrolled} > 0")
        await page.press("9", "9")
        await page.wait(f"document.querySelector('.stage .list') && {scrolled} === {left}")
        await page.wait("document.querySelector('.step[aria-current]')")


@more
async def test_the_search_is_there_where_there_is_little_room(page: BrowserPage, tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    async with open_recorded_page(journal) as served:
        await page.size(360, 740)
        await open_at(page, served.url)
        await page.press("/", "/")
        await page.wait("document.activeElement.type === 'search' && document.activeElement.checkVisibility()")
        await page.send("Input.insertText", text="kind:child.restarted")
        await page.wait("document.querySelectorAll('.step').length === 1")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@more
@pytest.mark.parametrize("width", [360, 1200, 2560])
async def test_nothing_is_cut_at_any_width(page: BrowserPage, tmp_path: Path, width: int) -> None:
    journal = make_run(tmp_path)
    async with open_recorded_page(journal) as served:
        await page.size(width, 800)
        await open_at(page, served.url)
        for view in VIEWS:
            await page.evaluate(f"location.hash = 'run={RUN}&at=150&view={view}'")
            await page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
            assert await page.evaluate(
                "document.querySelector('.moment').getBoundingClientRect().bottom <= innerHeight"
            )
        assert page.complaints() == []
