"""Frames: how a model is shown the words of others, so that they cannot pass for those of the runtime.

Rule 1: every tag that the runtime writes is written here. Rule 2: whatever stands in a text, its frame begins and ends once, and a
reader that undoes the escapes gets the text back. Rule 3: only what imitates the runtime is escaped: its tags, the beginnings of
the sentences by which it marks its own words, and control characters. Code is left as it is.

The escapes: `<` of a tag of ours becomes `&lt;`; the bracket at the beginning of a sentence of ours becomes `&#40;` or `&#91;`;
where one of these stands in the text already, its `&` becomes `&amp;`; a control character becomes U+FFFD. Work is linear in the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

from greenroom.core._control_characters import without_control

REMINDER: Final = "system-reminder"
NO_PERSON: Final = "(A notice of the runtime; no person has written this.)"
"""Stands before a notice, for the model: it is nobody's consent to anything."""
FRAMES: Final = (
    *(REMINDER, "task-notification", "teammate-message", "cross-session-message", "fork-boilerplate", "channel"),
    *("command-name", "command-message", "command-args", "command-result"),
    *("local-command-stdout", "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr"),
    *("user-prompt-submit-hook", "persisted-output"),
)
"""Tags around the words of others, and those that models take for such tags; they are escaped in every text."""

# Characters without a width do not keep a reader from seeing a word.
_NO_WIDTH: Final = r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
_SKIPPED: Final = f"[{_NO_WIDTH}]*+"
_HARNESS: Final = ("harness:",)
_SENTENCES: Final = {
    "(": (("a", "notice", "of", "the", "runtime"),),
    "[": (("request", "interrupted", "by", "user"), _HARNESS),
}
"""How the sentences begin by which the runtime marks its own words, behind their bracket."""
_ESCAPES: Final = {"<": "&lt;", "(": "&#40;", "[": "&#91;"}


def frame(tag: str, text: str, attributes: Mapping[str, str] | None = None, *, keeps_marks: bool = False) -> str:
    """Return text of somebody else between two tags of their own lines.

    Args:
        tag: One of `FRAMES`.
        text: Anything; it is escaped.
        attributes: What the opening tag says beside its name; empty values are left out.
        keeps_marks: As of `escape_text`.
    """
    return wrap(tag, escape_text(text, keeps_marks=keeps_marks), attributes)


def wrap(tag: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return what the runtime has written, or framed already, between two tags. For the words of others use `frame`."""
    more = "".join(f' {key}="{escape_attribute(value)}"' for key, value in (attributes or {}).items() if value)
    return f"<{tag}{more}>\n{content}\n</{tag}>"


def fields(values: Mapping[str, str], *, inside: tuple[str, ...] = (), keeps_marks: bool = False) -> list[str]:
    """Return `<name>text</name>` for each text; none of the texts can close a field or begin another one.

    Args:
        values: The texts by the names of their fields.
        inside: Names of further fields of the same frame.
        keeps_marks: As of `escape_text`.
    """
    names = (*values, *inside)
    return [f"<{name}>{escape_text(text, names, keeps_marks=keeps_marks)}</{name}>" for name, text in values.items()]


def reminder(text: str) -> str:
    """Return text as a model reads what no person said."""
    return frame(REMINDER, text.strip())


def begins_with(text: str, tag: str) -> bool:
    """True if a text begins with a frame without attributes."""
    return text.startswith(f"<{tag}>")


def escape_text(text: str, more: tuple[str, ...] = (), *, keeps_marks: bool = False) -> str:
    """Return text of somebody else, with what imitates the runtime escaped.

    Args:
        text: Anything.
        more: Names of further tags, besides `FRAMES`, that must not stand in it.
        keeps_marks: Whether `[harness: ...]` stays: for reports, in which the runtime has marked what imitates it already.
    """
    return _imitations(more, keeps_marks=keeps_marks).sub(_escaped, without_control(text))


def escape_attribute(text: str) -> str:
    """Return text as it is written between the quotes of an attribute."""
    plain = without_control(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace('"', "&quot;").replace("\r", " ").replace("\n", " ")


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"&amp;{match[0][1:]}"


@functools.cache
def _imitations(more: tuple[str, ...], *, keeps_marks: bool) -> re.Pattern[str]:
    """Return what finds the one character, or its escape, with which an imitation begins."""
    names = sorted({*FRAMES, *more}, key=len, reverse=True)
    certain = "|".join(_spelled(name) for name in names if not name.isalpha())
    # A plain word is a tag only in the form of one: `i<channel && j>0` is none.
    words = "|".join(_spelled(name) for name in names if name.isalpha())
    tag = (
        rf"[\s/{_NO_WIDTH}]*+(?:\w{{1,20}}:)?(?:(?:{certain})(?![\w-])|(?:{words})(?![\w-])[\w\s:./-]*+(?:>|\Z|=(?!=)))"
    )
    found = [_beginning("<", "lt", tag)]
    for bracket, sentences in _SENTENCES.items():
        kept = (_HARNESS,) if keeps_marks else ()
        said = "|".join(rf"[\s{_NO_WIDTH}]++".join(map(_spelled, each)) for each in sentences if each not in kept)
        found.append(_beginning(bracket, f"#{ord(bracket)}", rf"[\s{_NO_WIDTH}]*+(?:{said})"))
    return re.compile("|".join(found), re.IGNORECASE)


def _beginning(character: str, entity: str, behind: str) -> str:
    return rf"(?:{re.escape(character)}|&(?:amp;)*+{entity};)(?={behind})"


def _spelled(name: str) -> str:
    return _SKIPPED.join(map(re.escape, name)) + _SKIPPED
