"""Teams whose lead is the main agent of a crew: mates with real conversations, mail and a board, without a session."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.actors import EDGE_TO, Down, State
from greenroom.agents import AgentState, Lineage, load_conversation
from greenroom.agents.subagents import SubagentSpec, make_send_message, words_of
from greenroom.core import Cause, JournalError
from greenroom.permissions import Mode, Refusals
from greenroom.supervisor import StopOrder, SupervisorSpec
from greenroom.tasks import TEAMMATE, NoticeMode, Task, TaskInfo
from greenroom.teams import EVENTS, FOLDS, Member, MemberStatus, Team, TeamClosed, TeammateSpec, TeamRecord, make_team
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import Tool
from tests.agents.crews import Crew, is_at_rest, open_crew
from tests.agents.pages import in_order, texts_of
from tests.trace.disks import FillingDisk

open_lead = partial(open_crew, events=EVENTS, folds=FOLDS)
"""Open a crew whose journal may tell of teams."""


@attrs.define(eq=False)
class Mates:
    """The port of a team: makes mates as a crew makes its agents, and ends what they have started with them."""

    crew: Crew
    send_message: Tool
    _ended: dict[str, str] = attrs.field(factory=dict)
    """Ids of the agents of mates that have ended, by those of their tasks."""
    team: Team | None = None

    async def make_teammate(self, wish: TeammateSpec) -> AgentState:
        crew, lead = self.crew, self.crew.home
        definition = wish.definition
        if isinstance(definition, str):
            definition = (await crew.find_definitions()).find(definition)
        if definition.tools is not None and "*" not in definition.tools:
            given = [tool.name for tool in (*wish.tools, self.send_message)]
            definition = attrs.evolve(definition, tools=(*definition.tools, *given))
        assert lead.profile.policy is not None
        mode = Mode.PLAN if wish.is_plan_required else lead.profile.policy.mode
        above = crew.main.ref.id
        home = crew.make_home(
            definition,
            lead.profile.policy.for_child(mode, agent=definition.name)[0].with_mode(mode),
            (*wish.tools, self.send_message),
            wish=SubagentSpec(
                definition=definition,
                parent=lead,
                lineage=Lineage(parent=above, above=(above,)),
                model=wish.model,
                is_background=False,
                is_teammate=True,
                is_planning=wish.is_plan_required,
            ),
        )
        home.replace(label=wish.name, must_plan=wish.is_plan_required)
        if wish.former is not None:
            home.replace(id=wish.former.agent)
            with suppress(FileNotFoundError):  # it had not said anything
                path = crew.run_folder / "transcripts" / f"agent-{wish.former.agent}.jsonl"
                path.stat()
                home.start_from(load_conversation(path))
        return home

    async def write_plan(self, agent: str, number: int, plan: str) -> Path:
        path = self.crew.run_folder / "plans" / f"{agent}-{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(plan)
        return path

    async def read_plan(self, name: str) -> tuple[Path, str]:
        path = self.crew.run_folder / "plans" / Path(name).name
        return path, path.read_text() if path.exists() else ""

    def adopt(self, member: Member) -> None:
        home, ref = member.home, member.ref
        self.crew.adopt(ref, home)
        output = self.crew.run_folder / "tasks" / f"{home.profile.id}.output"
        info = TaskInfo(
            id=member.id, kind=TEAMMATE, description=member.name, owner="", output_file=output, run=member.run
        )
        task = self.crew.tasks.open(info, is_background=True, kill=lambda cause: ref.kill(cause.why))
        task.notice_mode = NoticeMode.NEVER
        home.begin_run(task)
        self.crew.tasks.begin(task)

    def discard(self, member: Member, down: Down) -> None:
        tasks, agent = self.crew.tasks, member.home.profile.id
        cause = Cause(member.id, "the teammate that started it has ended")
        for started in [*(below.task for below in self.crew.pool.descendants(agent)), *tasks.running(agent)]:
            started.kill(cause)
        task = tasks.find(member.id)
        if task is not None and not task.is_finished:
            task.cause = task.cause or down.cause
            if down.state is State.FAILED:
                task.error = words_of(down.error)
            tasks.end(task, EDGE_TO[down.state])
        member.home.end_run()
        self._ended[member.id] = agent

    def release(self, task: Task) -> bool:
        self.crew.drop(self._ended.pop(task.info.id, ""))
        return True

    def id_of(self, name: str) -> str:
        """Return the task of a mate by its name."""
        member = None if self.team is None else self.team.roster.find(name)
        return "" if member is None or member.is_lead else member.id

    def works(self) -> bool:
        """True if a mate works, or an item waits for one that is idle."""
        team = self.team
        return team is not None and (
            not is_at_rest(team.board.ref)
            or any(mate.status is MemberStatus.WORKING or not is_at_rest(mate.ref) for mate in team.roster.teammates)
            or team.has_work_to_hand_out
            or team.shutdowns.is_ending
        )


@asynccontextmanager
async def open_team(
    crew: Crew, name: str = "t", *, strategy: str = "one_for_one", record: TeamRecord | None = None, **settings: Any
) -> AsyncIterator[Team]:
    """Open a team, and end its mates side by side when the block ends."""
    mates = Mates(crew, make_send_message(crew.post, crew.journal.commit, has_team=True))
    crew.tasks.join(mates)
    crew.has_work.append(mates.works)
    spec = SupervisorSpec(strategy=strategy, intensity=1_000_000, stop_order=StopOrder.TOGETHER, stop_budget_s=20.0)
    supervisor = await crew.branch.spawn_supervisor(name, spec)
    team, tools = await make_team(
        name,
        supervisor=supervisor,
        lead=crew.main.ref,
        lead_home=crew.home,
        ground=mates,
        check_open=crew.journal.check_open,
        wait_durable=crew.journal.commit,
        wall=crew.ports.clock.wall,
        record=record,
        **settings,
    )
    mates.team = team
    crew.post.team = team.mail
    crew.home.replace(refusals=Refusals())
    crew.equip(crew.home, (*tools, mates.send_message))
    try:
        yield team
    finally:
        crew.post.team = None
        crew.home.replace(refusals=None)
        crew.equip(crew.home)
        team.mail.is_closing = True
        supervisor.ref.stop(why="the team was closed")
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
            await supervisor.ref.wait_ended()
        team.roster.emit(TeamClosed(actor="", team=name, is_deleted=False))
        mates.team = None


async def send_as(member: Member, to: str, message: object, **more: Any) -> Mapping[str, Any]:
    """Send a message as if a member's model had called the tool; returns what programs read of the result.

    Raises:
        ToolError: It was not sent.
    """
    context = member.home.tool_context().for_call("by-hand")
    await member.home.profile.tools["SendMessage"].call({"to": to, "message": message, **more}, context)
    return member.home.workspace.attachments.pop("by-hand")


def member(team: Team, name: str) -> Any:
    """Return a member by its name."""
    return team.roster.members[name]


def mail_texts(team: Team, name: str) -> list[str]:
    """Return what others said to a member that stands in its conversation; that they have nothing to do is left out."""
    return [text for text in notices_of(team, name) if "idle_notification" not in text]


def notices_of(team: Team, name: str) -> list[str]:
    """Return all that a member was told by others, or of them."""
    return [text for text in texts_of(member(team, name).home) if text.startswith("<teammate-message")]


@asynccontextmanager
async def open_on_filling_disk(folder: Path) -> AsyncIterator[tuple[Crew, Team, FillingDisk]]:
    """Open a crew and a team on a disk that the test fills; the error of the journal is expected in the end."""
    disk = FillingDisk()
    with pytest.raises(JournalError):
        async with (
            open_lead(
                folder, in_order(), pages={"ann": in_order()}, ports=attrs.evolve(virtual_ports(), disk=disk)
            ) as crew,
            open_team(crew, "t") as team,
        ):
            yield crew, team, disk


def play_by_choices(play: Callable[[Path], Awaitable[None]], choices: Sequence[int]) -> None:
    """Run something in a folder of its own, in virtual time and under a schedule."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            await play(Path(folder))

    run_virtual(run, choices=choices)
