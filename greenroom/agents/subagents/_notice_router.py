"""Routing of notices about ended runs: to the agent that asked, else its nearest living ancestor, else main.

A notice is delivered in the step in which the run ended. If its reader ends without having read it, it is forwarded to
the next one. A notice without a reader is given up, which is recorded, and holds nobody up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, final

from greenroom.actors import Ref
from greenroom.agents._inputs import Note
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import latest_hooking
from greenroom.agents.subagents._main_agent import MainAgent
from greenroom.agents.subagents._spawn_orders import SubagentHost
from greenroom.agents.subagents._subagent import Subagent
from greenroom.core.texts import NO_PERSON
from greenroom.hooks.inputs import NotificationInput
from greenroom.inbox import MONITOR, TASK_NOTIFICATION
from greenroom.mailbox import Delivery, Lane
from greenroom.tasks import AGENT, EndReport, TaskNotice, TaskReport, Tasks

Reader: TypeAlias = tuple[Ref[Any], AgentState]
MAX_UNREAD: Final = 50
"""Maximum number of messages that may wait in the `later` lane of an agent that a report is delivered to."""


@final
class NoticeRouter:
    """Delivers notices.

    Args:
        tasks: The table of tasks: knows which ends were reported by an answer, and records undeliverable notices.
        ground: Finds teammates, and delivers reports to the main agent.
        subagents: The sub-agents by id.
        main: The main agent.
    """

    def __init__(
        self,
        tasks: Tasks,
        ground: SubagentHost,
        subagents: Mapping[str, Subagent],
        main: MainAgent,
    ) -> None:
        self._tasks = tasks
        self._main = main
        self._ground = ground
        self._subagents = subagents

    def deliver(self, notice: TaskNotice) -> None:
        """Deliver a notice to its reader."""
        ended = self._subagents.get(notice.task_id)
        if ended is not None and ended.order.tell is not None and ended.order.tell(ended.task):
            return
        for ref, home in self._living(notice.task_id, notice.owner):
            if self._hand_over(notice, ref, home):
                home.pending.add_unread(notice)
                return
        other = self._ground.find(notice.owner)  # a teammate
        if other is not None and not other[0].is_gone and self._hand_over(notice, *other):
            return
        main = self._main.started
        if main is None or not self._hand_over(notice, *main, is_main=True):
            self._tasks.give_up(notice)

    async def report(self, report: TaskReport) -> bool:
        """Deliver what a running task has printed to the reader that the notice of its end would have now.

        Returns:
            False if that reader cannot take it now: too much of it waits already.
        """
        reader = next(self._living(report.task_id, report.owner), None) or self._ground.find(report.owner)
        if reader is None or reader[0].is_gone:
            reader = self._main.started
        if reader is None:
            return False
        ref, home = reader
        text = home.services.secrets.mask(f"{NO_PERSON}\n{report.xml}")
        if not home.profile.is_child:
            return await self._ground.report_to_main(report.id, text)
        if ref.statistics().later >= MAX_UNREAD:
            return False
        return ref.tell(Note(text, is_hidden=True, origin=MONITOR), Lane.LATER) is Delivery.ACCEPTED

    def _living(self, task_id: str, owner: str) -> Iterator[Reader]:
        """Yield the sub-agents that are concerned with a task and run, the nearest first."""
        named = filter(None, map(self._subagents.get, (task_id, owner)))
        above = next((subagent.lineage.above for subagent in named), ())
        for agent_id in (owner, *above):
            subagent = self._subagents.get(agent_id)
            if subagent is not None and subagent.is_running and subagent.ref is not None:
                yield subagent.ref, subagent.home

    def _hand_over(self, notice: TaskNotice, ref: Ref[Any], home: AgentState, *, is_main: bool = False) -> bool:
        task = self._tasks.find(notice.task_id)
        note = Note(
            f"{NO_PERSON}\n{notice.xml}",
            is_hidden=True,
            notice=notice.id,
            status=notice.status,
            origin=TASK_NOTIFICATION,
            is_answered=None if task is None else lambda: task.report is EndReport.ANSWER,
        )
        if not notice.wakes:
            is_taken = not ref.is_gone
            if is_taken:
                home.pending.add_quiet(note)
        elif is_main:  # its mailbox may be full of notices, and none of them may be lost
            is_taken = ref.notify(note) is Delivery.ACCEPTED
        else:
            is_taken = ref.tell(note, Lane.LATER) is Delivery.ACCEPTED
        hooking = latest_hooking(home)
        if (
            is_taken
            and not (home.is_closing or home.profile.is_child)
            and hooking is not None
            and task is not None
            and task.info.kind == AGENT
        ):
            hooking.tell(NotificationInput(message=notice.summary, notification_type="agent_completed"))
        return is_taken

    def forward(self, home: AgentState) -> None:
        """Deliver the unread notices of an agent whose run has ended to somebody else."""
        for notice in home.pending.take_unread():
            task = self._tasks.find(notice.task_id)
            if task is None or task.info.run != notice.run or task.report is not EndReport.ANSWER:
                self.deliver(notice)
