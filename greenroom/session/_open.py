"""Opening a session: the model, the run folder and its journal, the runtime, the main agent, in this order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from greenroom import actors, agents, mailbox, patterns, supervisor, teams
from greenroom._version import __version__
from greenroom.actors import State
from greenroom.agents import AgentDefinition, AgentServices
from greenroom.core import Ports, UsageError, session_id
from greenroom.models import Model
from greenroom.session._events import EVENTS as SESSION_EVENTS
from greenroom.session._events import SessionBegan, SessionEnded
from greenroom.session._resume import find_session, load_agent
from greenroom.session._session import MAIN, Session, transcript_opener
from greenroom.supervisor import Runtime, SupervisorSpec, open_runtime
from greenroom.tools import Tool, ToolSet
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import Journal, open_journal, runs_folder

EVENTS: Final = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *agents.EVENTS,
    *teams.EVENTS,
    *SESSION_EVENTS,
)
"""Every event that a session's journal can hold."""

FOLDS: Final = (
    *mailbox.FOLDS,
    *actors.FOLDS,
    *supervisor.FOLDS,
    *agents.FOLDS,
    *teams.FOLDS,
)
"""How these events add up to the state of a session at any moment."""


@asynccontextmanager
async def open_session(
    *,
    model: Model,
    cwd: Path | str,
    runs: Path | str | None = None,
    main: AgentDefinition = MAIN,
    tools: Iterable[Tool] = READ_ONLY_TOOLS,
    ports: Ports | None = None,
    resume: Path | str | None = None,
) -> AsyncIterator[Session]:
    """Open a session; leaving the block stops what runs, within 30 s.

    Args:
        model: What the agents talk to; it is opened first, so that a missing key leaves no run folder behind.
        cwd: The folder that the agents work in, and are confined to.
        runs: Where run folders go; by default `.greenroom/runs` of the project around the current folder.
        main: The definition of the main agent.
        tools: The tools that every agent may have, as far as its definition allows.
        ports: Time, ids, chance, disk and threads; by default the machine's.
        resume: A run to go on with, instead of a new one: its folder, its id, or `last`. The main agent has its
            conversation, id and transcript again; `session.was_cut` says whether there is a turn to go on with.

    Raises:
        UsageError: `cwd` is no folder; or there is no such run to resume.
        JournalError: The run folder cannot be written.
        RuntimeFailed: An agent crashed more often than it may be restarted.
    """
    folder = _existing(cwd)
    ports = ports or Ports()
    if resume is None:
        run_folder = _runs(runs) / session_id(ports.ids, ports.clock.wall())
    else:
        run_folder = await ports.blocking.run(find_session, resume, _runs(runs))
    new_id = run_folder.name
    async with model.open(), open_journal(run_folder, ports=ports, catalogue=EVENTS, run=new_id) as journal:
        recorder = journal.recorder
        # Read under the lock of the run: nobody else writes the transcript now.
        loaded = None if resume is None else await load_agent(run_folder, None, ports.blocking)
        recorder.emit(SessionBegan(session=new_id, model=model.name, cwd=str(folder)))
        state, error = State.FAILED, ""
        session: Session | None = None
        try:
            async with open_runtime(ports=ports, recorder=recorder, check_open=journal.check_open) as runtime:
                session = await _start(
                    new_id, run_folder, folder, model=model, tools=tools, ports=ports, runtime=runtime, journal=journal
                )
                await session.start_main(main, loaded)
                yield session
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


async def _start(
    new_id: str,
    run_folder: Path,
    folder: Path,
    *,
    model: Model,
    tools: Iterable[Tool],
    ports: Ports,
    runtime: Runtime,
    journal: Journal,
) -> Session:
    branch = await runtime.spawn_supervisor("session", SupervisorSpec())
    services = AgentServices(
        model=model,
        cwd=folder,
        roots=(folder,),
        blocking=ports.blocking,
        open_transcript=transcript_opener(
            run_folder, new_id, folder, ports=ports, version=__version__, write=journal.write_before
        ),
    )

    return Session(
        new_id,
        run_folder,
        runtime=runtime,
        supervisor=branch,
        services=services,
        tools=ToolSet(tools),
        ports=ports,
        recording=journal,
    )
