"""What hooks are told of a session's start and end; they run for its main agent."""

from __future__ import annotations

from pathlib import Path

import trio

from greenroom.agents import AgentHome, Hooking, StoppedByHook
from greenroom.core import Recorder
from greenroom.hooks import ConfigChangeInput, HookEvent, SessionEndInput, SessionStartInput


async def tell_of_start(home: AgentHome, recorder: Recorder, *, source: str) -> str:
    """Run the hooks of the start, and return what one of them wants to be the first prompt.

    Args:
        home: The main agent's.
        recorder: Where it is put on record.
        source: What the session begins with: `startup`, `resume` or `fork`.
    """
    if home.hooks is None or not home.hooks.has(HookEvent.SESSION_START):
        return ""
    hooking = _hooking(home, recorder)
    outcome = await hooking.run(
        SessionStartInput(source=source, model=home.services.model.name, agent_type=home.definition.name)
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
