"""What the user has refused one agent of a team stays refused for the others (agents 0.4, 7.91).

Rule 1: a refusal holds for the same call, by whomever it is made, until the user says something again or allows it. Rule 2: whoever was
refused may ask again: then the user decides again. Rule 3: calls are compared, not what they do: another command with the same effect
is another call, for which rules are there.
Must not know: agents, teams, how the user is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

from greenroom.permissions._traits import canonical_name

_WORDS_ABOUT_IT: Final = frozenset(("description", "timeout", "run_in_background"))
"""Inputs that say how a call is made, and not what it does."""


@final
class Refusals:
    """The calls that the user has refused to members of one team."""

    def __init__(self) -> None:
        self._by_call: dict[str, dict[str, str]] = {}

    def __repr__(self) -> str:
        return f"<Refusals of {len(self._by_call)} calls>"

    def __len__(self) -> int:
        return len(self._by_call)

    def note(self, agent: str, label: str, tool: str, values: Mapping[str, Any]) -> None:
        """Take down that the user has refused a call of an agent, which people call by that label."""
        self._by_call.setdefault(_key(tool, values), {})[agent] = label

    def lift(self, tool: str, values: Mapping[str, Any]) -> None:
        """Forget a call: the user has allowed it."""
        self._by_call.pop(_key(tool, values), None)

    def clear(self) -> None:
        """Forget all: the user has said something, and what that means is theirs to say."""
        self._by_call.clear()

    def refused(self, agent: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return who was refused that call, if an agent makes it that was not itself; empty for nobody."""
        if not self._by_call:
            return ""
        found = self._by_call.get(_key(tool, values), {})
        return "" if agent in found else next(iter(found.values()), "")


def _key(tool: str, values: Mapping[str, Any]) -> str:
    kept = {name: _plain(value) for name, value in values.items() if name not in _WORDS_ABOUT_IT}
    return f"{canonical_name(tool)} {json.dumps(kept, sort_keys=True, default=repr)}"


def _plain(value: Any) -> Any:
    """Return a value without the spaces that change nothing."""
    return " ".join(value.split()) if isinstance(value, str) else value
