"""A run with a text in every field that can hold words, and with secrets of every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from greenroom.core import field_names, words_of
from greenroom.gateway.record import EVENTS, content_fields
from greenroom.trace import JOURNAL, TRANSCRIPTS, Codec, Header

NEEDLE: Final = "a-needle-in-the-hay"
HEADER: Final = Header(
    run="20261120-225103-k3f9qz", greenroom="1", python="3", trio="0", started="2026-11-21T12:00:00+00:00"
)
SECRETS: Final = (
    "sk-" + "ant-api03-" + "Ab1" * 12,
    "gh" + "p_" + "a1B2" * 10,
    "AK" + "IA" + "ABCDEFGH12345678",
    "Bearer " + "abc.def" * 6,
    "gl" + "pat-" + "Zx9Qw3Er7Ty1Ui5Op2As",
    "xox" + "b-" + "123456789012-abcdefghijkl",
    "-----BEGIN PRIVATE" + " KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE" + " KEY-----",
    "abcd-1234-efgh",
)
"""Secrets of known forms; the last one is the value of `SERVICE_TOKEN`."""


def with_text(line: bytes, text: str) -> bytes:
    """Put a text into every field with words that an event of this kind can have."""
    event: dict[str, Any] = json.loads(line)
    classes = [each for each in EVENTS if each.kind == event.get("ev")]
    for name in content_fields(event.get("ev", "")) & set(field_names(classes[0])) if classes else ():
        if name not in words_of(classes[0]):
            value = {"who": text, "why": text} if name == "cause" and "task" not in event else text
            event[name] = {f"key {text}": text} if name == "metadata" else value
    return json.dumps(event).encode() + b"\n"


def run_of(folder: Path, lines: list[bytes], said: str) -> Path:
    """Write a run into a folder whose agents have all said a text; return its journal."""
    run = folder / "runs" / HEADER.run
    (run / TRANSCRIPTS).mkdir(parents=True)
    numbered = [json.dumps({**json.loads(line), "seq": seq}).encode() + b"\n" for seq, line in enumerate(lines, 1)]
    (run / JOURNAL).write_bytes(Codec(EVENTS).encode_header(HEADER) + b"".join(numbered))
    message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
    line = {"type": "assistant", "uuid": "u1", "timestamp": "2026-11-21T12:00:00.000Z", "message": message}
    for each in lines:
        if name := json.loads(each).get("transcript"):
            (run / TRANSCRIPTS / name).write_bytes(json.dumps(line).encode() + b"\n")
    return run / JOURNAL
