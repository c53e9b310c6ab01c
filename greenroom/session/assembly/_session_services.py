"""The services of a session: what it starts beside its agents, and keeps until all of them have ended."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.agents.subagents import DelegationSettings, MainAgent
from greenroom.core import Recorder, open_bare_nursery
from greenroom.core.ports import Ports
from greenroom.mcp import TOKENS_FOLDER, Channels, McpServers, McpServices, start_servers
from greenroom.models import Model
from greenroom.models.budgets import Budget
from greenroom.session._events import SessionTitled
from greenroom.session.assembly._effects_of_run import RunEffects, effects_of
from greenroom.session.assembly._elicitations import Elicitations
from greenroom.session.assembly._host_ports import Hosted
from greenroom.session.assembly._model_layers import layered
from greenroom.session.assembly._session_plan import Plan, make_scratchpad
from greenroom.session.parts._open_streams import Streams
from greenroom.session.parts._stored_inbox import StoredInbox, open_stored_inbox
from greenroom.session.record._file_rewind import open_checkpoints
from greenroom.supervisor import Runtime, Supervisor, SupervisorSpec, open_runtime
from greenroom.tasks import Tasks, open_tasks, record_new, record_settled, record_task, record_undelivered
from greenroom.tools import SystemProcesses, open_processes
from greenroom.tools.checkpoints import FileCheckpoints
from greenroom.trace import Journal


@final
@attrs.frozen(kw_only=True, eq=False)
class Services:
    """The services that the agents of one session share; complete when it is made."""

    plan: Plan
    ports: Ports
    effects: RunEffects
    journal: Journal
    runtime: Runtime
    branch: Supervisor
    """The supervisor of the session's actors."""
    host: Hosted
    """The program's callbacks, and those that publish the live events."""
    streams: Streams
    """The readers of the session's events."""
    nursery: trio.Nursery
    """Outlives the agents; what still runs in it at the end is cancelled."""
    processes: SystemProcesses
    tasks: Tasks
    main: MainAgent
    model: Model
    """With the layers that the settings ask for."""
    budget: Budget
    inbox: StoredInbox
    """Keeps what waits for the main agent."""
    servers: McpServers
    channels: Channels
    """Receives what MCP servers push."""
    elicitations: Elicitations
    title: Title
    checkpoints: FileCheckpoints | None
    """Checkpoints of files as they were when messages of the user's arrived; None if none are kept."""
    scratchpad: Path | None
    """The folder that a coordinator's workers share."""

    @property
    def recorder(self) -> Recorder:
        """The recorder of the session's events."""
        return self.journal.recorder

    @property
    def run_folder(self) -> Path:
        """The folder of the run."""
        return self.journal.folder


@asynccontextmanager
async def open_services(
    plan: Plan, journal: Journal, host: Hosted, streams: Streams, ports: Ports
) -> AsyncIterator[Services]:
    """Open the services of a session; its MCP servers have been started, and may not be connected yet.

    Leaving stops the agents first. What the session starts outlives them, so that a call that ends finds what it has to end.
    """
    effects = effects_of(plan, journal, ports)
    folder, recorder, scalars, ports = journal.folder, journal.recorder, plan.settings.scalars, effects.ports
    async with (
        open_processes(
            blocking=ports.blocking,
            ids=ports.ids,
            folder=folder / "tasks",
            mark=folder.name,
            environ=ChainMap(plan.variables, plan.exported(folder.name)),
            max_output_bytes=scalars.limits.command_output_bytes,
            pass_env=scalars.pass_env,
            secrets=plan.secrets,
        ) as processes,
        open_stored_inbox(plan.spec.host, journal=journal, ports=ports) as inbox,
        _open_background() as nursery,  # what follows the inbox ends before it
        _open_tasks(recorder, scalars.delegation) as tasks,
        _open_actors(journal, effects) as runtime,
    ):
        main = MainAgent()
        branch = await runtime.spawn_supervisor("session", SupervisorSpec())
        elicitations = Elicitations(host=host.elicit, recorder=recorder, main=main, on_elicited=host.watch.on_elicited)
        model, budget = await layered(plan, journal, ports)
        channels = Channels(scalars.channels, recorder, ports.ids)
        yield Services(
            plan=plan,
            ports=ports,
            effects=effects,
            journal=journal,
            runtime=runtime,
            branch=branch,
            host=host,
            streams=streams,
            nursery=nursery,
            processes=processes,
            tasks=tasks,
            main=main,
            model=model,
            budget=budget,
            inbox=inbox,
            servers=await _start_servers(plan, processes, elicitations, channels, branch, effects, folder),
            channels=channels,
            elicitations=elicitations,
            title=Title(plan.run.beginning.title, recorder, main),
            checkpoints=await open_checkpoints(
                folder,
                journal.write_before,
                ports,
                is_on=scalars.fileCheckpointingEnabled,
                is_new=not journal.was_reopened,
            ),
            scratchpad=await make_scratchpad(plan, folder, ports),
        )


def _open_actors(journal: Journal, effects: RunEffects) -> AbstractAsyncContextManager[Runtime]:
    return open_runtime(
        ports=effects.ports,
        recorder=journal.recorder,
        check_open=journal.check_open,
        make_mailbox=effects.make_mailbox,
    )


def _open_tasks(recorder: Recorder, settings: DelegationSettings) -> AbstractAsyncContextManager[Tasks]:
    return open_tasks(
        watch=partial(record_task, recorder),
        note_new=partial(record_new, recorder),
        note_settled=partial(record_settled, recorder),
        note_undelivered=partial(record_undelivered, recorder),
        release_s=settings.release_s,
        is_on=settings.background,
    )


@asynccontextmanager
async def _open_background() -> AsyncIterator[trio.Nursery]:
    async with open_bare_nursery() as nursery:
        try:
            yield nursery
        finally:
            nursery.cancel_scope.cancel()


async def _start_servers(
    plan: Plan,
    processes: SystemProcesses,
    elicitations: Elicitations,
    channels: Channels,
    branch: Supervisor,
    effects: RunEffects,
    folder: Path,
) -> McpServers:
    found = plan.servers
    services = McpServices(
        cwd=plan.cwd,
        ports=effects.ports,
        settings=plan.mcp,
        rules=found.rules,
        programs=processes,
        output_folder=folder / "tasks",
        tokens=None if plan.places is None else plan.places.home / TOKENS_FOLDER,
        elicit=elicitations.ask,
        on_elicited=elicitations.completed,
        on_push=channels.receive,
        effects=effects.port,
        mask=plan.secrets.mask_value,
    )
    return await start_servers(branch, found.configs, services, disabled=found.disabled, broken=found.broken)


TITLE_CHARS: Final = 200
"""Maximum length of a title; longer ones are cut."""
TITLE_LINE: Final = "custom-title"
"""The type of the line of a transcript that holds a title."""


@final
@attrs.define(eq=False)
class Title:
    """The title of a session.

    Args:
        text: The title of the run that is resumed; empty for none.
        recorder: Records a change.
        main: The main agent, in whose transcript the title is written.
    """

    text: str
    _recorder: Recorder
    _main: MainAgent

    def change(self, text: str) -> None:
        """Change the title, put on one line; a blank one or the current one changes nothing."""
        title = " ".join(text.split())[:TITLE_CHARS].rstrip()
        if not title or title == self.text:
            return
        self.text = title
        self._recorder.emit(SessionTitled(title=title))
        home = self._main.home
        if home is not None and home.conversation is not None:
            home.conversation.note(TITLE_LINE, {"customTitle": title})
