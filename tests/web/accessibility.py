"""Parts that the tests of accessibility share: axe-core, a run in which agents talk, and a browser page that is used by keys alone."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.web.browser import BrowserPage
from tests.web.page_stories import write_transcripts
from tests.web.recorded_run import RECORDED, make_run, transcript_line

RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
ANSWER: Final = (
    "# Plan\n\nFirst **this**, then `that`:\n\n- one\n- two\n\n```python\nprint(1)\n```\nhttps://example.org/a"
)
KEYS: Final = {
    "Tab": ("Tab", "", 9),
    "Enter": ("Enter", "\r", 13),
    "Space": (" ", " ", 32),
    "Escape": ("Escape", "", 27),
    "ArrowLeft": ("ArrowLeft", "", 37),
    "ArrowUp": ("ArrowUp", "", 38),
    "ArrowRight": ("ArrowRight", "", 39),
    "ArrowDown": ("ArrowDown", "", 40),
    "Home": ("Home", "", 36),
    "End": ("End", "", 35),
}
"""Keys that are no letters: name, text and virtual code."""
MAX_TABS: Final = 400
_FOUND: Final = (
    "axe.run(document, {runOnly: %s}).then((found) => found.violations.map(({id, nodes}) =>"
    " [id, ...nodes.map((node) => node.html.slice(0, 200))]))"
)


def axe() -> str:
    """Return the script of axe-core, which the package of that name brings along."""
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


async def violations(page: BrowserPage) -> Any:
    """Return what axe finds in what is shown: rules with the elements that break them."""
    return await page.evaluate(_FOUND % json.dumps(RULES))


def make_talking_run(runs: Path) -> tuple[Path, str]:
    """Return a journal whose agents have said something, and one of them."""
    journal = make_run(runs)
    agents = list(write_transcripts(journal))
    for event in map(json.loads, RECORDED):
        if name := event.get("transcript"):
            file = journal.parent / "transcripts" / name
            said = transcript_line("Look at it.") + transcript_line(ANSWER, role="assistant")
            file.write_bytes(said + _thought() + file.read_bytes())
    return journal, agents[0]


def _thought() -> bytes:
    blocks = [
        {"type": "thinking", "thinking": "First the names."},
        {"type": "tool_use", "id": "toolu_long", "name": "Read", "input": {"file_path": "a.py"}},
    ]
    result = {"type": "tool_result", "tool_use_id": "toolu_long", "content": "line\n" * 30, "is_error": True}
    lines = ({"role": "assistant", "content": blocks}, {"role": "user", "content": [result]})
    stamp = {"timestamp": "2026-11-21T12:00:02.000Z"}
    return b"".join(json.dumps({"type": line["role"], **stamp, "message": line}).encode() + b"\n" for line in lines)


async def press(page: BrowserPage, *keys: str) -> None:
    """Press keys one after another: names such as `Tab` and `Shift+Tab`, or letters."""
    for key in keys:
        name = key.removeprefix("Shift+")
        pressed, text, code = KEYS.get(name, (name, name, 0))
        more = {"windowsVirtualKeyCode": code} if code else {}
        await page.press(pressed, text, **more, **({"modifiers": 8} if key.startswith("Shift+") else {}))


async def reach(page: BrowserPage, selector: str) -> None:
    """Press the tab key until an element has the focus."""
    for _ in range(MAX_TABS):
        if await page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
        await press(page, "Tab")
    raise AssertionError(f"the tab key reaches no {selector}")
