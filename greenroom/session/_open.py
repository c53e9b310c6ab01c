"""Opening a session: the model, the run folder and its journal, the runtime, the main agent, in this order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Unpack

from greenroom.actors import State, decide_outcome, describe
from greenroom.agents import AgentDefinition
from greenroom.core import JournalError, require_trio
from greenroom.core.ports import Disk, Ports
from greenroom.models import Model
from greenroom.session._catalog import EVENTS
from greenroom.session._events import SessionEnded
from greenroom.session._session import Session
from greenroom.session.assembly._host_ports import HostArguments
from greenroom.session.assembly._plan_reader import make_plan
from greenroom.session.assembly._session_plan import Plan, session_began
from greenroom.session.assembly._session_services import open_services
from greenroom.session.assembly._session_spec import MAIN, MainFor, ModelFor, read_spec
from greenroom.session.assembly._session_start import started
from greenroom.session.parts._open_streams import open_streams
from greenroom.session.record._recovery import read_earlier
from greenroom.session.record._resume import Fork
from greenroom.tools import Tool
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import Journal, open_journal

IGNORES: Final = ".gitignore"


@asynccontextmanager
async def open_session(
    *,
    model: Model | ModelFor,
    cwd: Path | str,
    runs: Path | str | None = None,
    main: AgentDefinition | str | MainFor = MAIN,
    tools: Iterable[Tool] = READ_ONLY_TOOLS,
    ports: Ports | None = None,
    resume: Path | str | Fork | None = None,
    session_id: str | None = None,
    sources: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    is_trusted: bool = False,
    permission_mode: str | None = None,
    durability: str | None = None,
    agents: Mapping[str, Any] | None = None,
    added: Iterable[Path | str] = (),
    plugins: Iterable[Path | str] = (),
    worktree: str | None = None,
    setup: str | None = None,
    **hosted: Unpack[HostArguments],
) -> AsyncIterator[Session]:
    """Open a session; leaving the block stops what runs, within 30 s.

    Args:
        model: What the agents talk to, or what makes it; opened first: a missing key leaves no run folder behind.
        cwd: The folder that the agents work in. Elsewhere they reach what a rule, the mode or a person lets them, and no more.
        runs: Where run folders go; by default `.greenroom/runs` of the project around the current folder.
        main: The main agent's definition, the name of one of `agents`, the files or the built-in ones, or what picks it.
        tools: The tools that every agent may have, as far as its definition and the rules allow.
        ports: Time, ids, chance, disk and threads; by default the machine's.
        resume: A run to resume (folder, id or `last`), so that the main agent has its conversation and id again; or a
            `Fork` of one.
        session_id: The id of a new session, a UUID; by default one is made.
        sources: Whose files are read for all but the model: `user`, `project`, `local`, and with any of them `managed`.
        settings: Settings that come before those of any file, with the keys of a settings file.
        is_trusted: Whether what the project's own files allow, run or set may count.
        permission_mode: How calls are treated that no rule speaks about; before any setting.
        durability: What the record survives: `process` or `power`; by default as the settings say.
        agents: More definitions, as JSON objects by their names.
        added: Further folders that the agents may work in; where files are read, agents and skills of theirs count too.
        plugins: Folders of plugins whose agents, skills, hooks and MCP servers count, whatever else is read.
        worktree: The git worktree to work in, left there: a name; empty for a new one; `#` and the number of a pull request.
        setup: `init` or `maintenance`: hooks of `Setup` run before those of the session's start, and are told this.
        hosted: Callbacks of the program, for questions and notifications; see `HostArguments`.

    Raises:
        UsageError: `cwd` is not a directory; the run, agent, mode or source does not exist; a setting cannot be used.
        WorktreeError, JournalError: The worktree cannot be made or is another session's; the run folder cannot be written.
        RuntimeFailed: An agent crashed more often than it may be restarted.
    """
    given = locals()
    require_trio("open_session")
    ports = ports or Ports()
    plan = await make_plan(read_spec(given), ports)
    async with _running(plan, ports) as session:
        yield session


@asynccontextmanager
async def _running(plan: Plan, ports: Ports) -> AsyncIterator[Session]:
    """Run a session in its folder, with the conversation of an earlier run if there is one."""
    folder = plan.run.folder
    if plan.spec.host.files:
        await ports.blocking.run(_leave_files, folder, plan.spec.host.files, ports.disk)
    async with (
        plan.model.open(),
        open_journal(
            folder,
            ports=plan.masking(ports),
            catalog=EVENTS,
            run=folder.name,
            durability=plan.settings.scalars.durability,
        ) as journal,
    ):
        await _hide(folder, journal, ports)
        recorder = journal.recorder
        streams, host = open_streams(plan.spec.host, recorder)
        has_hosts = bool(plan.settings.scalars.remote.hosts) and plan.spec.host.replay is None
        loaded, left = await read_earlier(plan.run, ports, has_hosts=has_hosts)
        recorder.emit(session_began(plan))
        for event in left.events:
            recorder.emit(event)
        state, error = State.FAILED, ""
        session: Session | None = None
        try:
            async with open_services(plan, journal, host, streams, ports) as services:
                session = Session(services)
                async with started(session, services, loaded, left):
                    yield session
            state = State.KILLED if session.was_killed or session.was_stopped else State.COMPLETED
        except BaseException as leaving:
            outcome = decide_outcome(leaving, requested=None, was_caught=False)
            state, error = outcome.state, describe(outcome.error)
            raise
        finally:
            if session is not None:
                await session.agents.pool.entered_worktrees.close()  # noqa: ASYNC102 - shielded and bounded inside
            recorder.emit(SessionEnded(state=state.value, error=error))
            streams.close()


def _leave_files(folder: Path, files: Mapping[str, bytes], disk: Disk) -> None:
    """Write the files of the program into a run folder."""
    try:
        for name, content in files.items():
            disk.make_folder(folder)
            disk.write(folder / name, content)
    except OSError as error:
        raise JournalError(str(folder), str(error)) from error


async def _hide(folder: Path, journal: Journal, ports: Ports) -> None:
    """Hide a run folder from version control and from searches, wherever runs lie: an ignore file in it names all of it."""
    if journal.was_reopened:
        with suppress(FileNotFoundError):
            await ports.blocking.run(ports.disk.size, folder / IGNORES)
            return
    journal.write_before(folder / IGNORES, b"*\n")
