"""Substitution of arguments: `$ARGUMENTS`, `$ARGUMENTS[0]`, `$0`, `$name`.

There is one pass: arguments are not scanned again. Positions count from zero, in shell-style words. A missing position
stays unchanged, a missing name becomes empty. One backslash before a placeholder keeps it. Nothing raises, whatever is
typed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, final

import attrs

APPENDED: Final = "ARGUMENTS: "
_VARIABLES: Final = re.compile(r"\$\{((?:CLAUDE|GREENROOM)_[A-Z_]+)\}")


@final
@attrs.frozen(slots=False)
class Arguments:
    """The text typed behind the name of a skill."""

    typed: str = ""
    names: tuple[str, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The shell-style words; split at white space if the quotes are unbalanced."""
        try:
            return tuple(shlex.split(self.typed))
        except ValueError:
            return tuple(self.typed.split())

    @cached_property
    def placeholder(self) -> re.Pattern[str]:
        """Pattern of the placeholders in a text, with the backslash that keeps them."""
        names = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        named = rf"|(?P<name>{names})(?!\w)" if names else ""
        positions = r"ARGUMENTS\[(?P<at>[0-9]{1,4})\]|(?P<all>ARGUMENTS)(?!\w)|(?P<n>[0-9]{1,4})(?!\w)"
        return re.compile(rf"(?P<kept>\\)?\$(?:{positions}{named})", re.ASCII)

    def at(self, position: int) -> str | None:
        """Return the word at a position from zero; None if there is none."""
        return self.words[position] if position < len(self.words) else None

    def value(self, found: re.Match[str]) -> str | None:
        """Return the value of a placeholder; None if it stays."""
        parts = found.groupdict()
        if parts["all"]:
            return self.typed
        if parts.get("name"):
            return self.at(self.names.index(parts["name"])) or ""
        return self.at(int(parts["at"] or parts["n"]))


def substitute(text: str, arguments: Arguments, variables: Mapping[str, str] | None = None) -> str:
    """Return a text with arguments and variables substituted.

    Args:
        text: The text of a skill.
        arguments: The typed arguments.
        variables: Values of `${CLAUDE_...}` and `${GREENROOM_...}`; unknown ones stay.
    """
    known = variables or {}

    def replace(found: re.Match[str]) -> str:
        if found["kept"]:
            return found[0][1:]
        value = arguments.value(found)
        return found[0] if value is None else value

    return replace_both(text, arguments.placeholder, replace, known)


def replace_both(
    text: str, placeholder: re.Pattern[str], replace: Callable[[re.Match[str]], str], variables: Mapping[str, str]
) -> str:
    """Return a text with placeholders and variables replaced in one pass."""
    made, at = [], 0
    for found in _in_order(text, (placeholder, _VARIABLES)):
        made.append(text[at : found.start()])
        made.append(variables.get(found[1], found[0]) if found.re is _VARIABLES else replace(found))
        at = found.end()
    made.append(text[at:])
    return "".join(made)


def _in_order(text: str, patterns: Sequence[re.Pattern[str]]) -> list[re.Match[str]]:
    # The two kinds never overlap: one begins with `$` and a brace, the other has no brace.
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    return sorted(found, key=lambda match: match.start())


def takes_all(text: str, arguments: Arguments) -> bool:
    """Return True if a text contains `$ARGUMENTS`, so that nothing has to be appended."""
    return any(not match["kept"] and (match["all"] or match["at"]) for match in arguments.placeholder.finditer(text))
