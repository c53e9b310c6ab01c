"""The state that the views of a page show at a moment, beside the folded state of the run."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from greenroom.gateway.record import EVENTS
from greenroom.session import FOLDS
from greenroom.trace import World, fold, read_journal
from tests.web.browser import BrowserPage
from tests.web.page_stories import compare_stories, write_transcripts
from tests.web.recorded_run import open_recorded_page

APP: Final = "document.getElementById('app')"
_LANES: Final = ("now", "next", "later", "leased", "postponed")
_STATE: Final = """
(async () => {
  const shown = {};
  const rows = (places, read) => Object.fromEntries([...document.querySelectorAll(places)].map(read));
  for (const view of ['mail', 'board', 'tokens']) {
    const drawn = new Promise((done) => addEventListener('hashchange', () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true }));
    location.hash = 'run=%s&at=%d&view=' + view;
    await drawn;
    if (view === 'mail') shown.mail = rows('.view-mail tr[data-actor]', (row) => [row.dataset.actor, [1, 2, 3, 4, 5].map((place) => row.children[place].textContent).join(' ')]);
    if (view === 'tokens') shown.tokens = rows('.view-tokens tr[data-actor]', (row) => [row.dataset.actor, row.dataset.used]);
    if (view === 'board') shown.board = rows('.view-board li[data-item]', (card) => [card.dataset.item, [card.firstElementChild.className, card.querySelector('.subject').textContent, card.querySelector('b').textContent].join('/')]);
  }
  shown.tree = rows('.tree li', (line) => [line.dataset.actor, [line.dataset.state, line.dataset.incarnation, line.dataset.turn, line.dataset.busy, line.dataset.mail, line.dataset.tokens].join('/')]);
  shown.at = document.getElementById('app').dataset.at;
  return shown;
})()
"""


def state_of(world: World) -> dict[str, Any]:
    """Return what the views have to show of a folded state."""
    actors, boxes, agents = (world.section(name) for name in ("actors", "mailboxes", "agents"))
    tree = {}
    for actor, view in actors.items():
        mail = " ".join(str(len(getattr(boxes[actor], lane))) for lane in _LANES[:4]) if actor in boxes else ""
        tokens = agents[actor].usage.input_tokens + agents[actor].usage.output_tokens if actor in agents else ""
        facts = (view.state, view.incarnation, view.turn, str(view.is_busy).lower(), mail, tokens)
        tree[actor] = "/".join(map(str, facts))
    return {
        "at": str(world.seq or ""),
        "tree": tree,
        "mail": {actor: " ".join(str(len(getattr(box, lane))) for lane in _LANES) for actor, box in boxes.items()},
        "tokens": {actor: " ".join(map(str, _counts(agent))) for actor, agent in agents.items()},
        "board": {" ".join(key): f"item is-{item.status}/{item.subject}/{item.owner}" for key, item in _items(world)},
    }


def _items(world: World) -> Iterable[tuple[tuple[str, str], Any]]:
    return world.section("items").items()


def _counts(agent: Any) -> tuple[int, ...]:
    used = agent.usage
    cached = used.cache_creation_input_tokens, used.cache_read_input_tokens
    return used.input_tokens, used.output_tokens, *cached, agent.requests, agent.failed_requests


async def compare_moments(page: BrowserPage, journal: Path, *, moments: int, stories: int, seed: int) -> None:
    """Assert that the views show the folded state and the journal at some moments of a run, drawn at random.

    Args:
        page: A page of the browser.
        journal: The journal of a made-up run.
        moments: Number of moments at which the folded state is compared.
        stories: Number of moments at which conversations, causes and messages are.
        seed: Another one draws others.
    """
    agents, entries = write_transcripts(journal), read_journal(journal, EVENTS).entries
    async with open_recorded_page(journal) as served:
        await page.go(f"{served.url}&at=1")
        await page.wait(f"{APP}.dataset.events === '{len(entries)}'")
        await page.evaluate("document.querySelector('.actors .check input').checked = true")
        for seq in random.Random(seed).choices([entry.seq for entry in entries], k=moments):
            shown = await page.evaluate(_STATE % (journal.parent.name, seq))

            state = state_of(fold(entries, FOLDS, at=seq))
            differ = [
                (view, key, shown[view].get(key), state[view].get(key))
                for view in ("tree", "mail", "tokens", "board")
                for key in shown[view].keys() | state[view].keys()
                if shown[view].get(key) != state[view].get(key)
            ]

            assert not differ, f"{journal} at event {seq}: view, subject, shown, folded: {differ[:3]}"
            assert shown["at"] == state["at"]
        await compare_stories(page, journal, moments=stories, seed=seed, agents=agents)
        assert page.complaints() == []
