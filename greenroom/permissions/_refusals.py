"""Calls that the user refused to one agent of a team, which stay refused for the others.

Rule 1: a refusal applies to the same call by any other agent, until the user sends another message or allows it. Rule
2: the refused agent may ask again; then the user decides again. Rule 3: calls are compared, not their effects: another
command with the same effect is another call, which needs rules.

Must not know: agents, teams, how the user is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

from greenroom.permissions._traits import canonical_name

_WORDS_ABOUT_IT: Final = frozenset(("description", "timeout", "run_in_background"))
"""Inputs that describe a call without changing its effect."""


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
        """Record a refused call of an agent with its name for people."""
        self._by_call.setdefault(_key(tool, values), {})[agent] = label

    def lift(self, tool: str, values: Mapping[str, Any]) -> None:
        """Forget a call: the user has allowed it."""
        self._by_call.pop(_key(tool, values), None)

    def clear(self) -> None:
        """Forget all: the user has sent a message, which may have changed their mind."""
        self._by_call.clear()

    def refused(self, agent: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return which other agent was refused that call; empty for none."""
        if not self._by_call:
            return ""
        found = self._by_call.get(_key(tool, values), {})
        return "" if agent in found else next(iter(found.values()), "")


def _key(tool: str, values: Mapping[str, Any]) -> str:
    kept = {name: _plain(value) for name, value in values.items() if name not in _WORDS_ABOUT_IT}
    return f"{canonical_name(tool)} {json.dumps(kept, sort_keys=True, default=repr)}"


def _plain(value: Any) -> Any:
    """Return a value with insignificant spaces removed."""
    return " ".join(value.split()) if isinstance(value, str) else value
