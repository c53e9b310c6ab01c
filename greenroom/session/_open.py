"""Opening a session: the model, the run folder and its journal, the runtime, the main agent, in this order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from greenroom import actors, hooks, mailbox, patterns, supervisor, tasks, teams
from greenroom import agents as agent_events
from greenroom.actors import State
from greenroom.agents import AgentDefinition, CanUseTool, OnMessage
from greenroom.core import Ports, UsageError, session_id
from greenroom.models import Model
from greenroom.session._assembly import Hosted, MainFor, ModelFor, compose, make_plan, open_surroundings
from greenroom.session._events import EVENTS as SESSION_EVENTS
from greenroom.session._events import SessionBegan, SessionEnded
from greenroom.session._resume import find_session, load_agent
from greenroom.session._session import MAIN, Session
from greenroom.supervisor import SupervisorSpec, open_runtime
from greenroom.tools import AskUser, Tool, ToolSet
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import open_journal, runs_folder

EVENTS: Final = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *hooks.EVENTS,
    *tasks.EVENTS,
    *agent_events.EVENTS,
    *teams.EVENTS,
    *SESSION_EVENTS,
)
"""Every event that a session's journal can hold."""

FOLDS: Final = (
    *mailbox.FOLDS,
    *actors.FOLDS,
    *supervisor.FOLDS,
    *hooks.FOLDS,
    *agent_events.FOLDS,
    *teams.FOLDS,
)
"""How these events add up to the state of a session at any moment."""


@asynccontextmanager
async def open_session(
    *,
    model: Model | ModelFor,
    cwd: Path | str,
    runs: Path | str | None = None,
    main: AgentDefinition | str | MainFor = MAIN,
    tools: Iterable[Tool] = READ_ONLY_TOOLS,
    ports: Ports | None = None,
    resume: Path | str | None = None,
    sources: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    is_trusted: bool = False,
    permission_mode: str | None = None,
    can_use_tool: CanUseTool | None = None,
    has_approver: bool = False,
    ask_user: AskUser | None = None,
    agents: Mapping[str, Any] | None = None,
    on_message: OnMessage | None = None,
) -> AsyncIterator[Session]:
    """Open a session; leaving the block stops what runs, within 30 s.

    Args:
        model: What the agents talk to, or what makes it of settings and main agent; it is opened first, so that a missing key leaves no run folder behind.
        cwd: The folder that the agents work in, and are confined to.
        runs: Where run folders go; by default `.greenroom/runs` of the project around the current folder.
        main: The definition of the main agent, or the name of one of `agents`, of the files, of the built-in ones; or what picks it.
        tools: The tools that every agent may have, as far as its definition and the rules allow.
        ports: Time, ids, chance, disk and threads; by default the machine's.
        resume: A run to go on with, instead of a new one: its folder, its id, or `last`. The main agent has its
            conversation, id and transcript again; `session.was_cut` says whether there is a turn to go on with.
        sources: Whose files are read for settings, definitions, skills, instructions and memory: `user`, `project`,
            `local`. None of them is read unless it is named here.
        settings: Settings of the program, before those of any file; the keys are those of a settings file.
        is_trusted: Whether what the project's own files allow, run or set may count.
        permission_mode: How calls are treated that no rule speaks about; before any setting.
        can_use_tool: Called with each call that somebody has to decide about.
        has_approver: Whether such calls wait in `session.approvals` when `can_use_tool` has not answered; else they are
            refused, and the agent goes on.
        ask_user: Puts an agent's questions before a person.
        agents: More definitions, as JSON objects by their names.
        on_message: Hears of each message of an agent in the step in which it is appended.

    Raises:
        UsageError: `cwd` is no folder; there is no such run to resume, agent, mode, or source; a setting cannot be used.
        JournalError: The run folder cannot be written.
        RuntimeFailed: An agent crashed more often than it may be restarted.
    """
    folder = _existing(cwd)
    ports = ports or Ports()
    plan = await make_plan(
        folder,
        ports=ports,
        tools=ToolSet(tools),
        main=main,
        sources=sources,
        given=settings,
        is_trusted=is_trusted,
        permission_mode=permission_mode,
        agents=agents,
    )
    if callable(model):
        model = model(plan.settings.scalars, plan.main)
    if resume is None:
        run_folder = _runs(runs) / session_id(ports.ids, ports.clock.wall())
    else:
        run_folder = await ports.blocking.run(find_session, resume, _runs(runs))
    async with model.open(), open_journal(run_folder, ports=ports, catalogue=EVENTS, run=run_folder.name) as journal:
        recorder = journal.recorder
        # Read under the lock of the run: nobody else writes the transcript now.
        loaded = None if resume is None else await load_agent(run_folder, None, ports.blocking)
        recorder.emit(SessionBegan(session=run_folder.name, model=model.name, cwd=str(folder)))
        state, error = State.FAILED, ""
        session: Session | None = None
        hosted = Hosted(
            model=model,
            can_use_tool=can_use_tool,
            has_approver=has_approver,
            ask_user=ask_user,
            on_message=on_message,
        )
        try:
            async with (
                open_surroundings(run_folder, ports=ports, recorder=recorder, env=plan.settings.env) as around,
                open_runtime(ports=ports, recorder=recorder, check_open=journal.check_open) as runtime,
            ):
                branch = await runtime.spawn_supervisor("session", SupervisorSpec())
                composition = compose(plan, hosted, around, journal=journal, run_folder=run_folder, ports=ports)
                session = Session(
                    run_folder.name,
                    run_folder,
                    runtime=runtime,
                    supervisor=branch,
                    composition=composition,
                    ports=ports,
                    recording=journal,
                )
                around.tell = session.tell_of_task
                await session.start_main(plan.main, loaded)
                try:
                    yield session
                finally:
                    await session.tell_of_end()
            state = State.KILLED if session.was_killed or session.was_stopped else State.COMPLETED
        except trio.Cancelled:
            state = State.KILLED
            raise
        except BaseException as problem:
            error = f"{type(problem).__name__}: {problem}"
            raise
        finally:
            recorder.emit(SessionEnded(state=state.value, error=error))
            if session is not None:
                session.close_streams()


def _existing(cwd: Path | str) -> Path:
    folder = Path(cwd).absolute()
    if not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is no folder; a session needs one to work in")
    return folder


def _runs(runs: Path | str | None) -> Path:
    return Path(runs).absolute() if runs is not None else runs_folder()
