"""The commands that a user may call by `/name` in a headless run: skills, the prompts of MCP servers, `/compact` and `/add-dir`."""

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
class SlashCommand:
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
    """The text after the name; empty if there is none."""

    @property
    def path(self) -> str:
        """The text after the name as a path, with `~` expanded; an unknown user leaves it as it is."""
        return os.path.expanduser(self.said)  # noqa: PTH111 - that of `Path` is an error then


_OWN: Final = (
    SlashCommand(ADD_FOLDER, "Let agents work in another folder for the rest of the session.", "[the folder]"),
    SlashCommand(COMPACT, "Put a summary in the place of the conversation.", "[what to look at]"),
)


def commands_of(session: Session) -> Iterator[SlashCommand]:
    """Return what may be called in a session now; nothing where there are no slash commands."""
    if not session.commands.is_on:
        return
    yield from (command for command in _OWN if command.name not in session.commands.skills)
    for skill in session.commands.skills.values():
        if skill.for_users:
            yield SlashCommand(skill.name, skill.description, skill.argument_hint)
    for prompt in session.servers.prompts:
        yield SlashCommand(prompt.name, prompt.description, prompt.argument_hint)


def own_call(text: str, session: Session) -> OwnCall | None:
    """Return what a prompt `/compact [focus]` or `/add-dir FOLDER` calls; None for any other one, and where a skill has that name."""
    found = _CALL.fullmatch(text.strip())
    if found is None or not session.commands.is_on or found["name"] in session.commands.skills:
        return None
    return OwnCall(found["name"], (found["said"] or "").strip())
