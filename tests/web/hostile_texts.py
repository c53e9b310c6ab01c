"""Sixty texts that agents, tools and files might say to a page, and runs that are full of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from greenroom.gateway.record import content_fields

TEXTS: Final = (
    # markup
    "<script>window.evil=1</script>",
    "<img src=x onerror='window.evil=1'>",
    "<svg onload=window.evil=1><circle r=9></svg>",
    "<iframe srcdoc='<script>parent.evil=1</script>'></iframe>",
    "<a href='javascript:window.evil=1'>a</a>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=http://evil.example/a.css>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example/><input autofocus onfocus=window.evil=1>",
    "<object data=http://evil.example/a></object><embed src=http://evil.example/b>",
    "<video><source onerror=window.evil=1></video>",
    "<details open ontoggle=window.evil=1>d</details>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=window.evil=1>",
    "<template shadowrootmode=open><script>window.evil=1</script></template>",
    "</script><script>window.evil=1</script>",
    "</title></style></textarea></noscript>",
    "<!-- an open comment",
    "]]><![CDATA[",
    "\"><b onmouseover='window.evil=1' style='position:fixed;inset:0'>",
    "' onclick='window.evil=1' x='",
    # markup that somebody might decode
    "&lt;script&gt;window.evil=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.evil=1&#62;",
    "%3Cscript%3Ewindow.evil=1%3C/script%3E",
    "\\u003cscript\\u003ewindow.evil=1\\u003c/script\\u003e",
    "PHNjcmlwdD53aW5kb3cuZXZpbD0xPC9zY3JpcHQ+",
    # code that somebody might evaluate
    "${window.evil=1}",
    "{{constructor.constructor('window.evil=1')()}}",
    "`;window.evil=1;//",
    "');window.evil=1;('",
    "=cmd|' /C calc'!A0",
    "$(touch /tmp/evil)`touch /tmp/evil`",
    # addresses
    "javascript:window.evil=1",
    "JaVaScRiPt&colon;window.evil=1",
    "data:text/html,<script>parent.evil=1</script>",
    "//evil.example/a.png",
    "https://evil.example/?q=<script>window.evil=1</script>",
    "http://user:word@127.0.0.1:1/<b>",
    "![a](https://evil.example/a.png)",
    "[a](javascript:window.evil=1)",
    "file:///etc/passwd",
    "../../../../etc/passwd%00.json",
    # names of objects
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    # numbers
    "NaN",
    "-1",
    "1e999",
    "9007199254740993",
    # signs that nobody sees, or that turn what follows
    "\u202egpj.exe\u202c",
    "\u2066a\u2069\u200b\u200d\ufeff",
    "a\u0000b\u0007c\u001b[31md\u001b]8;;http://evil.example\u0007e",
    "a\rb\u2028c\u2029d\u0085e",
    "\U000e0041\U000e0042\U000e007f",
    "Z" + "\u0300\u0336\u0489" * 40,
    # lengths
    "x" * 20_000,
    "<b>" * 3_000,
    "(" * 200 + "a+" * 200,
    "sequenceDiagram\n  A->>B: <img src=x onerror=window.evil=1>\n%%{init: {}}%%",
)
KEPT: Final = frozenset({"ev", "actor", "transcript"})
"""Fields that say which event of whom it is, and where a conversation is."""


def poisoned(line: bytes, turn: int, *, is_whole: bool) -> bytes:
    """Put the texts into an event, one after the other.

    Args:
        line: The event.
        turn: The number of the first text.
        is_whole: True for every text field but the kind and the actor, so that events contradict each other; False for fields that hold words.
    """
    event: dict[str, Any] = json.loads(line)
    numbers = count(turn)
    wanted = content_fields(event.get("ev", ""))
    for name, value in event.items():
        if name in wanted or (is_whole and name not in KEPT):
            event[name] = _replaced(value, numbers)
    return json.dumps(event).encode() + b"\n"


def _replaced(value: Any, numbers: Iterator[int]) -> Any:
    if isinstance(value, str):
        return f"{TEXTS[next(numbers) % len(TEXTS)]} {value}" if value else TEXTS[next(numbers) % len(TEXTS)]
    if isinstance(value, list):
        return [_replaced(part, numbers) for part in value]
    if isinstance(value, dict):
        return {name: _replaced(part, numbers) for name, part in value.items()}
    return value


def transcript_of(turn: int) -> bytes:
    """Return lines of a transcript in which every part is one of the texts."""
    numbers = count(turn)

    def text() -> str:
        return TEXTS[next(numbers) % len(TEXTS)]

    lines = []
    for _ in range(8):
        call = text()
        said = [
            {"type": "text", "text": text()},
            {"type": "thinking", "thinking": text()},
            {"type": "tool_use", "id": call, "name": text(), "input": {text(): text(), "deep": [{text(): text()}]}},
            {"type": text()},
        ]
        answers = [
            {"type": "tool_result", "tool_use_id": call, "content": text(), "is_error": True},
            {
                "type": "tool_result",
                "tool_use_id": text(),
                "content": [{"type": "text", "text": text()}, {"type": text()}],
            },
        ]
        lines += [
            {"role": "assistant", "content": said},
            {"role": "user", "content": answers},
            {"role": "user", "content": text()},
        ]
    made = [
        {"type": text(), "timestamp": "2026-11-21T12:00:01.000Z", "origin": {"kind": text()}, "message": message}
        for message in lines
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in made)
