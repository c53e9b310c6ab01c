"""What hooks are told of a session's start and end; they run for its main agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import trio

from greenroom.agents import AgentHome, Hooking, StoppedByHook
from greenroom.agents.memory import InstructionFile
from greenroom.core import Recorder
from greenroom.hooks import (
    ConfigChangeInput,
    FileChangedInput,
    HookEvent,
    InstructionsLoadedInput,
    SessionEndInput,
    SessionStartInput,
)


async def tell_of_start(home: AgentHome, recorder: Recorder, *, source: str) -> str:
    """Run the hooks of the start, and return what one of them wants to be the first prompt.

    Args:
        home: The main agent's.
        recorder: Where it is put on record.
        source: What the session begins with: `startup`, `resume` or `fork`.
    """
    hooking = _hooking(home, recorder)
    tell_of_instructions(hooking, [(one, ()) for one in home.instructions])
    if not hooking.has(HookEvent.SESSION_START):
        return ""
    outcome = await hooking.run(
        SessionStartInput(source=source, model=home.services.model.name, agent_type=home.told_type)
    )
    home.reminders += hooking.reminders
    return outcome.extras.initial_user_message or ""


async def ask_of_change(home: AgentHome, recorder: Recorder, *, source: str, path: Path) -> str:
    """Ask the hooks of settings whether an edit of a file may count; returns why not, empty where it may.

    Args:
        home: The main agent's.
        recorder: Where it is put on record.
        source: `user_settings`, `project_settings` or `local_settings`.
        path: The file.
    """
    if home.hooks is None or not home.hooks.has(HookEvent.CONFIG_CHANGE):
        return ""
    outcome = await _hooking(home, recorder).run(ConfigChangeInput(source=source, file_path=path))
    return outcome.reason


async def tell_of_file(home: AgentHome, recorder: Recorder, *, path: Path, change: str) -> None:
    """Tell hooks of a file that is watched.

    Args:
        home: The main agent's.
        recorder: Where it is put on record.
        path: The file.
        change: `add`, `change` or `unlink`.
    """
    await _hooking(home, recorder).run(FileChangedInput(file_path=path, change=change))


def tell_of_instructions(
    hooking: Hooking | None, files: Iterable[tuple[InstructionFile, Sequence[str]]], trigger: Path | None = None
) -> None:
    """Tell hooks what an agent reads from now on; nothing waits for them.

    Args:
        hooking: The agent's; None where it has none.
        files: What it reads, each with the patterns that it holds for, if it is a rule.
        trigger: The file that it worked on, where it reads them because of that; None for what its prompt begins with.
    """
    if hooking is None or not hooking.has(HookEvent.INSTRUCTIONS_LOADED):
        return
    for file, globs in files:
        why = "session_start" if trigger is None else "path_glob_match" if globs else "nested_traversal"
        hooking.tell(
            InstructionsLoadedInput(
                file_path=file.path,
                memory_type=_MEMORY_TYPES.get(file.kind, "Project"),
                load_reason="include" if file.kind == "imported" else why,
                globs=globs or None,
                trigger_file_path=trigger,
            )
        )


_MEMORY_TYPES: Final = {"user": "User", "local": "Local", "managed": "Managed"}


def notice(home: AgentHome, recorder: Recorder, source: str, text: str) -> None:
    """Tell people something of the session."""
    _hooking(home, recorder).notice(source, text)


async def tell_of_end(home: AgentHome, recorder: Recorder) -> None:
    """Run the hooks of the end, within their limit."""
    if home.hooks is None or not home.hooks.has(HookEvent.SESSION_END):
        return
    with trio.CancelScope(shield=True):  # bounded by the limit that these hooks share
        try:
            await _hooking(home, recorder).run(SessionEndInput(reason="other"))
        except StoppedByHook:
            pass  # it stops


def _hooking(home: AgentHome, recorder: Recorder) -> Hooking:
    return Hooking(home=home, token=(home.id, 0, 0), seq=0, recorder=recorder)
