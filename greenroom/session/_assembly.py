"""Putting a session together: what is read before it begins, what it runs in, and what its agents share.

Rule 1: all that can be wrong in what was given or read is found before a run folder is made. Rule 2: what the session starts
outlives its agents, so that a call that ends finds what it has to end.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom._version import __version__
from greenroom.agents import (
    AgentDefinition,
    AgentServices,
    CanUseTool,
    CompactionSettings,
    OnMessage,
    OnStream,
    compaction_from_environment,
)
from greenroom.agents.crew import Stays, delegation_from_environment, moves_calls
from greenroom.agents.definitions import DefinitionSource, builtin_definitions
from greenroom.agents.review import AutoMode
from greenroom.core import Event, Ports, Recorder, open_bare_nursery
from greenroom.core.sources import Diagnostic, Kind, Places, find_places
from greenroom.hooks import HookServices, OnHook
from greenroom.mcp import (
    FoundServers,
    HookCaller,
    McpServices,
    McpSettings,
    ServerScope,
    find_servers,
    start_servers,
    with_environment,
)
from greenroom.models import MODEL_FILE, Budget, Model, ModelNames, ModelSettings, RetryBudget, recording, with_settings
from greenroom.permissions import DEADLINE_S, ApprovalQueue, Policy
from greenroom.session._composition import Composition
from greenroom.session._delegation import Delegation, SessionGround
from greenroom.session._environment import EnvironmentLimits, exported_variables, limits_from_environment
from greenroom.session._environment_text import branch_in, git_status
from greenroom.session._hook_rules import HookRules
from greenroom.session._judge import Judge, reviewing_model
from greenroom.session._leading import SCRATCHPAD, in_mode, with_its_tools, with_worker
from greenroom.session._main import MainFor, chosen_main
from greenroom.session._policy import make_policy
from greenroom.session._resume import TRANSCRIPTS, transcript_name, transcript_opener
from greenroom.session._rewinding import looking_first, open_checkpoints
from greenroom.session._settings import (
    SessionSettings,
    Settings,
    SettingSource,
    Stamps,
    load_settings,
    read_sources,
    settings_stamps,
)
from greenroom.session._worktree_hooks import SettingsWorktreeHooks
from greenroom.skills import SkillSource
from greenroom.supervisor import Supervisor
from greenroom.tasks import TaskNotice, Tasks, open_tasks, record_new, record_settled, record_task, record_undelivered
from greenroom.teams import teams_from_environment
from greenroom.tools import AskUser, SystemProcesses, ToolSet, open_processes
from greenroom.trace import Journal
from greenroom.worktrees import Worktrees

MCP_TOKENS: Final = "mcp-tokens"
"""The folder in the user's own that tokens of MCP servers are kept in."""

ModelFor: TypeAlias = Callable[[SessionSettings, AgentDefinition], Model]
"""Makes the model of a session, given its settings and the definition of its main agent."""


@final
@attrs.frozen(kw_only=True)
class Plan:
    """What a session is to be, all of it read and checked."""

    cwd: Path
    places: Places | None
    sources: frozenset[SettingSource]
    settings: Settings
    stamps: Stamps
    """Of the settings files, from before they were read."""
    definitions: DefinitionSource
    main: AgentDefinition
    tools: ToolSet
    policy: Policy
    has_mode: bool
    variables: dict[str, str] = attrs.field(repr=False)
    """Those of the settings; they change when files do."""
    environ: Mapping[str, str] = attrs.field(repr=False)
    """Variables of the machine, with those of the settings before them, as they are now."""
    compaction: CompactionSettings
    limits: EnvironmentLimits
    git: str
    """How the repository stands, in words."""
    servers: FoundServers
    mcp: McpSettings
    problems: tuple[str, ...]
    """What was passed over, a line each."""
    worktree: str | None = None
    """The worktree that it begins in, as `open_session` is told; None for none, or that of the run that it goes on with."""

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.places.root if self.places is not None else self.cwd


@final
@attrs.frozen(kw_only=True)
class Watch:
    """What else a program wants to hear of while it happens; whoever is called may only store and wake."""

    on_stream: OnStream | None = None
    """Hears of each event of the models' answers to turns of agents, with the agent's id."""
    on_taken: Callable[[str], object] | None = None
    """Hears the id of each message that `session.send` has handed in, when the main agent takes it up."""
    on_hook: OnHook | None = None
    """Hears of each run of a hook's handler from its beginning to its end."""


@final
@attrs.frozen
class Hosted:
    """What the program hands in for its agents to reach it by."""

    model: Model
    can_use_tool: CanUseTool | None
    ask_user: AskUser | None
    on_message: OnMessage | None
    watch: Watch
    has_approver: bool = attrs.field(kw_only=True)


@final
@attrs.define(eq=False)
class Surroundings:
    """What a session starts beside its agents, and is there until all of them have ended."""

    processes: SystemProcesses
    nursery: trio.Nursery
    tell: Callable[[TaskNotice], None] = lambda _: None
    """Takes the notice of a task that has ended."""
    tasks: Tasks = attrs.field(init=False)


@final
@attrs.frozen
class Wish:
    """What a program wants its session to be; the fields are arguments of `open_session`."""

    main: AgentDefinition | str | MainFor
    tools: ToolSet
    sources: Iterable[str]
    given: Mapping[str, Any] | None
    permission_mode: str | None
    agents: Mapping[str, Any] | None
    added: tuple[Path, ...] = ()
    is_trusted: bool = attrs.field(kw_only=True)


async def make_plan(cwd: Path, wish: Wish, ports: Ports, *, mode: str = "", earlier: Path | None = None) -> Plan:
    """Read and check what a session is to be.

    Args:
        cwd: Where its agents work.
        wish: What the program wants.
        ports: Threads.
        mode: The mode of the run that it goes on with; empty for none.
        earlier: The folder of that run.

    Raises:
        UsageError: Something in it cannot be used.
    """
    wanted = read_sources(wish.sources)
    run = ports.blocking.run
    places = await run(partial(find_places, cwd, added=wish.added)) if wanted else None
    stamps = await run(settings_stamps, places, wanted)
    settings = await run(load_settings, places, wanted, given=wish.given, is_trusted=wish.is_trusted)
    variables = settings.env
    environ = ChainMap(variables, dict(os.environ))
    settings, of_mode = in_mode(settings, environ, stored=mode, run=earlier.name if earlier else "")
    teams = teams_from_environment(environ, settings.scalars.teams)
    delegation = delegation_from_environment(environ, settings.scalars.delegation)
    settings = attrs.evolve(settings, scalars=attrs.evolve(settings.scalars, teams=teams, delegation=delegation))
    limits = limits_from_environment(environ)
    builtins = await run(builtin_definitions, environ, is_headless=not delegation.interactive)
    builtins = with_worker(builtins, delegation)
    definitions = DefinitionSource(places, blocking=ports.blocking, more=wish.agents, builtins=builtins)
    found = await definitions.refresh()
    home = places.user if places is not None else await run(Path.home)
    tools = limits.put_into(with_its_tools(wish.tools, delegation))
    policy, problems = make_policy(settings, tuple(tools.values()), cwd=cwd, home=home, mode=wish.permission_mode)
    policy = attrs.evolve(policy, directories=(*policy.directories, *map(str, wish.added)))
    servers, mcp, more = await run(_find_servers, cwd, places, wanted, settings, environ)
    if not moves_calls(environ, delegation):
        mcp = attrs.evolve(mcp, background_after_s=0.0)
    unread = {one.source for one in settings.diagnostics if one.kind is Kind.BROKEN}
    more = [one for one in more if one.source not in unread]  # a file that cannot be read is said to be so once
    diagnostics: Sequence[Diagnostic] = (*settings.diagnostics, *found.problems, *more)
    return Plan(
        cwd=cwd,
        places=places,
        sources=wanted,
        stamps=stamps,
        settings=settings,
        definitions=definitions,
        main=chosen_main(wish.main, found, settings.scalars),
        tools=tools,
        policy=policy,
        has_mode=wish.permission_mode is not None,
        variables=variables,
        environ=environ,
        compaction=compaction_from_environment(environ, settings.scalars.compaction),
        limits=limits,
        git="" if places is None else await run(git_status, cwd, environ),
        servers=servers,
        mcp=mcp,
        problems=(*([of_mode] if of_mode else []), *map(str, diagnostics), *problems),
    )


def _find_servers(
    cwd: Path,
    places: Places | None,
    sources: frozenset[SettingSource],
    settings: Settings,
    environ: Mapping[str, str],
) -> tuple[FoundServers, McpSettings, list[Diagnostic]]:
    """Return the MCP servers that files and settings name, and how they are to be treated."""
    mcp, ignored = with_environment(settings.scalars.mcp, environ)
    # Only what the program says itself: files are read where they lie, with the approvals that they need.
    given = [
        {"mcpServers": file.values["mcpServers"]}
        for file in settings.files
        if file.source is None and file.values.get("mcpServers")
    ]
    if (places is None or mcp.only_given) and not given:
        return FoundServers(), mcp, list(ignored)
    found = find_servers(
        places if places is not None else find_places(cwd),
        environ=environ,
        given=given,
        only_given=places is None or mcp.only_given,
        is_trusted=settings.is_trusted,
    )
    unwanted = settings.scalars.disabledMcpjsonServers
    kept = tuple(one for one in found.configs if one.name not in unwanted and _is_read(one.scope, sources))
    return attrs.evolve(found, configs=kept), mcp, [*ignored, *found.diagnostics]


def _is_read(scope: ServerScope, sources: frozenset[SettingSource]) -> bool:
    match scope:
        case ServerScope.PROJECT:
            return SettingSource.PROJECT in sources
        case ServerScope.LOCAL:  # the user's own, for this project
            return bool({SettingSource.LOCAL, SettingSource.USER} & sources)
        case ServerScope.USER:
            return SettingSource.USER in sources
        case _:
            return True


def layered(plan: Plan, model: Model, journal: Journal, ports: Ports) -> tuple[Model, Budget]:
    """Return the model with what the settings want around it, and the budget of the session."""
    settings = plan.settings.scalars.models
    budget = Budget(
        None if settings is None else settings.budget,
        pricing=None if settings is None else settings.pricing,
        now_s=ports.clock.bind(),
    )
    write = partial(journal.write_before, Path(MODEL_FILE)) if plan.settings.scalars.record_model else None
    if settings is not None:
        shared = RetryBudget()
        return with_settings(
            model, settings, budget=budget, chance=ports.chance, retry_budget=shared, write=write
        ), budget
    return model if write is None else recording(model, write), budget


@asynccontextmanager
async def open_surroundings(
    run_folder: Path, plan: Plan, *, ports: Ports, recorder: Recorder
) -> AsyncIterator[Surroundings]:
    """Open what a session starts processes and tasks with; leaving ends what is left of them."""
    folder = run_folder / "tasks"
    environ = ChainMap(plan.variables, exported_variables(run_folder.name, plan.project))

    async with (
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=folder, mark=run_folder.name, environ=environ
        ) as processes,
        open_bare_nursery() as nursery,
    ):
        around = Surroundings(processes, nursery)

        def tell(notice: TaskNotice) -> None:
            around.tell(notice)

        try:
            async with open_tasks(
                tell=tell,
                watch=partial(record_task, recorder),
                note_new=partial(record_new, recorder),
                note_settled=partial(record_settled, recorder),
                note_undelivered=partial(record_undelivered, recorder),
                release_s=plan.settings.scalars.delegation.release_s,
                is_on=plan.settings.scalars.delegation.background,
            ) as around.tasks:
                yield around
        finally:
            nursery.cancel_scope.cancel()


async def compose(
    plan: Plan,
    hosted: Hosted,
    around: Surroundings,
    branch: Supervisor,
    *,
    journal: Journal,
    run_folder: Path,
    ports: Ports,
) -> Composition:
    """Return what makes the agents of a session; its MCP servers have been started, and may not be connected yet."""
    model, budget = layered(plan, hosted.model, journal, ports)
    services = McpServices(
        cwd=plan.cwd,
        ports=ports,
        settings=plan.mcp,
        programs=around.processes,
        output_folder=run_folder / "tasks",
        tokens=None if plan.places is None else plan.places.home / MCP_TOKENS,
    )
    found = plan.servers
    servers = await start_servers(branch, found.configs, services, disabled=found.disabled, broken=found.broken)
    composition = Composition(
        settings=plan.settings,
        policy=plan.policy,
        tools=plan.tools,
        places=plan.places,
        definitions=plan.definitions,
        skills=SkillSource(plan.places if plan.settings.scalars.slash_commands else None, blocking=ports.blocking),
        hook_services=HookServices(
            project=plan.project,
            environment=plan.environ,
            ports=ports,
            emit=journal.recorder.emit_fields,
            rules=HookRules(cwd=str(plan.cwd), home=plan.policy.home),
            mcp=HookCaller(servers),
            model=Judge(model, _names(plan)),
            overflow_folder=run_folder / "hooks",
            start_soon=around.nursery.start_soon,
            on_hook=hosted.watch.on_hook,
            session_end_limit_s=plan.limits.session_end_s,
        ),
        ports=ports,
        cwd=plan.cwd,
        has_mode=plan.has_mode,
        kept=plan.sources,
        environ=plan.environ,
        servers=servers,
        budget=budget,
        git=plan.git,
    )
    is_kept = plan.settings.scalars.fileCheckpointingEnabled
    composition.checkpoints = await open_checkpoints(run_folder, journal.write_before, ports, is_on=is_kept)
    composition.services = _services(
        plan, hosted, around, composition, model, journal=journal, run_folder=run_folder, ports=ports
    )
    composition.problems += plan.problems
    composition.scratchpad = await _open_scratchpad(plan, run_folder, ports)
    return composition


async def _open_scratchpad(plan: Plan, run_folder: Path, ports: Ports) -> Path | None:
    delegation = plan.settings.scalars.delegation
    if not (delegation.coordinator and delegation.scratchpad):
        return None
    await ports.blocking.run(ports.disk.make_folder, run_folder / SCRATCHPAD)
    return run_folder / SCRATCHPAD


def make_delegation(
    plan: Plan,
    around: Surroundings,
    composition: Composition,
    branch: Supervisor,
    ground: SessionGround,
    *,
    journal: Journal,
    ports: Ports,
) -> Delegation:
    """Return the crew of a session; the tools that stood for it are its own from now on."""
    scalars = plan.settings.scalars

    async def record(event: Event) -> None:
        journal.recorder.emit(event)
        await journal.commit()

    worktrees = Worktrees(
        scalars.worktree.made(scalars.cleanupPeriodDays),
        ports=ports,
        hooks=SettingsWorktreeHooks(composition.hooks, composition.services),
        record=record,
        environment=plan.environ,
    )
    delegation = Delegation(
        branch,
        composition,
        around.tasks,
        ground,
        ports=ports,
        run_folder=journal.folder,
        write=journal.write_before,
        wait_durable=journal.commit,
        stays=Stays(worktrees=worktrees, tasks=around.tasks, record=record),
    )
    composition.bind(delegation.bound_tools())
    return delegation


def _services(
    plan: Plan,
    hosted: Hosted,
    around: Surroundings,
    composition: Composition,
    model: Model,
    *,
    journal: Journal,
    run_folder: Path,
    ports: Ports,
) -> AgentServices:
    models = plan.settings.scalars.models or ModelSettings()
    deadline_s = plan.settings.scalars.approval_deadline_s
    reviewing = plan.settings.scalars.autoMode
    reviewer, note = reviewing_model(model, _names(plan), reviewing.model)
    composition.problems += [note] if note else []
    approvals = ApprovalQueue(ports.ids, has_approver=hosted.has_approver, deadline_s=deadline_s or DEADLINE_S)

    return AgentServices(
        model=model,
        cwd=plan.cwd,
        roots=(plan.cwd,),
        blocking=ports.blocking,
        open_transcript=transcript_opener(
            run_folder,
            run_folder.name,
            plan.cwd,
            ports=ports,
            version=__version__,
            write=journal.write_before,
            branch=branch_in(plan.git),
        ),
        wait_durable=looking_first(composition.checkpoints, journal.commit, ports),
        changes=composition.checkpoints,
        session_id=run_folder.name,
        main_transcript=run_folder / TRANSCRIPTS / transcript_name("", is_main=True),
        can_use_tool=hosted.can_use_tool,
        approvals=approvals,
        auto=AutoMode(reviewing, model=reviewer),
        keep_updates=composition.keep_updates,
        thinking=models.thinking,
        continuation=models.continuation,
        compaction=plan.compaction,
        side_by_side=plan.limits.side_by_side,
        stop_blocks=plan.limits.stop_blocks,
        progress_summaries=plan.settings.scalars.agent_progress_summaries,
        processes=around.processes,
        background=around.tasks,
        ask_user=hosted.ask_user,
        on_message=hosted.on_message,
        on_stream=hosted.watch.on_stream,
        on_taken=hosted.watch.on_taken,
        watch_files=composition.files.ask_for,
    )


def _names(plan: Plan) -> ModelNames:
    models = plan.settings.scalars.models
    return ModelNames() if models is None else models.names
