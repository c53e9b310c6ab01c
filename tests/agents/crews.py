"""A crew: a main agent, the pool of those that it starts, their messages and a journal; no session, and no files of a user."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs
import trio

from greenroom import actors, hooks, mailbox, patterns, supervisor, tasks, views, worktrees
from greenroom.actors import Ref
from greenroom.agents import (
    Agent,
    AgentDefinition,
    AgentProfile,
    AgentServices,
    AgentState,
    Answer,
    Lineage,
    Loaded,
    Prompt,
    agent_spec,
    load_conversation,
)
from greenroom.agents import events as agent_events
from greenroom.agents.definitions import Definitions, load_definitions
from greenroom.agents.review import AutoMode, AutoModeSettings
from greenroom.agents.subagents import (
    AgentTool,
    DelegationSettings,
    EnterWorktree,
    ExitWorktree,
    MainAgent,
    Post,
    SpawnOrder,
    Subagent,
    SubagentPool,
    SubagentSpec,
    make_child_profile,
    make_send_message,
    record_path,
)
from greenroom.core import Cause, Event, JournalError, UsageError, event_of
from greenroom.core.ports import Ports
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import HookContext, HookInput
from greenroom.inbox import HUMAN, Origin, make_item
from greenroom.models import Model, PlaybookModel
from greenroom.models.choice import choose_model, read_effort
from greenroom.permissions import (
    PROGRAM,
    ChildPermission,
    Effect,
    Mode,
    Policy,
    Rule,
    canonical_name,
    hidden_tools,
    parse_mode,
    parse_rule,
)
from greenroom.store import Transcript, TranscriptHeader
from greenroom.supervisor import Restart, Runtime, StopOrder, Supervisor, SupervisorSpec, open_runtime
from greenroom.tasks import (
    Task,
    Tasks,
    TaskState,
    open_tasks,
    record_new,
    record_settled,
    record_task,
    record_undelivered,
)
from greenroom.testing import BareAgentPorts, virtual_ports
from greenroom.tools import Tool, ToolError, ToolSet, open_processes
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, Journal, check_journal, open_journal, read_journal
from greenroom.worktrees import Worktrees, WorktreeSettings
from tests.agents.pages import Page, echo, message_texts, notices_in

E = TypeVar("E", bound=Event)
EVENTS = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *hooks.EVENTS,
    *tasks.EVENTS,
    *worktrees.EVENTS,
    *agent_events.EVENTS,
)
FOLDS = (*views.FOLDS, *tasks.FOLDS, *agent_events.FOLDS)
MAIN = AgentDefinition(name="main", system_prompt="You lead.")


@attrs.define(kw_only=True, eq=False)
class Crew:
    """The parts of a crew; it is the host of its pool as well."""

    runtime: Runtime
    branch: Supervisor
    background: Supervisor
    journal: Journal
    ports: Ports
    services: AgentServices
    tasks: Tasks
    definitions: Definitions
    settings: DelegationSettings
    policy: Policy
    events: tuple[type[Event], ...]
    folds: tuple[Any, ...]
    tools: tuple[Tool, ...]
    main: MainAgent = attrs.field(factory=MainAgent)
    pool: SubagentPool = attrs.field(init=False)
    post: Post = attrs.field(init=False)
    known: dict[str, tuple[Ref[Any], AgentState]] = attrs.field(factory=dict)
    has_work: list[Callable[[], bool]] = attrs.field(factory=list)
    """Further reasons why it is not quiet."""
    child_permission: ChildPermission = "definition"
    hooks: Any = None
    """Hooks of all agents."""
    may_spend: bool = True

    # --- the port of the pool --------------------------------------------------------------------------------------

    def make_child(self, wish: SubagentSpec) -> AgentState:
        definition = wish.definition
        mode = None if definition.permission_mode is None else parse_mode(definition.permission_mode)
        deny = [name for name in definition.disallowed_tools if "(" in name]
        setting: ChildPermission = "clamped" if self.policy.mode is Mode.AUTO else self.child_permission
        policy, _ = self.policy.for_child(mode, setting=setting, deny=deny, agent=definition.name)
        return self.make_home(definition, policy, wish=wish)

    def make_home(
        self,
        definition: AgentDefinition,
        policy: Policy,
        more: Sequence[Tool] = (),
        *,
        wish: SubagentSpec | None = None,
    ) -> AgentState:
        """Return the record of a new agent; the main agent is started for no wish."""
        profile = AgentProfile(
            definition=definition,
            tools=ToolSet(),
            policy=policy,
            hooks=self.hooks,
            is_child=wish is not None,
            effort=None if definition.effort is None else read_effort(definition.effort),
        )
        if wish is not None:
            profile = make_child_profile(profile, wish, self.settings)
            own, above = self.services.model.name, wish.parent.profile.model if wish.parent is not None else ""
            chosen = choose_model(parent=above or own, call=wish.model, definition=definition.model).name
            profile = attrs.evolve(profile, model="" if chosen == own else chosen)
        home = AgentState(profile=profile, services=self.services, ports=BareAgentPorts())
        self.equip(home, more)
        return home

    def equip(self, home: AgentState, more: Sequence[Tool] = ()) -> None:
        """Give an agent the tools of the crew and `more`, as far as it may have them."""
        there = {tool.name: tool for tool in (*self.tools, *more)}
        names = list(there) if home.profile.narrow is None else list(home.profile.narrow(list(there)))
        names = self.chosen(home.profile.definition, names)
        hidden = hidden_tools(home.profile.policy, names) if home.profile.policy is not None else frozenset()
        home.replace(tools=ToolSet(there[name] for name in names if name not in hidden))

    @staticmethod
    def chosen(definition: AgentDefinition, names: Iterable[str]) -> list[str]:
        listed = None if definition.tools is None or "*" in definition.tools else definition.tools
        wanted = None if listed is None else {canonical_name(name.partition("(")[0]) for name in listed}
        return [name for name in names if name not in definition.disallowed_tools and (not wanted or name in wanted)]

    def forget(self, home: AgentState) -> None:
        pass

    async def find_definitions(self) -> Definitions:
        await trio.lowlevel.checkpoint()
        return self.definitions

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        self.known[home.profile.id or ref.id] = (ref, home)

    def drop(self, agent_id: str) -> None:
        self.known.pop(agent_id, None)

    def find(self, agent_id: str) -> tuple[Ref[Any], AgentState] | None:
        return self.known.get(agent_id)

    def living(self) -> list[AgentState]:
        return [home for ref, home in self.known.values() if home.profile.is_child and not ref.is_gone]

    async def report_to_main(self, report_id: str, text: str) -> bool:
        return False

    def has_budget(self) -> bool:
        return self.may_spend

    async def open_branch(self) -> Supervisor:
        await trio.lowlevel.checkpoint_if_cancelled()
        return self.background

    async def record(self, event: Event) -> None:
        self.journal.recorder.emit(event)
        await self.journal.commit()

    async def wait_durable(self) -> None:
        try:
            await self.journal.commit()
        except JournalError as error:
            raise ToolError(f"it was done, and cannot be put on record: {error}") from error

    # --- what a program does ---------------------------------------------------------------------------------------

    @property
    def run_folder(self) -> Path:
        return self.journal.folder

    @property
    def home(self) -> AgentState:
        """The record of the main agent."""
        assert self.main.home is not None
        return self.main.home

    async def run(self, text: str) -> Answer:
        """Return the answer of a turn of the main agent."""
        self.journal.check_open()
        answer: Answer = await self.main.ref.ask(Prompt(text), timeout_s=math.inf, size_bytes=len(text))
        await self.journal.commit()
        return answer

    def send(self, text: str, origin: Origin = HUMAN) -> None:
        """Send the main agent words of the user's, or of somebody else."""
        item = make_item(text, uuid=f"user-{len(text)}", origin=origin)
        self.main.ref.tell(item, item.lane)

    def interrupt(self, why: str = "interrupted") -> None:
        """End the main agent's turn."""
        self.main.ref.abort_turn(why=why)

    async def spawn(
        self, definition: str, prompt: str, *, name: str = "", tells_main: bool = False, **order: Any
    ) -> Subagent:
        """Start an agent in the background for the host, as `session.spawn` does."""
        known = self.definitions.find(definition)

        def make(lineage: Lineage) -> AgentState:
            return self.make_child(SubagentSpec(definition=known, parent=None, lineage=lineage, is_background=True))

        owner = self.main.ref.id if tells_main else ""
        subagent = await self.pool.start(
            SpawnOrder(
                home=make,
                definition=known,
                prompt=prompt,
                description=known.name,
                name=name,
                owner=owner,
                is_silent=not owner,
                is_background=True,
                waits=True,
                **order,
            )
        )
        await self.journal.commit()
        return subagent

    async def resume(self, agent_id: str, text: str) -> Task:
        """Start another run of an agent for a person, and return it when it has ended."""
        subagent = await self.post.resume(agent_id, text, by_user=True)
        await subagent.task.wait_settled()
        return subagent.task

    def kill_all(self, why: str = "killed") -> list[str]:
        """Kill what runs in the background, as a person does."""
        running = [task for task in self.tasks.running() if task.is_background]
        for task in running:
            task.is_stopped_by_user = True
        return [task.info.id for task in running if task.kill(Cause("host", why))]

    def kill(self, task: str) -> bool:
        """Kill one task by its id or the name of its agent, as a person does."""
        found = self.tasks.find(task)
        assert found is not None
        found.is_stopped_by_user = found.is_stopped_by_user or not found.is_finished
        return found.kill(Cause("host", "killed"))

    def background_all(self) -> list[str]:
        """Move to the background what calls wait for."""
        waited_for = [task for task in self.tasks.running() if not task.is_background]
        return [task.info.id for task in waited_for if task.move_to_background()]

    def states(self, kind: str = "") -> list[TaskState]:
        """Return the states of the tasks of a kind."""
        return [task.state for task in self.tasks.all() if kind in {"", task.info.kind}]

    async def wait_quiet(self) -> None:
        """Wait until nobody works, and every end was told."""
        changed = trio.Event()
        stop_listening = self.journal.recorder.listen(lambda _: changed.set())
        try:
            await trio.lowlevel.checkpoint()
            while not self.is_quiet:
                await changed.wait()
                await trio.lowlevel.checkpoint()
                changed = trio.Event()
        finally:
            stop_listening()

    @property
    def is_quiet(self) -> bool:
        rest = all(is_at_rest(ref) for ref, _ in self.known.values() if not ref.is_gone)
        return self.pool.is_quiet and rest and not any(works() for works in self.has_work)


def is_at_rest(ref: Ref[Any]) -> bool:
    waits = ref.statistics()
    return not (ref.is_busy or waits.now or waits.next or waits.later)


@attrs.define
class ScriptedHooks:
    """Hooks of one event, which answer one after the other; and what they were told."""

    event: HookEvent
    answers: list[Mapping[str, Any]]
    """Values of `HookOutcome`; the last one is given again and again."""
    wait_s: float = 0.0
    told: list[Any] = attrs.field(factory=list)
    contexts: list[HookContext] = attrs.field(factory=list)

    def has(self, event: HookEvent) -> bool:
        return event is self.event

    async def run(self, hook_input: HookInput, context: HookContext) -> HookOutcome:
        self.told.append(hook_input)
        self.contexts.append(context)
        await trio.sleep(self.wait_s)
        values = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return HookOutcome(event=self.event, **values)


@attrs.frozen
class FolderArchive:
    """Agents that were released, as the run folder tells of them."""

    folder: Path

    async def load(self, agent_id: str) -> tuple[Mapping[str, Any], Loaded]:
        await trio.lowlevel.checkpoint()
        path = self.folder / "transcripts" / f"agent-{agent_id}.jsonl"
        if not path.is_file():
            raise UsageError(f"{self.folder.name} has no conversation of an agent {agent_id!r}")
        record = (self.folder / record_path(agent_id)).read_text().splitlines()[-1]
        return json.loads(record), load_conversation(path)


def opener(journal: Journal, cwd: Path, ports: Ports) -> Callable[[str], Transcript]:
    """Return what makes transcripts: `main.jsonl` for the first agent, `agent-<id>.jsonl` for the others."""
    opened: list[str] = []

    def open_one(agent_id: str) -> Transcript:
        name = f"agent-{agent_id}" if opened else "main"
        header = TranscriptHeader(
            session_id=journal.folder.name, agent_id=agent_id, is_sidechain=bool(opened), cwd=str(cwd), version="0"
        )
        opened.append(agent_id)
        path = journal.folder / "transcripts" / f"{name}.jsonl"
        return Transcript(path, header, write=journal.write_before, ids=ports.ids, wall=ports.clock.wall)

    return open_one


def policy_of(folder: Path, mode: str, lists: Mapping[str, Sequence[str]], own: Iterable[Tool]) -> Policy:
    """Return a policy with rules by their effects; tools of the program's own run."""
    texts = [(text, Effect(effect)) for effect, listed in lists.items() for text in listed]
    rules = [
        parse_rule(text, effect, PROGRAM)[0] for text, effect in [*texts, *((tool.name, Effect.ALLOW) for tool in own)]
    ]
    kept: list[Rule] = [rule for rule in rules if rule is not None]
    return Policy(mode=parse_mode(mode), rules=tuple(kept), home=str(folder))


@asynccontextmanager
async def open_crew(
    folder: Path,
    main: Page,
    *,
    pages: Mapping[str, Page] | None = None,
    wait_s: float = 1.0,
    tools: tuple[Tool, ...] = (),
    delegation: DelegationSettings | Mapping[str, Any] | None = None,
    definition: AgentDefinition = MAIN,
    agents: Mapping[str, Any] | None = None,
    mode: str = "bypassPermissions",
    rules: Mapping[str, Sequence[str]] | None = None,
    child_permission: ChildPermission = "definition",
    hooks: Any = None,
    ports: Ports | None = None,
    around: Callable[[Model], Model] = lambda model: model,
    events: Iterable[type[Event]] = (),
    folds: Iterable[Any] = (),
    **services: Any,
) -> AsyncIterator[Crew]:
    """Open a crew in virtual time; children are played by `pages`, and report what they were asked otherwise.

    Args:
        events: Events that its journal may hold beside those of agents.
        folds: Folds of these.
        services: Values of `AgentServices`.
    """
    book = {"general-purpose": echo, "Explore": echo, "Plan": echo, **(pages or {}), "main": main}
    model = around(PlaybookModel(book, wait_s=wait_s))
    (folder / "project").mkdir(exist_ok=True)
    settings = delegation if isinstance(delegation, DelegationSettings) else DelegationSettings(**(delegation or {}))
    async with (
        model.open(),
        _open_bare(folder, ports or virtual_ports(), (*EVENTS, *events), settings, model, services) as bare,
    ):
        crew = Crew(
            **bare,
            definitions=load_definitions(None, more=agents),
            settings=settings,
            hooks=hooks,
            child_permission=child_permission,
            policy=policy_of(folder, mode, rules or {}, tools),
            folds=(*FOLDS, *folds),
            tools=(*STANDARD_TOOLS, *tools),
        )
        await _start(crew, definition)
        try:
            yield crew
        finally:
            crew.pool.close()
    await crew.pool.entered_worktrees.close()


@asynccontextmanager
async def _open_bare(
    folder: Path,
    ports: Ports,
    events: tuple[type[Event], ...],
    settings: DelegationSettings,
    model: Model,
    services: Mapping[str, Any],
) -> AsyncIterator[dict[str, Any]]:
    """Open what a crew works with, by the names of its fields."""
    cwd, runs = folder / "project", folder / "runs"
    runs.mkdir(exist_ok=True)
    async with (
        open_journal(runs / f"crew-{len(list(runs.iterdir()))}", ports=ports, catalog=events) as journal,
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=journal.folder / "tasks", mark="crew"
        ) as processes,
        open_tasks(
            watch=partial(record_task, journal.recorder),
            note_new=partial(record_new, journal.recorder),
            note_settled=partial(record_settled, journal.recorder),
            note_undelivered=partial(record_undelivered, journal.recorder),
            release_s=settings.release_s,
            is_on=settings.background,
        ) as table,
        open_runtime(ports=ports, recorder=journal.recorder, check_open=journal.check_open) as runtime,
    ):
        branch = await runtime.spawn_supervisor("session", SupervisorSpec())
        together = SupervisorSpec(stop_order=StopOrder.TOGETHER)
        shared = AgentServices(
            model=model,
            cwd=cwd,
            roots=(cwd,),
            blocking=ports.blocking,
            session_id=journal.folder.name,
            open_transcript=opener(journal, cwd, ports),
            wait_durable=journal.commit,
            wait_recorded=journal.commit,
            processes=processes,
            background=table,
            **{"auto": AutoMode(AutoModeSettings(), model=""), **services},
        )
        yield {
            "runtime": runtime,
            "branch": branch,
            "background": await branch.spawn_supervisor("background", together),
            "journal": journal,
            "ports": ports,
            "tasks": table,
            "events": events,
            "services": shared,
        }


async def _start(crew: Crew, definition: AgentDefinition) -> None:
    """Make the pool and its tools, and start the main agent."""
    journal, ports = crew.journal, crew.ports
    crew.pool = SubagentPool(
        tasks=crew.tasks,
        open_branch=crew.open_branch,
        ground=crew,
        main=crew.main,
        settings=crew.settings,
        ports=ports,
        run_folder=journal.folder,
        write=journal.write_before,
        worktrees=Worktrees(WorktreeSettings(), ports=ports, record=crew.record),
        record=crew.record,
        wait_durable=journal.commit,
    )
    crew.post = Post(crew.pool, FolderArchive(journal.folder))
    moves, find = crew.pool.entered_worktrees, crew.pool.find_home
    crew.tools += (
        AgentTool(pool=crew.pool, definitions=crew.definitions, wait_durable=crew.wait_durable),
        make_send_message(crew.post, journal.commit),
        EnterWorktree(entered_worktrees=moves, find_home=find),
        ExitWorktree(entered_worktrees=moves, find_home=find),
    )
    home = crew.make_home(definition, crew.policy)
    ref: Ref[Any] = await crew.branch.spawn(Agent, home, name="main", spec=agent_spec(Restart.TRANSIENT))
    crew.adopt(ref, home)
    crew.main.begin(ref, home)


# --- looking ---------------------------------------------------------------------------------------------------------


def main_messages(crew: Crew) -> list[str]:
    """Return what main's conversation holds, a text for each message."""
    return message_texts(crew.main.home)


def notices(crew: Crew) -> list[str]:
    """Return the notices that main has read."""
    return notices_in(main_messages(crew))


def told(crew: Crew, wanted: type[E]) -> list[E]:
    """Return the events of a class that the recorder holds."""
    events = [event_of(record) for record in crew.journal.recorder.latest() if record[2] is wanted]
    return [event for event in events if isinstance(event, wanted)]


def violations(crew: Crew) -> list[str]:
    """Return what is wrong with the journal of a crew that has ended."""
    journal = read_journal(crew.run_folder / JOURNAL, crew.events)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=crew.folds)]


def structured(crew: Crew) -> list[dict[str, Any]]:
    """Return what programs read of main's calls, in order."""
    lines = (crew.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    return [line["toolUseResult"] for line in map(json.loads, lines) if "toolUseResult" in line]


async def ended(subagent: Subagent) -> Task:
    """Return the latest run of an agent when what it leaves was looked after."""
    await subagent.task.wait_settled()
    return subagent.task
