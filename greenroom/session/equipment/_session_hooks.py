"""Hooks of a session's start and end; they run for its main agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import trio

from greenroom.agents import AgentState, Hooking, StoppedByHook, TurnState
from greenroom.agents.memory import InstructionFile
from greenroom.core import Recorder
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import (
    ConfigChangeInput,
    FileChangedInput,
    InstructionsLoadedInput,
    SessionEndInput,
    SessionStartInput,
    SetupInput,
)


async def tell_of_start(home: AgentState, recorder: Recorder, *, source: str, title: str = "", setup: str = "") -> str:
    """Run the hooks of the start, and return what one of them wants to be the first prompt.

    Those of `Setup` come first, where that is asked for.

    Args:
        home: The main agent's.
        recorder: The recorder of its events.
        source: What the session begins with: `startup`, `resume` or `fork`.
        title: The session's; empty for none.
        setup: `init` or `maintenance`, where things are to be set up first; empty for nothing.
    """
    hooking = hooking_of(home, recorder)
    tell_of_instructions(hooking, [(instruction, ()) for instruction in home.profile.instructions])
    if setup and hooking.has(HookEvent.SETUP):
        await hooking.run(SetupInput(trigger=setup))
        home.pending.remind(*hooking.turn.take_reminders())
    if not hooking.has(HookEvent.SESSION_START):
        return ""
    outcome = await hooking.run(
        SessionStartInput(
            source=source,
            model=home.services.model.name,
            agent_type=home.profile.hook_type,
            session_title=title or None,
        )
    )
    home.pending.remind(*hooking.turn.take_reminders())
    return outcome.extras.initial_user_message or ""


async def ask_of_change(home: AgentState, recorder: Recorder, *, source: str, path: Path) -> str:
    """Ask the hooks of settings whether an edit of a file may count; returns why not, empty where it may.

    Args:
        home: The main agent's.
        recorder: The recorder of its events.
        source: `user_settings`, `project_settings`, `local_settings` or `policy_settings`.
        path: The file.
    """
    if home.profile.hooks is None or not home.profile.hooks.has(HookEvent.CONFIG_CHANGE):
        return ""
    outcome = await hooking_of(home, recorder).run(ConfigChangeInput(source=source, file_path=path))
    return outcome.reason


async def tell_of_file(home: AgentState, recorder: Recorder, *, path: Path, change: str) -> None:
    """Tell hooks of a file that is watched.

    Args:
        home: The main agent's.
        recorder: The recorder of its events.
        path: The file.
        change: `add`, `change` or `unlink`.
    """
    await hooking_of(home, recorder).run(FileChangedInput(file_path=path, change=change))


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


def notice(home: AgentState, recorder: Recorder, source: str, text: str) -> None:
    """Tell people something of the session."""
    hooking_of(home, recorder).notice(source, text)


async def tell_of_end(home: AgentState, recorder: Recorder) -> None:
    """Run the hooks of the end, within their limit."""
    if home.profile.hooks is None or not home.profile.hooks.has(HookEvent.SESSION_END):
        return
    with trio.CancelScope(shield=True):  # bounded by the limit that these hooks share
        try:
            await hooking_of(home, recorder).run(SessionEndInput(reason="other"))
        except StoppedByHook:
            pass  # it stops


def hooking_of(home: AgentState, recorder: Recorder) -> Hooking:
    """Return what runs the hooks of the main agent where no turn of its own does."""
    return Hooking(home=home, turn=TurnState(token=(home.profile.id, 0, 0), seq=0, recorder=recorder))
