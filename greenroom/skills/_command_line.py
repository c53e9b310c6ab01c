"""What a user calls by typing `/name arguments`.

Rule 1: text that only looks like a call is text. Rule 2: up to five more skills may follow the first, as long as they are
skills that do not fork; what comes behind them is the argument of each. Must not know: how they are run.
"""

from __future__ import annotations

import difflib
import re
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.skills._catalogue import Skills
from greenroom.skills._skill import Skill

STACKED: Final = 5
"""So many skills may follow the first."""
SHOWN: Final = 3
"""So many skills of a plugin are named where none is near."""
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
        UsageError: It calls a skill that only a model may call, or one that its plugin does not have.
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
        _check_plugin(rest, skills)
        return None
    arguments = rest.strip()
    return CommandLine(tuple(Invocation(one, arguments) for one in called))


def _check_plugin(text: str, skills: Skills) -> None:
    """Refuse a call of a skill that its plugin does not have: `/plugin:name` is never meant as it stands."""
    found = _CALL.match(text)
    plugin = found["name"].partition(":")[0] if found is not None else ""
    theirs = [one.name for one in skills.values() if plugin and one.plugin == plugin]
    if found is None or not theirs or ":" not in found["name"]:
        return
    meant = next((one.name for one in skills.values() if one.plugin == plugin and _typed(one.title, plugin, text)), "")
    near = [meant] if meant else difflib.get_close_matches(found["name"], theirs, n=1) or theirs[:SHOWN]
    listed = ", ".join(f"/{name}" for name in near)
    raise UsageError(f"cannot call /{found['name']}: the plugin {plugin!r} has no such skill; did you mean {listed}?")


def _typed(title: str, plugin: str, text: str) -> bool:
    return bool(title) and text.lower().startswith(f"/{plugin}:{title}".lower())
