"""Pictures of the page of a gateway for the documentation: `python -m tests.web.pictures FOLDER`. Look at them before they are committed."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio

from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind, Sender
from greenroom.models import Call, Say
from greenroom.testing import ReceivedRequest, StreamReply, open_messages_server
from tests.web.browser import BrowserPage, open_browser_page, running_chromium
from tests.web.served_gateway import CONFIG, PageHouse, last_text, open_page_house

NAMED: Final = (
    CONFIG.replace("maxConcurrent: 1", "maxConcurrent: 4")
    .replace("{id: 'main', default: true}", "{id: 'main', name: 'Assistant', default: true}")
    .replace("dmPolicy: 'pairing'", "dmPolicy: 'pairing', groupPolicy: 'open', groups: {'*': {requireMention: true}}")
)
PLAN: Final = "I will look at it from two sides at once, and tell you what I find."
REPORT: Final = """Nine commits since `v4.2.0`, two of them touch money:

- `a41c09e` rounds **per line item** now, not per invoice
- `77b2d13` retries a refused card once, after 30 s

Neither changes the API. The rounding can move totals by a cent."""
ANSWER: Final = """The diff is small, and one change needs your eyes:

1. **Rounding** moves from invoices to line items (`a41c09e`). Totals can differ by a cent.
2. Refused cards are retried once. The retry keeps the idempotency key, so nobody pays twice.

```python
total = sum(round_cents(line.amount) for line in invoice.lines)
```

The tests are still running. I would ship it behind the flag `billing.round_lines` first."""


def play(request: ReceivedRequest) -> Any:
    """Answer by the last message."""
    text = last_text(request)
    if "safe to ship" in text:
        spawned = [
            Call(
                "sessions_spawn",
                {"task": "Read the commits since v4.2.0 and say what changes.", "label": "Read the diff"},
            ),
            Call("sessions_spawn", {"task": "Run the payment tests, twice.", "label": "Run the tests"}),
        ]
        return [Say(PLAN), *spawned]
    if "since v4.2.0" in text or "Your run has ended" in text:
        return REPORT
    if "payment tests" in text:
        return [Call("Bash", {"command": "pytest tests/payments -q --count 2", "description": "Run the payment tests"})]
    if "A sub-agent that you started" in text:
        return ANSWER
    if "runbook" in text:
        return StreamReply(
            answer="The runbook has three steps. First, **drain** the queue:\n\n```console\n$ billing drain --wait\n```\n\nThen look at the",
            pieces=30,
            ending="stall",
            events=33,
        )
    if "status of" in text or "status still" in text:
        return "All green: 3 services, no alerts since Friday."
    return "Started: both are at work. I tell you as soon as the first has a result."


async def tell(house: PageHouse, sender: str, text: str, *, peer: str = "") -> None:
    """Have somebody write on the channel."""
    kind = PeerKind.GROUP if peer else PeerKind.DIRECT
    route = ChatRoute(channel="ops", kind=kind, peer=peer or sender)
    house.channel.inner.say(
        Inbound(
            route=route,
            sender=Sender(id=sender, name=sender.title()),
            id=f"{sender}-{len(text)}",
            text=text,
            mentions_us=True,
        )
    )
    await trio.lowlevel.checkpoint()


async def prepare(page: BrowserPage, house: PageHouse) -> None:
    """Have a morning's work in the gateway: chats, sub-agents, a question, a message that was refused."""
    await page.go(house.address())
    await page.wait("document.querySelector('.composer')")
    await tell(house, "ann", "what is the status of the services?", peer="#oncall")
    await page.wait("[...document.querySelectorAll('.row')].length >= 3")
    await tell(house, "ann", "is the status still so?", peer="#deploys")
    await page.wait("[...document.querySelectorAll('.row')].length >= 4")
    await page.wait("document.querySelector('.row .badge, .row .last')")
    house.channel.refuses = True
    await page.type("textarea", "What changed in the payment service since the last release, and is it safe to ship?")
    await page.wait("document.querySelectorAll('.tree > li').length === 2")
    await page.wait(
        "[...document.querySelectorAll('.said.assistant .text')].some((each) => each.textContent.includes('behind the flag'))"
    )
    await page.wait("document.querySelector('.card.ask')")
    await tell(house, "ann", "and the status of the queue?", peer="#deploys")
    await page.wait("document.querySelector('.card.delivery')")
    await page.evaluate("document.querySelectorAll('.tree summary')[1].click()")
    await page.wait("document.querySelector('.tree .report')")
    await page.evaluate("document.activeElement.blur()")


async def draw(folder: Path, suffix: str) -> None:
    """Write the pictures."""
    with TemporaryDirectory(prefix="gr") as name, running_chromium(Path(name)) as address:
        async with (
            open_messages_server(play) as provider,
            open_page_house(Path(name), provider.url, config=NAMED) as house,
            open_browser_page(address) as page,
        ):
            await page.size(1440, 900)
            await page.prefer(prefers_color_scheme="light", prefers_reduced_motion="reduce")
            await prepare(page, house)
            await page.picture(folder / f"gateway-page.{suffix}")
            await page.prefer(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
            await page.picture(folder / f"gateway-page-dark.{suffix}")
            await page.evaluate(
                "document.querySelectorAll('.row')[document.querySelectorAll('.row').length - 1].click()"
            )
            await page.wait("document.querySelector('.blank')")
            await page.type("textarea", "Show me the runbook for a stuck queue.")
            await page.wait("document.querySelector('.said.live .text')?.textContent.includes('drain --wait')")
            await page.evaluate("document.querySelector('textarea').focus()")
            await page.send("Input.insertText", text="/s")
            await page.size(390, 844, 2)
            await page.wait("document.querySelector('.options:not([hidden])')")
            await page.picture(folder / f"gateway-page-narrow.{suffix}")
            for width in (360, 800, 1600):
                await page.size(width, 800)
                await page.picture(folder / f"width-{width}.{suffix}")
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await page.size(390, 844)
            await page.evaluate("document.querySelector('.to-list').click()")
            await page.picture(folder / f"narrow-list.{suffix}")
            assert page.complaints() == []


if __name__ == "__main__":
    trio.run(draw, Path(sys.argv[1]), "png" if len(sys.argv) > 2 else "webp")
