"""A real browser, driven by its own protocol: Chromium without a window, one page for a test.

Nothing is evaluated by the page itself, so its content policy stays as it is. Waits are promises over a mutation observer.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, final

import attrs
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, open_websocket_url

WAIT_S: Final = 30.0
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS: Final = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
    "--hide-scrollbars",
    "--lang=en-GB",
)


def chromium() -> str:
    """Return the program of the browser; without one the test is skipped, or fails where one is demanded."""
    found = next((place for name in NAMES if (place := shutil.which(name))), None)
    if found is None:
        said = "there is no chromium: `apt-get install --no-install-recommends chromium`"
        if os.environ.get("BROWSER_TESTS") == "demanded":
            pytest.fail(said)
        pytest.skip(said)
    return found


class BrowserRefused(Exception):
    """The browser could not do what it was told."""


@final
@attrs.define(eq=False)
class BrowserPage:
    """A page of the browser."""

    socket: WebSocketConnection
    session: str = ""
    events: list[dict[str, Any]] = attrs.field(factory=list)
    _next: int = 0
    _answers: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    _news: trio.Event = attrs.field(factory=trio.Event)

    async def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        self._next += 1
        number = self._next
        name = self.session if session is None else session
        frame = {"id": number, "method": method, "params": params} | ({"sessionId": name} if name else {})
        with trio.fail_after(2 * WAIT_S):
            await self.socket.send_message(json.dumps(frame))
            while number not in self._answers:
                await self._news.wait()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserRefused(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def read(self) -> None:
        """Read what the browser says, until it is gone."""
        try:
            while True:
                frame = json.loads(await self.socket.get_message())
                if "id" in frame:
                    self._answers[frame["id"]] = frame
                else:
                    self.events.append(frame)
                self._news.set()
                self._news = trio.Event()
        except ConnectionClosed:
            return

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        answer = await self.send(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    async def wait(self, expression: str) -> Any:
        """Return the value of an expression when it is true."""
        promise = (
            "new Promise((done) => { const look = () => { let seen; try { seen = (%s); } catch { seen = null; }"
            " if (seen) { watch.disconnect(); clearInterval(timer); done(seen); } };"
            " const watch = new MutationObserver(look); const timer = setInterval(look, 50);"
            " watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true }); look(); })"
        )
        with trio.move_on_after(WAIT_S):
            while True:
                try:
                    return await self.evaluate(promise % expression)
                except BrowserRefused:  # the page was left meanwhile
                    await trio.lowlevel.checkpoint()
        text = await self.evaluate("document.body.innerText")
        raise AssertionError(f"it did not become true: {expression}\n{text}")

    async def go(self, url: str) -> None:
        """Open an address."""
        await self.send("Page.navigate", url=url)

    async def press(self, key: str, text: str = "", **more: Any) -> None:
        """Press a key."""
        typed = {"text": text} if text else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **typed, **more)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **more)

    async def type(self, selector: str, text: str) -> None:
        """Focus a field, type a text, and press Enter."""
        await self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        await self.send("Input.insertText", text=text)
        await self.press("Enter", "\r", windowsVirtualKeyCode=13)

    async def click(self, selector: str) -> None:
        """Click an element when it is there."""
        await self.wait(f"document.querySelector({json.dumps(selector)})")
        await self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    async def size(self, width: int, height: int, scale: float = 1.0) -> None:
        """Set the size of the window."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    async def prefer(self, **media: str) -> None:
        """Set what the system prefers, such as `prefers_color_scheme="dark"`."""
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        await self.send("Emulation.setEmulatedMedia", features=features)

    async def picture(self, path: Path) -> None:
        """Write a picture of what is shown."""
        options: dict[str, Any] = {"format": "webp", "quality": 88} if path.suffix == ".webp" else {"format": "png"}
        answer = await self.send("Page.captureScreenshot", **options)
        await trio.Path(path).write_bytes(base64.b64decode(answer["data"]))

    def requests(self) -> list[str]:
        """Return the addresses of all requests so far."""
        sent = [
            each["params"]["request"]["url"] for each in self.events if each["method"] == "Network.requestWillBeSent"
        ]
        return sent + [each["params"]["url"] for each in self.events if each["method"] == "Network.webSocketCreated"]

    def complaints(self) -> list[str]:
        """Return what the browser complained of: errors, exceptions, violations of the policy."""
        return [text for each in self.events if (text := _complaint(each["method"], each["params"]))]


def _complaint(method: str, params: Mapping[str, Any]) -> str:
    if method == "Runtime.exceptionThrown":
        return json.dumps(params["exceptionDetails"])
    if method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
        return f"{params['entry']['source']}: {params['entry']['text']} {params['entry'].get('url', '')}".rstrip()
    if method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}:
        return json.dumps(params["args"])
    return ""


@contextmanager
def running_chromium(folder: Path) -> Iterator[str]:
    """Run a browser, and yield the address of its protocol; nothing of it is left afterwards."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [chromium(), *FLAGS, *root, f"--user-data-dir={folder / 'browser'}", "about:blank"]
    environ = {**os.environ, "HOME": str(folder)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ, start_new_session=True, text=True) as process:
        try:
            assert process.stderr is not None
            line = next((line for line in process.stderr if "DevTools listening on" in line), "")
            assert line, "the browser did not start"
            yield line.rpartition(" ")[2].strip()
        finally:
            os.killpg(process.pid, 9)


@asynccontextmanager
async def open_browser_page(address: str) -> AsyncIterator[BrowserPage]:
    """Open a page with a storage of its own."""
    async with (
        open_websocket_url(address, max_message_size=2**26) as socket,
        trio.open_nursery() as nursery,
    ):
        page = BrowserPage(socket)
        nursery.start_soon(page.read)
        context = (await page.send("Target.createBrowserContext"))["browserContextId"]
        target = (await page.send("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        page.session = (await page.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for name in ("Page", "Runtime", "Network", "Log"):
            await page.send(f"{name}.enable")
        await page.size(1280, 800)
        try:
            yield page
        finally:
            with trio.move_on_after(5, shield=True):
                await page.send("Target.disposeBrowserContext", "", browserContextId=context)
            nursery.cancel_scope.cancel()
