"""Matchers: which subjects (tool names, agent types, sources) a group of handlers is for.

Rule 1: text of plain characters names its subjects exactly; anything else is a regular expression that may match anywhere.
Rule 2: `Task` is another name of the tool `Agent`.
Must not know: events, save which of them have a smaller set of plain characters.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Final, final

import attrs

from greenroom.hooks._catalog import HookEvent

_PLAIN: Final = re.compile(r"[A-Za-z0-9_\- ,|]*")
_PLAIN_WITH_FEWER: Final = re.compile(r"[A-Za-z0-9_|]*")
_FEWER: Final = frozenset({HookEvent.FILE_CHANGED, HookEvent.STOP_FAILURE})
_MAX_CHARS: Final = 1_000
_JS_NAMED_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z_$])")
_OTHER_NAMES: Final = {"Agent": ("Agent", "Task")}


@final
@attrs.frozen
class Matcher:
    """What a group is for, as it was written and as it is compared."""

    text: str
    """As in the settings; empty for everything."""
    _accepts: Callable[[str], bool] = attrs.field(repr=False, eq=False)

    def matches(self, subject: str) -> bool:
        """Say whether handlers of this group run for `subject`."""
        return any(map(self._accepts, _OTHER_NAMES.get(subject, (subject,))))


def compile_matcher(text: str, event: HookEvent) -> Matcher:
    """Make the matcher of a group.

    Raises:
        ValueError: It is no regular expression; the message says why.
    """
    if text in {"", "*"}:
        return Matcher(text, lambda _: True)
    if event in _FEWER:
        plain, separators = _PLAIN_WITH_FEWER, r"\|"
    else:
        plain, separators = _PLAIN, "[|,]"
    if plain.fullmatch(text):
        names = frozenset(name.strip() for name in re.split(separators, text)) - {""}
        return Matcher(text, names.__contains__)
    pattern = _compile(text)
    return Matcher(text, lambda subject: pattern.search(subject) is not None)


def _compile(text: str) -> re.Pattern[str]:
    if len(text) > _MAX_CHARS:
        raise ValueError(f"it has {len(text)} characters, at most {_MAX_CHARS} are taken")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python may read differently one day, it reads as before
            # Written for JavaScript, whose classes are ASCII and whose named groups lack the P.
            return re.compile(_JS_NAMED_GROUP.sub("(?P<", text), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is no regular expression ({error})") from None
