"""What a person may call by `/name` in a headless run: the skills, the prompts of MCP servers, `/compact` and `/add-dir` (agents 4.41,
13.30).

Must not know: how any of them is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, final

import attrs

from greenroom.session import Session

COMPACT: Final = "compact"
ADD_FOLDER: Final = "add-dir"
_CALL: Final = re.compile(rf"/(?P<name>{COMPACT}|{ADD_FOLDER})(?:\s(?P<said>.*))?", re.DOTALL)


@final
@attrs.frozen
class Command:
    """Something that may be called."""

    name: str
    description: str
    argument_hint: str = ""


@final
@attrs.frozen
class OwnCall:
    """A prompt that calls what is neither a skill nor a server's."""

    name: str
    said: str
    """What stands behind the name; empty for nothing."""

    @property
    def path(self) -> str:
        """What stands there, as a path: no shell has read its `~`, which stays where there is no such user."""
        return os.path.expanduser(self.said)  # noqa: PTH111 - that of `Path` is an error then


_OWN: Final = (
    Command(ADD_FOLDER, "Let agents work in another folder for the rest of the session.", "[the folder]"),
    Command(COMPACT, "Put a summary in the place of the conversation.", "[what to look at]"),
)


def commands_of(session: Session) -> Iterator[Command]:
    """Return what may be called in a session now; nothing where there are no slash commands."""
    if not session.has_commands:
        return
    yield from (one for one in _OWN if one.name not in session.skills)
    for skill in session.skills.values():
        if skill.for_users:
            yield Command(skill.name, skill.description, skill.argument_hint)
    for prompt in session.servers.prompts:
        yield Command(prompt.name, prompt.description, prompt.argument_hint)


def own_call(text: str, session: Session) -> OwnCall | None:
    """Return what a prompt `/compact [focus]` or `/add-dir FOLDER` calls; None for any other one, and where a skill has that name."""
    found = _CALL.fullmatch(text.strip())
    if found is None or not session.has_commands or found["name"] in session.skills:
        return None
    return OwnCall(found["name"], (found["said"] or "").strip())
