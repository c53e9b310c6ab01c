"""Skill calls of a user: `/name arguments`.

Text that only looks like a call is text. Up to five more skills may follow the first, as long as they do not fork; the
text behind them is the argument of each.
"""

from __future__ import annotations

import difflib
import re
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.skills._skill import Skill
from greenroom.skills._skill_catalog import Skills

STACKED: Final = 5
"""Maximum number of skills that may follow the first."""
SHOWN: Final = 3
"""Maximum number of a plugin's skills listed if no name is similar."""
_CALL: Final = re.compile(r"/(?P<name>[^\s/][^\s]*)(?:[ \t]+|\n|$)")


@final
@attrs.frozen
class Invocation:
    """A called skill, and the text behind its name."""

    skill: Skill
    arguments: str = ""


@final
@attrs.frozen
class CommandLine:
    """All calls of one line of a user, in order."""

    invocations: tuple[Invocation, ...]


def read_command_line(text: str, skills: Skills) -> CommandLine | None:
    """Return the calls in a user's input; None if it calls nothing and is plain text.

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
    return CommandLine(tuple(Invocation(skill, arguments) for skill in called))


def _check_plugin(text: str, skills: Skills) -> None:
    """Refuse a call of a skill that its plugin does not have: `/plugin:name` is never plain text."""
    found = _CALL.match(text)
    plugin = found["name"].partition(":")[0] if found is not None else ""
    theirs = [skill.name for skill in skills.values() if plugin and skill.plugin == plugin]
    if found is None or not theirs or ":" not in found["name"]:
        return
    meant = next(
        (skill.name for skill in skills.values() if skill.plugin == plugin and _typed(skill.title, plugin, text)), ""
    )
    near = [meant] if meant else difflib.get_close_matches(found["name"], theirs, n=1) or theirs[:SHOWN]
    listed = ", ".join(f"/{name}" for name in near)
    raise UsageError(f"cannot call /{found['name']}: the plugin {plugin!r} has no such skill; did you mean {listed}?")


def _typed(title: str, plugin: str, text: str) -> bool:
    return bool(title) and text.lower().startswith(f"/{plugin}:{title}".lower())
