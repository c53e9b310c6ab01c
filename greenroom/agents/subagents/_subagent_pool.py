"""The sub-agents of a session: start, lookup, resume, end, report, release.

An agent is refused before its worktree, task and name exist. Its record, actor and first message are made in one step.
Killing an agent kills its descendants; an agent that ends by itself leaves them running. The end of a run is reported to
the agent that asked for it, else to its nearest living ancestor, else to the main agent.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import EDGE_TO, Down, Ref, State
from greenroom.agents._conversation import Appended
from greenroom.agents._conversation_loader import Loaded
from greenroom.agents._inputs import Note
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.delegation._routing import SpawnRefused
from greenroom.agents.subagents._child_actor import child_kind, child_spec
from greenroom.agents.subagents._delegation_settings import DelegationSettings
from greenroom.agents.subagents._entered_worktrees import EnteredWorktrees
from greenroom.agents.subagents._fork import directive
from greenroom.agents.subagents._handoff_reviews import AfterCare, HandoffReviews
from greenroom.agents.subagents._main_agent import MainAgent
from greenroom.agents.subagents._notice_router import NoticeRouter
from greenroom.agents.subagents._reports import readable, report_of, with_denials, words_of
from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentHost, lineage_of
from greenroom.agents.subagents._start_queue import StartQueue
from greenroom.agents.subagents._subagent import Subagent, SubagentNames, describe_run
from greenroom.agents.subagents._subagent_worktrees import SubagentWorktrees
from greenroom.core import Cause, Event, JournalError, Stopping, actor_id
from greenroom.core.ports import Ports
from greenroom.core.texts import escape_text, message_of
from greenroom.supervisor import Supervisor
from greenroom.tasks import COMMANDS, NoticeMode, Task, TaskNotice, Tasks, TaskUsage
from greenroom.worktrees import Hold, Worktrees

SEND_MESSAGE: Final = "SendMessage"


@final
class SubagentPool:
    """All agents of a session that were started by another agent or by the host, except teammates.

    Args:
        tasks: The table of tasks.
        open_branch: Returns the supervisor that they live under.
        ground: Makes their records and finds other agents.
        main: The main agent.
        settings: The limits, and the length of reports.
        run_folder: The folder for outputs and transcripts.
        write: Appends to a file of the run folder, in order with the journal.
        worktrees: Makes checkouts; None where the session starts no programs.
        record: Records an event and returns when it is durable.
        wait_durable: Returns when everything recorded so far is durable.
    """

    def __init__(
        self,
        *,
        tasks: Tasks,
        open_branch: Callable[[], Awaitable[Supervisor]],
        ground: SubagentHost,
        main: MainAgent,
        settings: DelegationSettings,
        ports: Ports,
        run_folder: Path,
        write: Callable[[Path, bytes], None],
        worktrees: Worktrees | None,
        record: Callable[[Event], Awaitable[None]],
        wait_durable: Callable[[], Awaitable[None]],
    ) -> None:
        self.tasks = tasks
        self.ground = ground
        self.settings = settings
        self.entered_worktrees = EnteredWorktrees(
            worktrees=worktrees, tasks=tasks, record=record, others=ground.living, on_move=self._note_move
        )
        """The worktrees that agents have entered."""
        self.worktrees = SubagentWorktrees(worktrees, self.entered_worktrees)
        self.subagents: dict[str, Subagent] = {}
        self.names = SubagentNames()
        self.spawned = 0
        self._main = main
        self._open_branch = open_branch
        self._ids = ports.ids
        self._outputs = run_folder / "tasks"
        self._run_folder = run_folder
        self._write = write
        self._branch: Supervisor | None = None
        self._resuming: set[str] = set()
        self._queue = StartQueue(
            max_running=settings.max_running,
            launch=lambda subagent: self.launch(subagent, Note(subagent.first)),
            fail=self._fail_to_start,
            run_aside=tasks.beside,
            wait_durable=wait_durable,
        )
        self._router = NoticeRouter(tasks, ground, self.subagents, main)
        self._reviews = HandoffReviews(self.find_home)
        tasks.join(self, deliver=self.deliver, report=self._router.report)

    def __repr__(self) -> str:
        return f"<SubagentPool: {self.running} of {len(self.subagents)} run>"

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def main(self) -> Ref[Any] | None:
        """The main agent's address; None before it has started."""
        return None if self._main.started is None else self._main.started[0]

    @property
    def main_home(self) -> AgentState | None:
        """The main agent's record; None before it has started."""
        return self._main.home

    @property
    def running(self) -> int:
        """The number of agents that run or are being started."""
        return self._queue.taken

    def id_of(self, agent: str) -> str:
        """Return the id of the agent that has a name now; of an id, that id."""
        return self.names.id_of(agent)

    def find_home(self, agent_id: str) -> AgentState | None:
        """Return the state of an agent of the session, teammates included; None if it is not in memory."""
        found = self.home_of(agent_id)
        if found is None:
            other = self.ground.find(agent_id)
            return None if other is None else other[1]
        return found

    def home_of(self, agent_id: str) -> AgentState | None:
        """Return the state of a sub-agent or of the main agent; None if it is not in memory."""
        if self.main is not None and agent_id == self.main.id:
            return self.main_home
        subagent = self.subagents.get(agent_id)
        return None if subagent is None else subagent.home

    def descendants(self, agent_id: str) -> list[Subagent]:
        """Return the descendants of an agent that are in memory."""
        return [subagent for subagent in self.subagents.values() if agent_id in subagent.lineage.above]

    @property
    def is_quiet(self) -> bool:
        """True if no agent runs, and the end of each has been reported."""
        return self._queue.is_idle and all(subagent.task.is_settled for subagent in self.subagents.values())

    # --- starting --------------------------------------------------------------------------------------------------

    async def start(self, order: SpawnOrder) -> Subagent:
        """Start an agent, and return when it is registered; there is no checkpoint after that.

        If cancelled before, nothing is left.

        Raises:
            UsageError: Its definition cannot be used.
            ToolError: Its worktree cannot be created.
            JournalError: Nothing new may begin.
            Stopping: The session ends.
        """
        # An agent that may wait takes a place when it is launched; those of the runtime take none.
        hold = None
        try:
            with self._queue.starting(takes_place=not (order.waits or order.is_service)):
                self._branch = await self._open_branch()
                agent_id = actor_id(self._ids)
                home = order.home(lineage_of(order, self.main))
                home.replace(id=agent_id)
                await home.ports.admit(home)
                above = self.subagents.get(order.caller_id)
                if order.in_worktree:
                    hold = await self.worktrees.open(agent_id, home)
                else:
                    hold = self.worktrees.share(home, order.caller or self.main_home, above)
                subagent = self._begin(agent_id, order, home, hold)
                hold = None
        finally:
            if hold is not None:
                with trio.CancelScope(shield=True):  # bounded by git's own limit
                    await hold.release()
        return subagent

    def _begin(self, agent_id: str, order: SpawnOrder, home: AgentState, hold: Hold | None) -> Subagent:
        """Register an agent and launch it, or append it to those that wait for a place, in one step."""
        if self._queue.is_closed:
            raise Stopping("session")
        if order.caller is not None:
            self.free_name(order.name)
        task = self._open_task(agent_id, order, home)
        subagent = Subagent(id=agent_id, order=order, lineage=home.profile.lineage, task=task, home=home, hold=hold)
        self.subagents[agent_id] = subagent
        text = order.prompt if order.caller is None else escape_text(order.prompt)
        if order.is_fork:
            place, parent = (
                (str(home.profile.place), str(order.caller.cwd)) if order.in_worktree and order.caller else ("", "")
            )
            text = directive(text, place=place, parent=parent)
        if order.waits and self._queue.is_full:
            self._queue.add(subagent)
            subagent.set_first(text)
        else:
            self._launch_or_drop(subagent, Note(text))
        self.spawned += not order.is_service
        if order.name and order.is_background:
            self.take_name(subagent)
        return subagent

    def _open_task(
        self, agent_id: str, order: SpawnOrder, home: AgentState, *, run: int = 1, recoveries: int = 0
    ) -> Task:
        """Register a run in the table."""
        info = describe_run(agent_id, order, home, run=run, outputs=self._outputs, recoveries=recoveries)
        kill = partial(self._kill_actor, agent_id)
        task = self.tasks.open(info, is_background=order.is_background, kill=kill)
        home.begin_run(task, stall_s=self.settings.stall_s or math.inf)
        if order.is_silent:
            task.notice_mode = NoticeMode.NEVER
        return task

    def free_name(self, name: str) -> str:
        """Return a name for a new agent.

        Raises:
            SpawnRefused: A running agent has it.
        """
        holder = self.subagents.get(self.id_of(name)) if name in self.names else None
        if holder is not None and holder.is_running:
            why = f"the agent {holder.id} is called {name!r} and runs; choose another name, or send it a message"
            raise SpawnRefused("name_taken", why)
        return name

    def take_name(self, subagent: Subagent) -> None:
        """Register an agent under its name."""
        self.names.add(subagent.order.name, subagent.id)

    def launch(self, subagent: Subagent, first: Note) -> None:
        """Start the actor of a run with its first message, in one step.

        Raises:
            Stopping: The session ends.
            JournalError: Nothing new may begin.
        """
        branch = self._branch
        assert branch is not None
        run = subagent.task.info.run
        subagent.write_record(self._run_folder, self._write)
        cell = branch.start(
            child_kind(subagent.home),
            subagent.home,
            run == 1,
            partial(self._ready, subagent, subagent.task),
            partial(self._write_output, subagent),
            spec=child_spec(subagent.id if run == 1 else None),
        )
        ref = subagent.set_actor(Ref(cell))
        if not subagent.order.is_service:
            self._queue.occupy()
        ref.tell(first, size_bytes=len(first.text))
        self.ground.adopt(ref, subagent.home)
        ref.watch(partial(self._ended, subagent, subagent.task))

    def _ready(self, subagent: Subagent, task: Task) -> None:
        """Mark a run as begun, and remind the agent of the others that it can write to."""
        home = subagent.home
        if task.info.run == 1 and not subagent.order.is_fork and SEND_MESSAGE in home.profile.tools:
            named = [each.order.name for each in self.subagents.values() if each.order.name and each is not subagent]
            listed = ", ".join(["`main`", *(f"`{name}`" for name in dict.fromkeys(named))])
            home.pending.remind(f"With {SEND_MESSAGE} you reach other agents of this session: {listed}.")
        self.tasks.begin(task)

    def _launch_or_drop(self, subagent: Subagent, first: Note) -> None:
        """Launch an agent; if that fails, its task ends before it has begun, and only the caller is notified."""
        try:
            self.launch(subagent, first)
        except BaseException:
            subagent.task.notice_mode = NoticeMode.NEVER
            if subagent.task.info.run == 1:  # `start` releases its worktree
                subagent.take_hold()
            self._settle(subagent, subagent.task, State.KILLED)
            raise

    # --- resuming --------------------------------------------------------------------------------------------------

    def claim(self, agent_id: str) -> bool:
        """Claim an agent that is about to be resumed; return False if it is already claimed."""
        if agent_id in self._resuming:
            return False
        self._resuming.add(agent_id)
        return True

    def release_claim(self, agent_id: str) -> None:
        """Release the claim."""
        self._resuming.discard(agent_id)

    def restore(self, agent_id: str, order: SpawnOrder, lineage: Lineage, loaded: Loaded, *, run: int) -> Subagent:
        """Load an agent whose last run has ended back into memory."""
        home = order.home(lineage)
        home.replace(id=agent_id, lineage=lineage)
        home.start_from(loaded)
        task = self.tasks.recall(describe_run(agent_id, order, home, run=run, outputs=self._outputs))
        self.tasks.release_later(task)  # unless it is resumed
        home.begin_run(task)
        subagent = Subagent(id=agent_id, order=order, lineage=lineage, task=task, home=home)
        self.subagents[agent_id] = subagent
        return subagent

    async def prepare_run(self, subagent: Subagent) -> None:
        """Wait until another run of an agent can begin.

        Raises:
            ToolError: Its worktree is gone, or used by others.
            Stopping: The session ends.
        """
        self._branch = await self._open_branch()
        await self.worktrees.reopen(subagent)

    def start_run(self, subagent: Subagent, first: Note, *, owner: str, recoveries: int = 0) -> None:
        """Start another run of an agent in the background, after `prepare_run`; it takes a place even if none is free.

        Raises:
            Stopping: The session ends.
            JournalError: Nothing new may begin.
        """
        order = attrs.evolve(subagent.order, is_background=True, is_silent=not owner, owner=owner, call="", tell=None)
        number = subagent.task.info.run + 1
        subagent.begin_run(order, self._open_task(subagent.id, order, subagent.home, run=number, recoveries=recoveries))
        self._launch_or_drop(subagent, first)

    # --- ending ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the reviews, and the agents that wait for a place, because the session ends."""
        self._reviews.close()
        for subagent in self._queue.close():
            subagent.task.kill(Cause("session", "the session ends"))

    def _kill_actor(self, agent_id: str, cause: Cause) -> None:
        subagent = self.subagents[agent_id]
        if subagent.ref is None:  # it waits for a place
            self._queue.remove(subagent)
            self._settle(subagent, subagent.task, State.KILLED)
        else:
            subagent.ref.kill(cause.why)

    def _ended(self, subagent: Subagent, task: Task, down: Down) -> None:
        if task.cause is None and down.state is State.KILLED:
            task.cause = subagent.home.run.ended_by or down.cause
        if down.state is State.FAILED:
            task.error = words_of(down.error)
        if not subagent.order.is_service:
            self._queue.vacate()
        try:
            self._settle(subagent, task, down.state)
        except Exception:  # its report failed, but it no longer runs
            if not task.is_finished:
                self.tasks.end(task, EDGE_TO[down.state])
            raise

    def _settle(self, subagent: Subagent, task: Task, state: State) -> None:
        home, progress = subagent.home, task.progress
        assert progress is not None
        task.result = with_denials(self.report_of(home.last_text, task.info.output_file), home.run.denials)
        task.ended_s = trio.current_time()
        task.usage = TaskUsage(
            total_tokens=progress.token_count,
            tool_uses=progress.tool_use_count,
            duration_ms=home.services.reading("took", task.info.id, task.duration_ms),
        )
        home.end_run()
        if state is State.KILLED:
            for child in self.descendants(subagent.id):
                child.task.kill(Cause(subagent.id, "the agent that it was started for was stopped"))
        self._end_shells(subagent, task, state)
        with suppress(JournalError):  # a full disk must not hold up an end
            subagent.write_record(self._run_folder, self._write)
        self._append_output(task, f"\n[{state.value}{f': {task.error}' if task.error else ''}]\n")
        review = self._reviews.begin(subagent, task, state)
        is_looked_after = review is not None or subagent.hold is not None or home.worktree is not None
        after_care = partial(self._look_after, subagent, task, review) if is_looked_after else None
        self.tasks.end(task, EDGE_TO[state], after_care)
        self._router.forward(home)
        self._queue.start_next()

    def report_of(self, text: str, output_file: Path) -> str:
        """Return the report of a run, made of its last text."""
        return report_of(text, output_file, limit=self.settings.report_chars)

    def _end_shells(self, subagent: Subagent, task: Task, state: State) -> None:
        """End the commands that an agent left running, or limit their time."""
        for shell in self.tasks.running(subagent.id):
            if shell.info.kind not in COMMANDS:
                continue
            if state is State.KILLED or not task.is_background:
                shell.kill(Cause(subagent.id, "the agent that started it has ended"))
            else:
                self.tasks.limit(shell, self.settings.shell_max_s)

    def _fail_to_start(self, subagent: Subagent, error: Exception) -> None:
        subagent.task.error = message_of(error)
        self._settle(subagent, subagent.task, State.FAILED)

    async def _look_after(self, subagent: Subagent, task: Task, review: AfterCare | None) -> None:
        if review is not None:
            await review()
        await self.worktrees.release(subagent, task)
        with suppress(JournalError):
            subagent.write_record(self._run_folder, self._write)

    def release(self, task: Task) -> bool:
        """Release an agent from memory; it is on disk. Return False if it is about to be resumed."""
        subagent = self.subagents.get(task.info.id)
        if subagent is None or subagent.task is not task:
            return True
        if subagent.id in self._resuming:
            return False
        del self.subagents[subagent.id]
        self.ground.forget(subagent.home)
        self.ground.drop(subagent.id)
        return True

    # --- notices ---------------------------------------------------------------------------------------------------

    def deliver(self, notice: TaskNotice) -> None:
        """Deliver the notice of an end, in the step in which the task ended."""
        self._router.deliver(notice)

    def _note_move(self, home: AgentState) -> None:
        subagent = self.subagents.get(home.profile.id)
        if subagent is not None:
            with suppress(JournalError):  # it is written again at the end of its run
                subagent.write_record(self._run_folder, self._write)

    def _write_output(self, subagent: Subagent, appended: Appended) -> None:
        if text := readable(appended.message):
            self._append_output(subagent.task, text)

    def _append_output(self, task: Task, text: str) -> None:
        with suppress(JournalError):  # the conversation refuses too, and says so
            self._write(task.info.output_file, text.encode(errors="replace"))
