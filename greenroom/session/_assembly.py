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
from typing import Any, TypeAlias, final

import attrs
import trio

from greenroom._version import __version__
from greenroom.agents import AgentDefinition, AgentServices, CompactionSettings, compaction_from_environment
from greenroom.agents.crew import Stays, delegation_from_environment, moves_calls
from greenroom.agents.definitions import DefinitionSource, builtin_definitions
from greenroom.agents.review import AutoMode
from greenroom.containment import Git, MaskedDisk, Sandbox, Secrets
from greenroom.core import Event, Ports, Recorder, UsageError, open_bare_nursery
from greenroom.core.sources import Diagnostic, FoundPlugins, Kind, Places
from greenroom.hooks import HookServices
from greenroom.mcp import TOKENS_FOLDER, FoundServers, McpServers, McpServices, McpSettings, start_servers
from greenroom.models import Model, ModelSettings
from greenroom.models.choice import ModelNames
from greenroom.permissions import DEADLINE_S, ApprovalQueue, Policy
from greenroom.session._budget import layered
from greenroom.session._composition import Composition
from greenroom.session._delegation import Delegation, SessionGround
from greenroom.session._elicitation import Elicitations
from greenroom.session._environment import EnvironmentLimits, exported_variables, limits_from_environment
from greenroom.session._environment_text import branch_in, git_status
from greenroom.session._finding import describes_place, find_session_servers, places_of
from greenroom.session._hook_rules import HookRules
from greenroom.session._host import Hosted
from greenroom.session._judge import Judge, reviewing_model
from greenroom.session._leading import SCRATCHPAD, in_mode, with_its_tools, with_worker
from greenroom.session._main import MainFor, chosen_main
from greenroom.session._plugins import plugin_hooks, take_in_plugins
from greenroom.session._policy import make_policy
from greenroom.session._resume import TRANSCRIPTS, transcript_name, transcript_opener
from greenroom.session._rewinding import looking_first, open_checkpoints
from greenroom.session._settings import SessionSettings, Settings, load_settings
from greenroom.session._settings_files import SettingSource, Stamps, read_sources, settings_stamps
from greenroom.session._title import Title
from greenroom.session._worktree_hooks import SettingsWorktreeHooks
from greenroom.skills import SkillSource
from greenroom.supervisor import Supervisor
from greenroom.tasks import TaskNotice, Tasks, open_tasks, record_new, record_settled, record_task, record_undelivered
from greenroom.teams import teams_from_environment
from greenroom.tools import SystemProcesses, ToolSet, open_processes
from greenroom.trace import JOURNAL, RECENT, Journal
from greenroom.worktrees import Worktrees

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
    secrets: Secrets = attrs.field(init=False)
    """The known secrets, which are masked in what is recorded."""
    compaction: CompactionSettings
    limits: EnvironmentLimits
    git: str
    """How the repository stands, in words."""
    plugins: FoundPlugins
    servers: FoundServers
    mcp: McpSettings
    problems: tuple[str, ...]
    """What was passed over, a line each."""
    title: str = ""
    """What it was called before; empty for nothing."""
    is_resumed: bool = False
    """True if it continues a run in that one's folder."""
    setup: str = ""
    """What hooks of `Setup` are told first: `init` or `maintenance`; empty where they do not run."""
    worktree: str | None = None
    """The worktree that it begins in, as `open_session` is told; None for none, or that of the run that it goes on with."""

    @secrets.default
    def _known_secrets(self) -> Secrets:
        return Secrets(self.environ)

    @property
    def calls(self) -> Git:
        """How git is called."""
        passed = (*self.settings.scalars.pass_env, *self.variables)
        return Git(environ=self.environ, is_trusted=self.settings.is_trusted, passed=passed)

    def masking(self, ports: Ports) -> Ports:
        """Return ports whose disk masks known secrets in what is recorded beside the conversations."""
        return (
            attrs.evolve(ports, disk=MaskedDisk(ports.disk, self.secrets, (JOURNAL, RECENT))) if self.secrets else ports
        )

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.places.root if self.places is not None else self.cwd


@final
@attrs.define(eq=False)
class Surroundings:
    """What a session starts beside its agents, and is there until all of them have ended."""

    processes: SystemProcesses
    nursery: trio.Nursery
    tell: Callable[[TaskNotice], None] = lambda _: None
    """Takes the notice of a task that has ended."""
    tasks: Tasks = attrs.field(init=False)


def _is_setup(_: object, attribute: attrs.Attribute[str | None], value: str | None) -> None:
    if value not in {None, "init", "maintenance"}:
        raise UsageError(f"{attribute.name} has to be init or maintenance, not {value!r}")


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
    plugins: tuple[Path, ...] = ()
    setup: str | None = attrs.field(default=None, validator=_is_setup)
    is_trusted: bool = attrs.field(kw_only=True)

    @property
    def has_plugins(self) -> bool:
        """Whether the program names plugins itself."""
        return bool(self.plugins or (self.given or {}).get("plugins"))


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
    bare = await run(partial(places_of, cwd, wanted, wish.added, has_plugins=wish.has_plugins))
    stamps = await run(settings_stamps, bare, wanted)
    settings = await run(load_settings, bare, wanted, given=wish.given, is_trusted=wish.is_trusted)
    places, plugins = await take_in_plugins(bare, settings, wish.plugins, ports)
    variables = settings.env
    environ = ChainMap(variables, dict(os.environ))
    as_managed = settings.as_managed
    settings, of_mode = in_mode(settings, environ, stored=mode, run=earlier.name if earlier else "")
    teams = as_managed("teams", teams_from_environment(environ, settings.scalars.teams))
    delegation = as_managed("delegation", delegation_from_environment(environ, settings.scalars.delegation))
    settings = attrs.evolve(settings, scalars=attrs.evolve(settings.scalars, teams=teams, delegation=delegation))
    limits = limits_from_environment(environ)
    builtins = with_worker(await run(builtin_definitions, environ, is_headless=not delegation.interactive), delegation)
    definitions = DefinitionSource(places, blocking=ports.blocking, more=wish.agents, builtins=builtins)
    found = await definitions.refresh()
    tools = limits.put_into(with_its_tools(wish.tools, delegation))
    home = places.user if places is not None else await run(Path.home)
    policy, problems = _policy_of(wish, settings, tools, cwd, home)
    servers, mcp, more = await run(find_session_servers, cwd, places, wanted, settings, environ)
    mcp = mcp if moves_calls(environ, delegation) else attrs.evolve(mcp, background_after_s=0.0)
    unread = {one.source for one in settings.diagnostics if one.kind is Kind.BROKEN}
    more = [one for one in more if one.source not in unread]  # a file that cannot be read is said to be so once
    diagnostics: Sequence[Diagnostic] = (*settings.diagnostics, *plugins.diagnostics, *found.problems, *more)
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
        has_mode=wish.permission_mode is not None or settings.has_managed_mode,
        variables=variables,
        environ=environ,
        compaction=as_managed("compaction", compaction_from_environment(environ, settings.scalars.compaction)),
        limits=limits,
        git=await run(_standing, cwd, places, environ, settings),
        plugins=plugins,
        servers=servers,
        mcp=mcp,
        setup=wish.setup or "",
        problems=(*([of_mode] if of_mode else []), *map(str, diagnostics), *problems),
    )


def _standing(cwd: Path, places: Places | None, environ: Mapping[str, str], settings: Settings) -> str:
    """Return how the repository stands, in words; empty where agents are not told. It blocks."""
    return git_status(cwd, Git(environ=environ, is_trusted=settings.is_trusted)) if describes_place(places) else ""


def _policy_of(wish: Wish, settings: Settings, tools: ToolSet, cwd: Path, home: Path) -> tuple[Policy, list[str]]:
    """Return what decides about calls, and what of it could not be used."""
    policy, problems = make_policy(settings, tuple(tools.values()), cwd=cwd, home=home, mode=wish.permission_mode)
    return attrs.evolve(policy, directories=(*policy.directories, *map(str, wish.added))), problems


@asynccontextmanager
async def open_surroundings(
    run_folder: Path, plan: Plan, *, ports: Ports, recorder: Recorder
) -> AsyncIterator[Surroundings]:
    """Open what a session starts processes and tasks with; leaving ends what is left of them."""
    folder = run_folder / "tasks"
    environ = ChainMap(plan.variables, exported_variables(run_folder.name, plan.project))

    async with (
        open_processes(
            blocking=ports.blocking,
            ids=ports.ids,
            folder=folder,
            mark=run_folder.name,
            environ=environ,
            max_output_bytes=plan.settings.scalars.limits.command_output_bytes,
            pass_env=plan.settings.scalars.pass_env,
            secrets=plan.secrets,
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
    earlier = run_folder if plan.is_resumed else None
    model, budget = await layered(plan.settings.scalars, hosted.model, journal, ports, earlier=earlier)
    elicitations = Elicitations(host=hosted.elicit, recorder=journal.recorder, on_elicited=hosted.watch.on_elicited)
    services = _mcp_services(plan, around, elicitations, run_folder, ports)
    found = plan.servers
    servers = await start_servers(branch, found.configs, services, disabled=found.disabled, broken=found.broken)
    composition = Composition(
        settings=plan.settings,
        policy=plan.policy,
        tools=plan.tools,
        places=plan.places,
        definitions=plan.definitions,
        skills=SkillSource(plan.places if plan.settings.scalars.slash_commands else None, blocking=ports.blocking),
        hook_services=_hook_services(plan, hosted, around, servers, model, journal=journal, ports=ports),
        ports=ports,
        cwd=plan.cwd,
        has_mode=plan.has_mode,
        kept=plan.sources,
        environ=plan.environ,
        servers=servers,
        budget=budget,
        git=plan.git,
    )
    composition.take_plugins(plan.plugins, plugin_hooks(plan.plugins))
    composition.elicitations = elicitations
    composition.title = Title(plan.title, journal.recorder)
    is_kept = plan.settings.scalars.fileCheckpointingEnabled
    composition.checkpoints = await open_checkpoints(run_folder, journal.write_before, ports, is_on=is_kept)
    composition.services = _services(
        plan, hosted, around, composition, model, journal=journal, run_folder=run_folder, ports=ports
    )
    composition.problems += plan.problems
    composition.scratchpad = await _open_scratchpad(plan, run_folder, ports)
    return composition


def _mcp_services(
    plan: Plan, around: Surroundings, elicitations: Elicitations, run_folder: Path, ports: Ports
) -> McpServices:
    """Return what MCP servers are connected with."""
    return McpServices(
        cwd=plan.cwd,
        ports=ports,
        settings=plan.mcp,
        rules=plan.servers.rules,
        programs=around.processes,
        output_folder=run_folder / "tasks",
        tokens=None if plan.places is None else plan.places.home / TOKENS_FOLDER,
        elicit=elicitations.ask,
        on_elicited=elicitations.completed,
    )


def _hook_services(
    plan: Plan,
    hosted: Hosted,
    around: Surroundings,
    servers: McpServers,
    model: Model,
    *,
    journal: Journal,
    ports: Ports,
) -> HookServices:
    return HookServices(
        project=plan.project,
        environment=plan.environ,
        named=plan.variables,
        pass_env=plan.settings.scalars.pass_env,
        secrets=plan.secrets,
        ports=ports,
        emit=journal.recorder.emit_fields,
        rules=HookRules(cwd=str(plan.cwd), home=plan.policy.home),
        mcp=servers,
        model=Judge(model, _names(plan), journal.commit),
        overflow_folder=journal.folder / "hooks",
        start_soon=around.nursery.start_soon,
        on_hook=hosted.watch.on_hook,
        session_end_limit_s=plan.limits.session_end_s,
    )


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
        calls=plan.calls,
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
        wait_recorded=journal.commit,
        changes=composition.checkpoints,
        sandbox=Sandbox(plan.settings.scalars.sandbox) if plan.settings.scalars.sandbox.enabled else None,
        secrets=plan.secrets,
        session_id=run_folder.name,
        main_transcript=run_folder / TRANSCRIPTS / transcript_name("", is_main=True),
        can_use_tool=hosted.can_use_tool,
        approvals=approvals,
        auto=AutoMode(reviewing, model=reviewer),
        thinking=models.thinking,
        continuation=models.continuation,
        compaction=plan.compaction,
        side_by_side=plan.limits.side_by_side,
        repetition=plan.settings.scalars.limits.repetition,
        stop_blocks=plan.limits.stop_blocks,
        progress_summaries=plan.settings.scalars.agent_progress_summaries,
        processes=around.processes,
        background=around.tasks,
        ask_user=hosted.ask_user,
        on_message=hosted.on_message,
        on_shown=hosted.watch.on_shown,
        on_stream=hosted.watch.on_stream,
        on_taken=hosted.watch.on_taken,
        watch_files=composition.files.ask_for,
        set_title=composition.title.change,
    )


def _names(plan: Plan) -> ModelNames:
    models = plan.settings.scalars.models
    return ModelNames() if models is None else models.names
