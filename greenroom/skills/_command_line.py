"""What a user calls by typing `/name arguments`.

Rule 1: text that only looks like a call is text. Rule 2: up to five more skills may follow the first, as long as they are
skills that do not fork; what comes behind them is the argument of each. Must not know: how they are run.
"""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.skills._catalogue import Skills
from greenroom.skills._skill import Skill

STACKED: Final = 5
"""So many skills may follow the first."""
_CALL: Final = re.compile(r"/(?P<name>[^\s/][^\s]*)(?:[ \t]+|\n|$)")


@final
@attrs.frozen
class Invocation:
    """A skill that is called, and what was typed behind its name."""

    skill: Skill
    arguments: str = ""


@final
@attrs.frozen
class CommandLine:
    """All that one line of a user calls, in order."""

    invocations: tuple[Invocation, ...]


def read_command_line(text: str, skills: Skills) -> CommandLine | None:
    """Return what a user's input calls; None for one that calls nothing and is meant as it stands.

    Raises:
        UsageError: It calls a skill that only a model may call.
    """
    rest = text.strip()
    called: list[Skill] = []
    while len(called) <= STACKED:
        found = _CALL.match(rest)
        skill = skills.find(found["name"]) if found is not None else None
        if found is None or skill is None:
            break
        if called and skill.is_fork:
            break
        if not skill.for_users:
            raise UsageError(f"/{skill.name} is for models only: its user-invocable is false")
        called.append(skill)
        rest = rest[found.end() :]
        if skill.is_fork:
            break
    if not called:
        return None
    arguments = rest.strip()
    return CommandLine(tuple(Invocation(one, arguments) for one in called))
