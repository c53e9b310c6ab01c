"""Matchers: the subjects (tool names, agent types, sources) that a group of handlers applies to.

Text of plain characters names its subjects exactly; anything else is a regular expression that may match anywhere.
`Task` is an alias of the tool `Agent`. What guards the commands of `Bash` guards those of `Monitor`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Final, final

import attrs

from greenroom.hooks._event_table import HookEvent

_PLAIN: Final = re.compile(r"[A-Za-z0-9_\- ,|]*")
_PLAIN_WITH_FEWER: Final = re.compile(r"[A-Za-z0-9_|]*")
_FEWER: Final = frozenset({HookEvent.FILE_CHANGED, HookEvent.STOP_FAILURE})
_MAX_CHARS: Final = 1_000
_JS_NAMED_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z_$])")
_OTHER_NAMES: Final = {"Agent": ("Agent", "Task"), "Monitor": ("Monitor", "Bash")}


@final
@attrs.frozen
class Matcher:
    """The matcher of a group, as written and as compared."""

    text: str
    """As in the settings; empty matches everything."""
    _accepts: Callable[[str], bool] = attrs.field(repr=False, eq=False)

    def matches(self, subject: str) -> bool:
        """True if handlers of this group run for `subject`."""
        return any(map(self._accepts, _OTHER_NAMES.get(subject, (subject,))))


def compile_matcher(text: str, event: HookEvent) -> Matcher:
    """Compile the matcher of a group.

    Raises:
        ValueError: It is not a valid regular expression; the message says why.
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
        raise ValueError(f"it has {len(text)} characters, maximum {_MAX_CHARS}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # constructs whose meaning may change in a later Python keep their present meaning
            # Written for JavaScript, whose classes are ASCII and whose named groups lack the P.
            return re.compile(_JS_NAMED_GROUP.sub("(?P<", text), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"invalid regular expression ({error})") from None
