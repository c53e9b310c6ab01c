"""Who hears of the end of a run: whoever asked for it, else the nearest living ancestor, at last main (DESIGN 12.19).

Rule 1: a notice is handed over in the step in which the run ended. Rule 2: what an agent was told and has not read when its
own run ends goes on to the next one that it is for. Rule 3: a notice that nobody takes is given up, and that is on record; it
holds nobody up. Must not know: how runs end, what notices say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, final

from greenroom.actors import Ref
from greenroom.agents._inputs import Note
from greenroom.agents._services import AgentHome
from greenroom.agents.crew._orders import Ground, Member
from greenroom.core import NO_PERSON
from greenroom.hooks.inputs import NotificationInput
from greenroom.inbox import TASK_NOTIFICATION
from greenroom.mailbox import Delivery, Lane
from greenroom.tasks import AGENT, TaskNotice, Tasks

Reader: TypeAlias = tuple[Ref[Any], AgentHome]


@final
class Telling:
    """Hands notices over.

    Args:
        tasks: Says whose end was told meanwhile by an answer, and notes what nobody could be told of.
        ground: Finds teammates.
        members: The crew.
    """

    def __init__(self, tasks: Tasks, ground: Ground, members: Mapping[str, Member]) -> None:
        self._tasks = tasks
        self._ground = ground
        self._members = members

    def deliver(self, notice: TaskNotice, main: Reader | None) -> None:
        """Hand a notice to whoever is to be told."""
        ended = self._members.get(notice.task_id)
        if ended is not None and ended.order.tell is not None and ended.order.tell(ended.task):
            return
        for agent_id in (notice.owner, *self._above(notice)):
            member = self._members.get(agent_id)
            if member is None or not member.is_running or member.ref is None:
                continue
            if self._hand_over(notice, member.ref, member.home):
                member.home.unread[notice.id] = notice
                return
        other = self._ground.find(notice.owner)  # a teammate
        if other is not None and not other[0].is_gone and self._hand_over(notice, *other):
            return
        if main is None or not self._hand_over(notice, *main, is_main=True):
            self._tasks.give_up(notice)

    def _above(self, notice: TaskNotice) -> tuple[str, ...]:
        for agent_id in (notice.task_id, notice.owner):
            member = self._members.get(agent_id)
            if member is not None:
                return member.lineage.above
        return ()

    def _hand_over(self, notice: TaskNotice, ref: Ref[Any], home: AgentHome, *, is_main: bool = False) -> bool:
        task = self._tasks.find(notice.task_id)
        note = Note(
            f"{NO_PERSON}\n{notice.xml}",
            is_hidden=True,
            notice=notice.id,
            status=notice.status,
            origin=TASK_NOTIFICATION,
            is_answered=None if task is None else lambda: task.is_answered,
        )
        if not notice.wakes:
            is_taken = not ref.is_gone
            if is_taken:
                home.quiet = (*home.quiet, note)
        elif is_main:  # its mailbox may be full of notices, and none of them may be lost
            is_taken = ref.notify(note) is Delivery.ACCEPTED
        else:
            is_taken = ref.tell(note, Lane.LATER) is Delivery.ACCEPTED
        if is_taken and not home.is_child and home.hooking is not None and task is not None and task.info.kind == AGENT:
            home.hooking.tell(NotificationInput(message=notice.summary, notification_type="agent_completed"))
        return is_taken

    def pass_on(self, home: AgentHome, main: Reader | None) -> None:
        """Tell somebody else what an agent was told of others and has not read, because its run has ended."""
        unread, home.unread = home.unread, {}
        for notice in unread.values():
            task = self._tasks.find(notice.task_id)
            is_answered = task is not None and task.info.run == notice.run and task.is_answered
            if not is_answered and (notice.wakes or any(one.notice == notice.id for one in home.quiet)):
                self.deliver(notice, main)
        home.quiet = tuple([one for one in home.quiet if one.notice not in unread])
