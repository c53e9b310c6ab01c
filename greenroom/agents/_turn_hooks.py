"""The hooks of one turn: what each is told of the agent, and what they add to what the model reads.

What hooks say for the model goes into the conversation with the next message, as reminders that stay there. What they
say for people is an event.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents._effect_calls import run_hooks
from greenroom.agents._inputs import Input, prompt_id_of
from greenroom.agents._state import AgentState
from greenroom.agents._turn_state import TurnState
from greenroom.agents.events._agent_events import AgentNoticed
from greenroom.core import PeerError
from greenroom.core.texts import reminder
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import HookContext, HookInput, RunningTask
from greenroom.permissions import ToolKind, traits_of

NOTICE_CHARS: Final = 500


@final
class StoppedByHook(PeerError):
    """A hook said that everything is to end (`continue: false`).

    Attributes:
        reason: What the hook said; may be empty.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"a hook stopped it: {reason}" if reason else "a hook stopped it")
        self.reason = reason


@final
class PromptBlocked(PeerError):
    """A hook refused what a person said; the model never saw it.

    Attributes:
        reason: What the hook said.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"a hook refused the prompt: {reason}")
        self.reason = reason


@final
@attrs.define(kw_only=True, eq=False)
class Hooking:
    """Runs the hooks of one turn."""

    home: AgentState
    turn: TurnState

    def name_prompt(self) -> None:
        """Give the user's message whose turn runs the id that its line is going to have, if it has none yet."""
        if self.turn.prompt_id is None and self.home.conversation is not None:
            self.turn.name_prompt(self.home.conversation.new_uuid())

    def has(self, event: HookEvent) -> bool:
        """Return whether anything could run at this event."""
        hooks = self.home.profile.hooks
        return hooks is not None and hooks.has(event)

    async def run(self, told: HookInput, *, about: Input | None = None) -> HookOutcome:
        """Run the hooks of an event; their contexts become reminders, their messages notices, and what they ask for is watched.

        Args:
            told: What they are told.
            about: The message that it is about, where that is not the one whose turn runs.

        Raises:
            StoppedByHook: One of them wants an end of everything.
        """
        hooks = self.home.profile.hooks
        assert hooks is not None
        context = self._context()
        if about is not None:
            context = attrs.evolve(context, prompt_id=prompt_id_of(about))
        if self.home.services.effects is None:
            outcome = await hooks.run(told, context)
        else:
            run = partial(hooks.run, told, context)
            outcome = await run_hooks(told.event.value, told.encode(context), self.home, run)
        self.turn.remind(outcome.contexts)
        watch, paths = self.home.services.watch_files, outcome.extras.watch_paths
        if watch is not None and paths is not None:
            watch(paths)
        self._take_title(told, outcome.extras.session_title)
        for text in (*outcome.system_messages, *outcome.problems):
            self.notice(told.event.value, text)
        if outcome.stops and told.event not in _DECIDE_ON_STOPPING:
            raise StoppedByHook(outcome.stop_reason)
        return outcome

    def _take_title(self, told: HookInput, title: str | None) -> None:
        """Give the session the title that a hook said; not of a conversation that was compacted, nor from a child."""
        change = self.home.services.set_title
        is_late = told.event is HookEvent.SESSION_START and told.subject in _GOES_ON
        if change is not None and title is not None and not is_late and not self.home.profile.is_child:
            change(title)

    def tell(self, told: HookInput) -> None:
        """Start the hooks of an event without waiting for them."""
        if self.home.profile.hooks is not None and not self.home.services.is_rerun:
            self.home.profile.hooks.tell(told, self._context())

    def notice(self, source: str, text: str) -> None:
        """Tell people."""
        agent, incarnation, _ = self.turn.token
        emit = self.turn.recorder.emit_fields
        emit(AgentNoticed, agent, incarnation, self.turn.seq, source, text[:NOTICE_CHARS])

    def take_reminders(self) -> list[str]:
        """Return what waits for the model, wrapped; it waits no more."""
        if not self.turn.reminders and not self.home.pending.reminders:
            return []
        return [reminder(text) for text in (*self.home.pending.take_reminders(), *self.turn.take_reminders())]

    def _context(self) -> HookContext:
        home = self.home
        agent, incarnation, _ = self.turn.token
        agent_id = home.profile.id if home.profile.is_child else None
        policy = home.policy_now
        return HookContext(
            session_id=home.services.session_id,
            cwd=home.cwd,
            transcript_path=home.services.main_transcript,
            prompt_id=self.turn.prompt_id,
            permission_mode=policy.mode.value if policy is not None else None,
            effort=home.grants.effort or home.profile.effort,
            agent_id=agent_id,
            agent_type=home.profile.hook_type,
            actor=agent,
            incarnation=incarnation,
            parent=self.turn.seq,
        )


def latest_hooking(home: AgentState) -> Hooking | None:
    """Return what runs hooks as in the latest turn of an agent, for others while no turn runs; None before the first."""
    return None if home.turn is None else Hooking(home=home, turn=home.turn)


def told_input(tool: str, values: Mapping[str, Any], cwd: Path) -> Mapping[str, Any]:
    """Return the input of a call as hooks are told of it: the path of a file tool is absolute.

    Args:
        tool: The tool's name.
        values: The call's input.
        cwd: Where a relative path starts from.
    """
    traits = traits_of(tool)
    path = values.get(traits.subject) if traits.kind in (ToolKind.READ, ToolKind.EDIT) else None
    if not isinstance(path, str) or not path:
        return values
    whole = os.path.normpath(cwd / path)
    return values if whole == path else {**values, traits.subject: whole}


def running_tasks(home: AgentState) -> tuple[RunningTask, ...]:
    """Return what runs in the background of the session, besides the agent itself, as hooks are told of it."""
    table = home.services.background
    if table is None:
        return ()
    return tuple(
        RunningTask(
            id=task.info.id,
            type=_KINDS.get(task.info.kind, task.info.kind),
            status=task.state,
            description=task.info.description,
            command=task.info.command or None,
            agent_type=task.info.agent_type or None,
            server=task.info.server or None,
            tool=task.info.tool or None,
        )
        for task in table.running()
        if task.is_background and task.info.id != home.profile.id
    )


_KINDS: Final = {
    "local_bash": "shell",
    "local_agent": "subagent",
    "in_process_teammate": "teammate",
    "remote_agent": "cloud session",
    "mcp_task": "MCP task",
    "monitor": "monitor",
}
_GOES_ON: Final = frozenset(("clear", "compact"))
"""Beginnings at which a session has its title already."""
_DECIDE_ON_STOPPING: Final = frozenset((HookEvent.STOP, HookEvent.SUBAGENT_STOP, HookEvent.STOP_FAILURE))
"""There `continue: false` only means that the turn may end."""
