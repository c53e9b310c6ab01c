"""Opening a session: the model, the run folder and its journal, the runtime, the main agent, in this order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, Unpack, final

import attrs
import trio

from greenroom import actors, hooks, mailbox, mcp, patterns, supervisor, tasks, teams, views, worktrees
from greenroom import agents as agent_events
from greenroom.actors import State, decide_outcome, describe
from greenroom.agents import AgentDefinition, Loaded
from greenroom.core import Cause, Event, Ports, SystemClock, UsageError, is_uuid, require_trio, whole_path
from greenroom.core import session_id as new_session_id
from greenroom.hooks import HookEvent
from greenroom.models import Model
from greenroom.models.budgets import Limits
from greenroom.patterns import watch_steps
from greenroom.session._arguments import check_arguments
from greenroom.session._assembly import ModelFor, Plan, Wish, compose, make_delegation, make_plan, open_surroundings
from greenroom.session._composition import Composition
from greenroom.session._events import EVENTS as SESSION_EVENTS
from greenroom.session._events import SessionBegan, SessionEnded
from greenroom.session._host import HostArguments, Hosted
from greenroom.session._leading import mode_of
from greenroom.session._main import MAIN, MainFor
from greenroom.session._neighbours import open_door
from greenroom.session._recovery import Left, read_left
from greenroom.session._resume import Beginning, Fork, copy_conversation, find_session, load_agent, read_beginning
from greenroom.session._session import Session
from greenroom.session._settings_watch import SettingsWatch
from greenroom.session._stay import settle, with_worktree
from greenroom.supervisor import Runtime, SupervisorSpec, open_runtime
from greenroom.tools import Tool, ToolSet
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import Journal, open_journal, runs_folder

IGNORES: Final = ".gitignore"
BLOCKED_S: Final = 1.0
"""A step of the event loop that takes longer is put on record."""
EVENTS: Final = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *hooks.EVENTS,
    *mcp.EVENTS,
    *tasks.EVENTS,
    *worktrees.EVENTS,
    *agent_events.EVENTS,
    *teams.EVENTS,
    *SESSION_EVENTS,
)
"""Every event that a session's journal can hold."""

FOLDS: Final[tuple[tuple[str, type[Event], str | tuple[str, ...], Callable[..., Any]], ...]] = (
    *views.FOLDS,
    *mcp.FOLDS,
    *tasks.FOLDS,
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
    resume: Path | str | Fork | None = None,
    session_id: str | None = None,
    sources: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    is_trusted: bool = False,
    permission_mode: str | None = None,
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
        resume: A run to go on with (folder, id or `last`): the main agent has its conversation and id again; or a `Fork` of one.
        session_id: The id of a new session, a UUID; by default one is made.
        sources: Whose files are read for all but the model: `user`, `project`, `local`, and with any of them `managed`.
        settings: Settings that come before those of any file, with the keys of a settings file.
        is_trusted: Whether what the project's own files allow, run or set may count.
        permission_mode: How calls are treated that no rule speaks about; before any setting.
        agents: More definitions, as JSON objects by their names.
        added: Further folders that the agents may work in; where files are read, agents and skills of theirs count too.
        plugins: Folders of plugins whose agents, skills, hooks and MCP servers count, whatever else is read.
        worktree: The git worktree to work in, left there: a name; empty for a new one; `#` and the number of a pull request.
        setup: `init` or `maintenance`: hooks of `Setup` run before those of the session's start, and are told this.
        hosted: How the session reaches the program: who is asked, and who hears of what; see `HostArguments`.

    Raises:
        UsageError: `cwd` is no folder; there is no such run, agent, mode or source; a setting cannot be used.
        WorktreeError, JournalError: The worktree cannot be made or is another session's; the run folder cannot be written.
        RuntimeFailed: An agent crashed more often than it may be restarted.
    """
    require_trio("open_session")
    check_arguments(locals())
    wish = Wish(main, ToolSet(tools), sources, settings, permission_mode, agents, setup=setup, is_trusted=is_trusted)
    way = _Way(resume, session_id, _runs(runs), worktree, _all(added), _absolute(plugins))
    ports = ports or Ports()
    plan, place, earlier = await _planned(cwd, wish, way, ports)
    host = Hosted(model=_made(model, plan), **hosted)
    async with _running(plan, host, place, ports, earlier) as session:
        yield session


@final
@attrs.frozen
class _Way:
    """Where a session begins, and which folders count; the fields are arguments of `open_session`."""

    resume: Path | str | Fork | None
    session_id: str | None
    runs: Path
    worktree: str | None
    added: tuple[Path, ...]
    plugins: tuple[Path, ...]


async def _planned(cwd: Path | str, wish: Wish, way: _Way, ports: Ports) -> tuple[Plan, Path, Path | None]:
    """Return what a session is to be, its folder, and that of the run that it goes on with."""
    wish = attrs.evolve(wish, added=way.added, plugins=way.plugins)
    earlier, before, place = await _places_of(way.resume, way.session_id, way.runs, ports)
    plan = await make_plan(_existing(cwd), wish, ports, mode=before.mode, earlier=earlier)
    plan = attrs.evolve(plan, title=before.title, is_resumed=earlier == place)
    return await with_worktree(plan, way.worktree, ports), place, earlier


def _made(model: Model | ModelFor, plan: Plan) -> Model:
    return model(plan.settings.scalars, plan.main) if callable(model) else model


async def _places_of(
    resume: Path | str | Fork | None, chosen: str | None, runs: Path, ports: Ports
) -> tuple[Path | None, Beginning, Path]:
    """Return the folder of the run that is gone on with, what it was last opened with, and the folder of this session."""
    if resume is None:
        return None, Beginning(), await _place_of(chosen, runs, None, ports)
    earlier = await ports.blocking.run(find_session, resume.run if isinstance(resume, Fork) else resume, runs)
    place = await _place_of(chosen, runs, None if isinstance(resume, Fork) else earlier, ports)
    return earlier, await ports.blocking.run(read_beginning, earlier), place


async def _place_of(chosen: str | None, runs: Path, earlier: Path | None, ports: Ports) -> Path:
    """Return the run folder of a session: that of the run that it goes on with, or a new one, by its id."""
    if chosen is None:
        return earlier or runs / new_session_id(ports.ids, ports.clock.wall())
    if not is_uuid(chosen):
        raise UsageError(f"a session id that is chosen has to be a UUID in small letters, not {chosen!r}")
    if earlier is not None:
        raise UsageError(f"a run that is gone on with keeps its id, {earlier.name}; fork it for one with another id")
    if await ports.blocking.run((runs / chosen).exists):
        raise UsageError(f"the session id {chosen} is in use: {runs} holds a run of that id")
    return runs / chosen


@asynccontextmanager
async def _running(
    plan: Plan, host: Hosted, folder: Path, ports: Ports, earlier: Path | None
) -> AsyncIterator[Session]:
    """Run a session in its folder, with the conversation of an earlier run if there is one."""
    model = host.model
    async with (
        model.open(),
        open_journal(folder, ports=plan.masking(ports), catalogue=EVENTS, run=folder.name) as journal,
    ):
        await _hide(folder, journal, ports)
        recorder = journal.recorder
        loaded, left = await _read_earlier(folder, earlier, ports)
        recorder.emit(_beginning(plan, folder, model))
        for event in left.events:
            recorder.emit(event)
        state, error = State.FAILED, ""
        session: Session | None = None
        try:
            async with (
                open_surroundings(folder, plan, ports=ports, recorder=recorder) as around,
                open_runtime(ports=ports, recorder=recorder, check_open=journal.check_open) as runtime,
            ):
                branch = await runtime.spawn_supervisor("session", SupervisorSpec())
                composition = await compose(plan, host, around, branch, journal=journal, run_folder=folder, ports=ports)
                session = Session(
                    folder.name,
                    folder,
                    runtime=runtime,
                    supervisor=branch,
                    composition=composition,
                    ports=ports,
                    recording=journal,
                    make_delegation=partial(make_delegation, plan, around, composition, journal=journal, ports=ports),
                )
                around.tell = session.delegation.crew.deliver
                if composition.budget.limits != Limits():
                    around.nursery.start_soon(session.delegation.stop_at_budget)
                await _start(session, plan, loaded, earlier, composition, ports)
                session.delegation.take_up(left)
                around.nursery.start_soon(_watch_settings, plan, composition, session, ports)
                await _watch_files(around.nursery, composition, session, ports)
                if plan.settings.scalars.extract_memory:
                    session.asides.extract_after_turns(around.nursery.start_soon)
                door = open_door(
                    folder, session.inbox, plan.settings.scalars.neighbours, recording=journal, ports=ports
                )
                with _watched_steps(runtime, ports):
                    async with door, _looked_after(session):
                        yield session
            state = State.KILLED if session.was_killed or session.was_stopped else State.COMPLETED
        except BaseException as leaving:
            outcome = decide_outcome(leaving, requested=None, was_caught=False)
            state, error = outcome.state, describe(outcome.error)
            raise
        finally:
            await _leave_places(session)  # noqa: ASYNC102 - shielded and bounded inside
            recorder.emit(SessionEnded(state=state.value, error=error))
            if session is not None:
                session.close_streams()


def _watched_steps(runtime: Runtime, ports: Ports) -> AbstractContextManager[object]:
    """Return what records steps that block the event loop; under a virtual clock nothing blocks."""
    if not isinstance(ports.clock, SystemClock):
        return nullcontext()
    return watch_steps(runtime, limit_s=BLOCKED_S, has_thread=False, is_logged=False)


async def _hide(folder: Path, journal: Journal, ports: Ports) -> None:
    """Hide a run folder from version control and from searches, wherever runs lie: an ignore file in it names all of it."""
    try:
        await ports.blocking.run(ports.disk.size, folder / IGNORES)
    except FileNotFoundError:
        journal.write_before(folder / IGNORES, b"*\n")


async def _read_earlier(folder: Path, earlier: Path | None, ports: Ports) -> tuple[Loaded | None, Left]:
    """Return what an earlier run left. It is read under the lock of the run: nobody else writes the transcript now."""
    if earlier is None:
        return None, Left()
    if earlier != folder:
        await ports.blocking.run(copy_conversation, earlier, folder, ports.disk)
    return await load_agent(folder, None, ports.blocking), await ports.blocking.run(read_left, folder)


async def _start(
    session: Session, plan: Plan, loaded: Loaded | None, earlier: Path | None, composition: Composition, ports: Ports
) -> None:
    """Start the main agent, in the worktree of the session if it has one."""
    source = "resume" if earlier in {None, session.run_folder} else "fork"
    stays, problems = session.delegation.stays, composition.problems
    into = partial(settle, stays=stays, plan=plan, problems=problems, earlier=earlier, blocking=ports.blocking)
    await session.start_main(plan.main, loaded, source=source, setup=plan.setup, settle=into)


async def _leave_places(session: Session | None) -> None:
    if session is not None:
        await session.delegation.stays.close()


async def _watch_settings(plan: Plan, composition: Composition, session: Session, ports: Ports) -> None:
    """Let edits of the settings files of a session count as long as it runs; where it reads none, there is nothing to do."""
    home = session.delegation.crew.main_home
    if plan.places is not None and home is not None:
        await SettingsWatch(plan, composition, home, ports=ports, recorder=session.runtime.recorder).run()


async def _watch_files(nursery: trio.Nursery, composition: Composition, session: Session, ports: Ports) -> None:
    """Tell hooks of changes of the files that they watch, if there are such hooks as a session begins."""
    home = session.delegation.crew.main_home
    if home is not None and home.hooks is not None and home.hooks.has(HookEvent.FILE_CHANGED):
        look = partial(composition.files.run, home, blocking=ports.blocking, recorder=session.runtime.recorder)
        await composition.files.look(home, ports.blocking)
        nursery.start_soon(look)


def _beginning(plan: Plan, folder: Path, model: Model) -> SessionBegan:
    return SessionBegan(
        session=folder.name,
        model=model.name,
        cwd=str(plan.cwd),
        agent=plan.main.name,
        permission_mode=plan.policy.mode.value,
        mode=mode_of(plan.settings.scalars.delegation),
        title=plan.title,
    )


@asynccontextmanager
async def _looked_after(session: Session) -> AsyncIterator[None]:
    """Let what a session has begun by itself come to an end, and tell hooks of its own."""
    try:
        yield
        await session.asides.finish()
    finally:
        session.delegation.crew.close()
        await session.tell_of_end()  # noqa: ASYNC102 - shielded and bounded inside
        session.end_calls(Cause("session", "the session ends"))


def _existing(cwd: Path | str) -> Path:
    folder = whole_path(cwd)
    if not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is no folder; a session needs one to work in")
    return folder


def _all(folders: Iterable[Path | str]) -> tuple[Path, ...]:
    return tuple(map(_existing, folders))


def _absolute(folders: Iterable[Path | str]) -> tuple[Path, ...]:
    """Return folders that need not be there."""
    return tuple(map(whole_path, folders))


def _runs(runs: Path | str | None) -> Path:
    return whole_path(runs) if runs is not None else runs_folder()
