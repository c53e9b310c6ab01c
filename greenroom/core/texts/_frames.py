"""Frames around other people's words in prompts, so that these cannot be mistaken for the runtime's own.

All tags of the runtime are written here. A frame begins and ends exactly once whatever its text holds, and undoing the
escapes restores the text. Only imitations of the runtime are escaped: its tags, the openings of the sentences that mark
its own words, and control characters. Code is left alone.

Escapes: `<` of one of these tags becomes `&lt;`; the bracket that opens one of these sentences becomes `&#40;` or
`&#91;`; if such an escape already occurs in the text, its `&` becomes `&amp;`; a control character becomes U+FFFD. The
work is linear in the length of the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

from greenroom.core.texts._control_characters import without_control

REMINDER: Final = "system-reminder"
NO_PERSON: Final = "(A notice of the runtime; no person has written this.)"
"""Opens a notice for the model: it does not count as anybody's consent."""
FRAMES: Final = (
    *(REMINDER, "task-notification", "teammate-message", "cross-session-message", "fork-boilerplate", "channel"),
    "scheduled-prompt",
    *("command-name", "command-message", "command-args", "command-result"),
    *("local-command-stdout", "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr"),
    *("user-prompt-submit-hook", "persisted-output"),
)
"""Tags around other people's words, and those that models mistake for such tags; they are escaped in every text."""

# Characters of no width do not stop a reader from seeing a word.
_NO_WIDTH: Final = r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
_INVISIBLE: Final = re.compile(f"[{_NO_WIDTH}]")
_OPENING: Final = re.compile(r"[<(\[&]")
"""The first character of every imitation, and of every escape of one."""
_HARNESS: Final = ("harness:",)
_SENTENCES: Final = {
    "(": (("a", "notice", "of", "the", "runtime"),),
    "[": (("request", "interrupted", "by", "user"), _HARNESS),
}
"""Openings of the sentences that mark the runtime's own words, without their bracket."""
_ESCAPES: Final = {"<": "&lt;", "(": "&#40;", "[": "&#91;"}


def frame(tag: str, text: str, attributes: Mapping[str, str] | None = None, *, keeps_marks: bool = False) -> str:
    """Return other people's text between two tags on lines of their own.

    Args:
        tag: One of `FRAMES`.
        text: Any text; it is escaped.
        attributes: Attributes of the opening tag; empty values are left out.
        keeps_marks: As for `escape_text`.
    """
    return wrap(tag, escape_text(text, keeps_marks=keeps_marks), attributes)


def wrap(tag: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return text of the runtime, or text framed already, between two tags. Use `frame` for other people's words."""
    more = "".join(f' {key}="{escape_attribute(value)}"' for key, value in (attributes or {}).items() if value)
    return f"<{tag}{more}>\n{content}\n</{tag}>"


def fields(values: Mapping[str, str], *, inside: tuple[str, ...] = (), keeps_marks: bool = False) -> list[str]:
    """Return `<name>text</name>` for each text; no text can close a field or begin another one.

    Args:
        values: Texts by field name.
        inside: Names of further fields of the same frame.
        keeps_marks: As for `escape_text`.
    """
    names = (*values, *inside)
    return [f"<{name}>{escape_text(text, names, keeps_marks=keeps_marks)}</{name}>" for name, text in values.items()]


def reminder(text: str) -> str:
    """Return text in a `system-reminder` frame, for words that no person said."""
    return frame(REMINDER, text.strip())


def begins_with(text: str, tag: str) -> bool:
    """True if a text begins with a frame of this tag without attributes."""
    return text.startswith(f"<{tag}>")


def escape_text(text: str, more: tuple[str, ...] = (), *, keeps_marks: bool = False) -> str:
    """Return other people's text with imitations of the runtime escaped.

    Args:
        text: Any text.
        more: Further tags, besides `FRAMES`, that must not occur in it.
        keeps_marks: True to keep `[harness: ...]`: for reports in which the runtime has marked imitations already.
    """
    plain = without_control(text)
    if _OPENING.search(plain) is None:
        return plain
    is_broken = not plain.isascii() and _INVISIBLE.search(plain) is not None
    return _imitations(more, keeps_marks=keeps_marks, is_broken=is_broken).sub(_escaped, plain)


def escape_attribute(text: str) -> str:
    """Return text as it is written between the quotes of an attribute; sentences of the runtime are escaped there too."""
    plain = without_control(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = plain.replace('"', "&quot;").replace("\r", " ").replace("\n", " ")
    if "(" not in plain and "[" not in plain:
        return plain
    is_broken = not plain.isascii() and _INVISIBLE.search(plain) is not None
    return _sentences(is_broken=is_broken).sub(_escaped, plain)


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"&amp;{match[0][1:]}"


@functools.cache
def _imitations(more: tuple[str, ...], *, keeps_marks: bool, is_broken: bool) -> re.Pattern[str]:
    """Return the pattern of the first character, or its escape, of an imitation.

    Only a text that holds characters of no width needs the pattern of words that are broken by them: it takes 0.1 s to
    compile.
    """
    skipped = _NO_WIDTH if is_broken else ""
    names = sorted({*FRAMES, *more}, key=len, reverse=True)
    certain = "|".join(_spelled(name, skipped) for name in names if not name.isalpha())
    # A plain word counts as a tag only in tag form: `i<channel && j>0` does not.
    words = "|".join(_spelled(name, skipped) for name in names if name.isalpha())
    tag = rf"[\s/{skipped}]*+(?:\w{{1,20}}:)?(?:(?:{certain})(?![\w-])|(?:{words})(?![\w-])[\w\s:./-]*+(?:>|\Z|=(?!=)))"
    found = [_beginning("<", "lt", tag)]
    kept = (_HARNESS,) if keeps_marks else ()
    found += [
        _beginning(bracket, f"#{ord(bracket)}", _said(sentences, skipped, kept))
        for bracket, sentences in _SENTENCES.items()
    ]
    return re.compile("|".join(found), re.IGNORECASE)


@functools.cache
def _sentences(*, is_broken: bool) -> re.Pattern[str]:
    """Return the pattern of the bracket that opens a sentence of the runtime, in text without entities."""
    skipped = _NO_WIDTH if is_broken else ""
    found = (f"{re.escape(bracket)}(?={_said(sentences, skipped)})" for bracket, sentences in _SENTENCES.items())
    return re.compile("|".join(found), re.IGNORECASE)


def _said(sentences: tuple[tuple[str, ...], ...], skipped: str, kept: tuple[tuple[str, ...], ...] = ()) -> str:
    said = "|".join(
        rf"[\s{skipped}]++".join(_spelled(word, skipped) for word in sentence)
        for sentence in sentences
        if sentence not in kept
    )
    return rf"[\s{skipped}]*+(?:{said})"


def _beginning(character: str, entity: str, behind: str) -> str:
    return rf"(?:{re.escape(character)}|&(?:amp;)*+{entity};)(?={behind})"


def _spelled(name: str, skipped: str) -> str:
    between = f"[{skipped}]*+" if skipped else ""
    return between.join(map(re.escape, name)) + between
