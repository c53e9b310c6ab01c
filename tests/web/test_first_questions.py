"""The first questions of a colleague to the file of a run: which agent was slow, why was one restarted, and the cost of an item."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from greenroom.session import EVENTS, FOLDS
from greenroom.trace import Entry, fold, read_journal, spans
from tests.cli.forked import run_forked
from tests.swarm.small_repo import make_small_repo
from tests.web.browser import BrowserPage
from tests.web.recorded_run import RECORDED, make_run, open_recorded_page

pytestmark = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)
ROWS: Final = "Object.fromEntries([...document.querySelectorAll('.totals tr[data-actor]')].map((row) => [row.dataset.actor, [...row.children].map((cell) => cell.textContent)]))"
FOLDS_SEEN: Final = "document.querySelector('.timeline').dataset.folds"
NOTHING_RUNS: Final = 60
"""An event of the recorded run behind which no request and no call goes on."""


def seconds(s: float) -> str:
    """Return seconds as the page writes them."""
    if s < 1:
        return f"{s * 1000:.0f} ms"
    return f"{s:.2f} s" if s < 10 else f"{s:.1f} s"


def steps_of(entries: list[Entry]) -> dict[str, list[tuple[float, str]]]:
    """Return the requests and calls of each actor: how long they took, and their names."""
    found: dict[str, list[tuple[float, str]]] = {}
    for begin, end in spans(entries):
        if begin.kind in {"model.begin", "tool.begin"}:
            name = begin.get("tool", "") or begin.get("purpose", "") or "model"
            found.setdefault(begin.event.actor, []).append((end.t - begin.t, name))
    return found


async def test_the_file_of_a_run_answers_the_first_questions(page: BrowserPage, tmp_path: Path) -> None:
    repo, runs, html = make_small_repo(tmp_path / "small"), tmp_path / "runs", tmp_path / "alone" / "run.html"
    html.parent.mkdir()
    environ = {**os.environ, "GREENROOM_RUNS": str(runs)}
    for command in (
        ("swarm", str(repo), "--chaos", "--seed", "1"),
        ("replay", "last", "--export", "html", "-o", str(html)),
    ):
        await trio.to_thread.run_sync(partial(run_forked, *command, environ=environ))
    (journal,) = runs.glob("2*/journal.jsonl")
    entries = list(read_journal(journal, EVENTS).entries)
    world = fold(entries, FOLDS)
    steps = steps_of(entries)

    await page.go(f"file://{html}")
    await page.click(".totals th:nth-child(6) button")  # by the longest step
    await page.wait("document.querySelector('.totals [aria-sort=descending]')")
    rows = await page.evaluate(ROWS)

    agents = [actor for actor in rows if actor in steps]
    assert agents == sorted(agents, key=lambda actor: -max(steps[actor])[0])
    for actor in agents:
        took, name = max(steps[actor])
        assert rows[actor][5] in {f"{name} {seconds(took)}", f"model {seconds(took)}"}
        assert rows[actor][2] == seconds(
            sum(
                took
                for took, name in steps[actor]
                if name not in {e.get("tool", "") for e in entries if e.kind == "tool.begin"}
            )
        )

    crash = next(entry for entry in entries if entry.kind == "actor.end" and entry["state"] == "failed")
    assert rows[crash.event.actor][7] == "1"
    await page.click(f".totals tr[data-actor={crash.event.actor}] button")  # the one that was restarted
    await page.wait("document.querySelector('.of-restart')")
    assert crash["error"] in await page.evaluate("document.querySelector('.of-restart').textContent")

    await page.click("#tab-board")
    claimed = next(entry for entry in entries if entry.kind == "item.claimed")
    done = next(entry for entry in entries if entry.kind == "item.completed" and entry["item"] == claimed["item"])
    await page.click(f"li[data-item='swarm {claimed['item']}'] button")
    await page.wait("document.querySelector('.spent')")
    owner = next(actor for actor, path in paths(entries).items() if path.endswith(f"/{claimed['owner']}"))
    used = [fold(entries, FOLDS, at=seq).section("agents")[owner] for seq in (claimed.seq, done.seq)]
    requests = used[1].requests - used[0].requests
    spent = await page.evaluate("document.querySelector('.spent').textContent")
    assert spent.startswith(f"{seconds(done.t - claimed.t)} · ")
    assert f"{requests} request" in spent
    assert spent.endswith(f"by {claimed['owner']}")
    assert world.section("items")
    assert page.complaints() == []


def paths(entries: list[Entry]) -> dict[str, str]:
    return {entry.event.actor: entry["path"] for entry in entries if entry.kind == "actor.new"}


@pytest.mark.parametrize(("is_call", "folds"), [(True, "0"), (False, "1")])
async def test_time_in_which_a_call_goes_on_is_not_folded(
    page: BrowserPage, tmp_path: Path, is_call: bool, folds: str
) -> None:
    events = [json.loads(line) for line in RECORDED[1:]]
    call = next(event for event in events if event["ev"] == "tool.begin")
    after = call["seq"] if is_call else NOTHING_RUNS
    for event in events:
        event["t"] += 100 if event["seq"] > after else 0
    journal = make_run(tmp_path, [RECORDED[0], *(json.dumps(event).encode() + b"\n" for event in events)])
    async with open_recorded_page(journal) as served:
        await page.go(served.url)
        await page.wait(f"document.getElementById('app').dataset.events === '{len(events)}' && {FOLDS_SEEN}")

        assert await page.evaluate(FOLDS_SEEN) == folds
