"""The agents of a run that work on hosts: tasks here whose work is done there.

Rule 1: the order is on record here before it is sent, and may be sent again. Rule 2: the output file here is written at the offset that it
has, so that no broken connection leaves a hole or a repetition. Rule 3: a task ends when its host says so, when its host does not know
it, when nothing was heard from the host for `unreachable_s`, or when a stop was not confirmed in time. Rule 4: what this process leaves open,
a later one of the run takes up: it follows the agents, and repeats the messages that no host has answered. Must not know: addresses, sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Edge
from greenroom.core import AskTimedOut, Cause, GreenroomError, JournalError, task_id
from greenroom.core.ports import Ids
from greenroom.models import Usage
from greenroom.models.budgets import Budget, Spent
from greenroom.remote.hosts._host_messages import (
    HOST_ACTOR,
    MAX_FOLLOW_S,
    AgentNews,
    FollowAgent,
    LaunchAgent,
    LaunchAnswer,
    ReleaseAgent,
    StopAgent,
    follower_name,
    owner_of,
)
from greenroom.remote.hosts._remote_agent import LeftRemote, RemoteAgent, RemoteOrder
from greenroom.remote.hosts._remote_questions import Answering, RemoteQuestions
from greenroom.remote.hosts._remote_record import SETTLED, TAKEN, order_line, record_line, remote_record_path
from greenroom.remote.links import Link, LinkLost, RemoteError, RemoteRef
from greenroom.tasks import LOST, REMOTE_AGENT, Progress, Task, TaskInfo, TaskReport, Tasks, TaskState, TaskUsage
from greenroom.tools import ToolError

STOP_S: Final = 10.0
"""Seconds after which a task ends although its host has not confirmed the stop."""
CLOSE_S: Final = 5.0
"""Seconds that the end of a run waits for the ends of its remote agents."""
_SPARE_S: Final = 20.0
"""Seconds that an answer may take longer than the host was asked to wait."""
UNREACHABLE: Final = "unreachable"
"""Requester of the end of a task from whose host nothing was heard."""
_FIRST_DELAY_S: Final = 0.5
_MAX_DELAY_S: Final = 10.0
_MAX_RESULT: Final = 200_000
_MAX_LATE: Final = 20_000
_EDGES: Final = {"completed": Edge.COMPLETE, "failed": Edge.FAIL, "killed": Edge.KILL}


@final
class RemoteAgents:
    """The remote agents of one run.

    Args:
        run: Id of the run.
        hosts: Names of the hosts, with that of the workspace there or an empty text; the one on which the fewest agents of this run work is chosen.
        connect: Returns the link to a host; raises `GreenroomError`.
        tasks: The tasks of the run.
        nursery: For following agents; it outlives the tasks.
        ids: Makes ids of tasks.
        key: The secret by which hosts recognize the run, unless an earlier process of it had one.
        outputs: Folder of output files.
        write: Appends to a file, in the order of the calls.
        commit: Returns when everything recorded so far is durable.
        report: Delivers a late result; returns False if nobody can take it now.
        answer: Asks people here a question of an agent.
        budget: The budget of the run, in which the usage of its remote agents counts.
        unreachable_s: Seconds without a word of its host after which a task fails.
    """

    def __init__(
        self,
        *,
        run: str,
        hosts: Mapping[str, str],
        connect: Callable[[str], Awaitable[Link]],
        tasks: Tasks,
        nursery: trio.Nursery,
        ids: Ids,
        key: str,
        outputs: Path,
        write: Callable[[Path, bytes], None],
        commit: Callable[[], Awaitable[None]],
        report: Callable[[TaskReport], Awaitable[bool]],
        answer: Answering,
        budget: Budget,
        unreachable_s: float,
    ) -> None:
        self._hosts = hosts
        self._run = run
        self._connect = connect
        self._tasks = tasks
        self._nursery = nursery
        self._ids = ids
        self._key = key
        self._outputs = outputs
        self._write = write
        self._commit = commit
        self._report = report
        self._budget = budget
        self._questions = RemoteQuestions(answer, self._ask, nursery)
        self._unreachable_s = unreachable_s
        self._agents: dict[str, RemoteAgent] = {}
        self._dead: dict[str, str] = {}
        """By the name of a host whose process has ended, how that was told."""
        self._is_closed = False

    async def launch(self, wish: RemoteOrder) -> tuple[Task, str]:
        """Start an agent on a host; return its task, and the address of what runs there.

        Raises:
            ToolError: No host can be reached, or the host refuses.
        """
        if self._is_closed:
            raise ToolError("the session ends, and starts no more agents")
        living = [host for host in self._hosts if host not in self._dead]
        if not living:
            raise ToolError(f"all hosts have died: {'; '.join(self._dead.values())}")
        host = min(living, key=self._running_on)
        remote = self._open(host, wish)
        try:
            await self._commit()
            await self._send_order(remote)
        except ToolError as error:
            self._end_silently(remote, str(error))
            raise
        except AskTimedOut:
            pass  # it may have the order: it is asked again
        except GreenroomError as error:
            if not isinstance(error, LinkLost) or error.outcome == "not_sent" or host in self._dead:
                self._end_silently(remote, str(error))
                raise ToolError(f"the host {host!r} cannot be used: {error}") from error
        except BaseException:  # cancelled: the host may have the order
            remote.task.mark_notified()
            self._nursery.start_soon(self._follow, remote)
            remote.task.kill(Cause("session", "the call that started it was cancelled"))
            raise
        remote.is_launched = True
        self._nursery.start_soon(self._follow, remote, name=f"remote agent {remote.order.task}")
        return remote.task, f"greenroom://{host}/{self._run}#{remote.order.task}"

    def restore(self, left: Sequence[LeftRemote]) -> None:
        """Take up the agents of earlier processes: those that have not ended are followed, and hosts are told the ends of others."""
        for each in left:
            record, name = each.record, each.record.order.task
            self._key = record.order.key  # all of a run have the same
            has_ended = each.state not in {TaskState.PENDING, TaskState.RUNNING}
            if has_ended:
                task = self._tasks.find(name) or self._tasks.recall(each.info, state=each.state)
            else:
                task = self._tasks.adopt(each.info, each.state, kill=partial(self._kill, name))
                task.progress = Progress()
            remote = self._agents[name] = RemoteAgent(
                host=record.host,
                task=task,
                order=record.order,
                offset=each.size,
                is_taken=record.is_taken,
                is_launched=True,
                is_stopping=record.stop is not None,
            )
            self._nursery.start_soon(self._follow, remote, name=f"remote agent {name}")
            if record.stop is not None:
                task.kill(record.stop)  # no effect on one that has ended
            remote.is_late = has_ended and each.cause == UNREACHABLE

    def lose_host(self, host: str, why: str) -> None:
        """Note that the process of a host has ended: its agents are lost at once, and no more are started there."""
        self._dead[host] = why
        for remote in list(self._agents.values()):
            if remote.host == host and remote.is_launched:
                self._end(remote, Edge.FAIL, error=why, cause=Cause(LOST, why))

    async def close(self) -> None:
        """Stop the agents that run, and wait at most `CLOSE_S` for their ends; then all tasks have ended. It is shielded."""
        self._is_closed = True
        remotes = list(self._agents.values())
        for remote in remotes:
            if not remote.task.is_finished:
                remote.task.defer_notice()
                remote.task.kill(Cause("session", "the session ends"))
        with trio.CancelScope(shield=True), trio.move_on_after(CLOSE_S):
            for remote in remotes:
                if not remote.is_late:  # its host may be away for hours
                    await remote.is_over.wait()
        for remote in remotes:
            self._end_unconfirmed(remote)

    # --- starting ------------------------------------------------------------------------------------------------------

    def _running_on(self, host: str) -> int:
        return sum(remote.host == host and not remote.task.is_finished for remote in self._agents.values())

    def _open(self, host: str, wish: RemoteOrder) -> RemoteAgent:
        name = task_id(self._ids, "r")
        order = LaunchAgent(
            run=self._run,
            key=self._key,
            task=name,
            definition=wish.definition,
            description=wish.description,
            prompt=wish.prompt,
            model=wish.model,
            workspace=self._hosts[host],
        )
        self._note_line(name, order_line(host, order))  # before its task is: one of those has an order
        info = TaskInfo(
            id=name,
            kind=REMOTE_AGENT,
            description=wish.description,
            owner=wish.owner,
            tool_use_id=wish.tool_use_id,
            output_file=self._outputs / f"{name}.output",
            agent_type=str(wish.definition.get("name", "")),
        )
        task = self._tasks.open(info, is_background=True, kill=partial(self._kill, name))
        task.progress = Progress()
        remote = self._agents[name] = RemoteAgent(host=host, task=task, order=order)
        return remote

    async def _send_order(self, remote: RemoteAgent) -> None:
        answer = await self._ask(remote.host, remote.order)
        if isinstance(answer, LaunchAnswer) and answer.refused:
            raise ToolError(f"the host {remote.host!r} refused: {answer.refused}")
        remote.is_taken = True
        self._note_line(remote.order.task, record_line(TAKEN))
        if remote.task.state is TaskState.PENDING:
            self._tasks.begin(remote.task)

    def _note_line(self, name: str, line: bytes) -> None:
        with suppress(JournalError):  # then the run ends, and nothing is recorded any more
            self._write(remote_record_path(self._outputs, name), line)

    def _end_silently(self, remote: RemoteAgent, error: str) -> None:
        """End a task whose start failed: the result of the call says so."""
        remote.task.mark_notified()
        self._note_line(remote.order.task, record_line(SETTLED))
        self._end(remote, Edge.FAIL, error=error)
        self._forget(remote)

    async def _ask(self, host: str, request: Any, *, timeout_s: float = 60.0) -> Any:
        desk = await self._find(host, HOST_ACTOR)
        if desk is None:
            raise ToolError(f"the node {host!r} is not a host")
        return await desk.ask(request, timeout_s=timeout_s)

    async def _find(self, host: str, name: str) -> RemoteRef[Any] | None:
        link = await self._connect(host)
        return await link.find(name)

    # --- following -----------------------------------------------------------------------------------------------------

    async def _follow(self, remote: RemoteAgent) -> None:
        """Ask for news until the task has ended, then tell the host so."""
        with remote.following:
            await self._take_all_news(remote)
        if remote.is_late:
            await self._report_late(remote)
        await self._settle(remote)
        self._forget(remote)

    async def _take_all_news(self, remote: RemoteAgent) -> None:
        heard_s, delay_s = trio.current_time(), _FIRST_DELAY_S
        while not remote.task.is_finished:
            try:
                await self._take_news(remote)
            except RemoteError:
                delay_s = _MAX_DELAY_S  # the host is there, and something of it fails
            except ToolError as error:
                self._end(remote, Edge.FAIL, error=str(error))
            except GreenroomError as error:
                if trio.current_time() - heard_s > self._unreachable_s:
                    why = f"nothing was heard from the host {remote.host!r} for {self._unreachable_s:g} s: {error}"
                    remote.is_late = True
                    self._end(remote, Edge.FAIL, error=why, cause=Cause(UNREACHABLE, why))
            else:
                heard_s, delay_s = trio.current_time(), _FIRST_DELAY_S
                continue
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, _MAX_DELAY_S)

    def _forget(self, remote: RemoteAgent) -> None:
        remote.is_over.set()
        del self._agents[remote.order.task]

    async def _take_news(self, remote: RemoteAgent) -> None:
        """Wait for news of an agent; send the order first if the host may not have it."""
        if remote.is_stopping and not remote.is_taken:
            await remote.task.wait_finished()
            return
        if not remote.is_taken:
            await self._send_order(remote)
        news = await self._ask_news(remote)
        if remote.task.is_finished:
            return
        if news is None:
            why = f"the host {remote.host!r} does not know it any more"
            self._end(remote, Edge.FAIL, error=why, cause=Cause(LOST, why))
        else:
            self._apply(remote, news)

    async def _ask_news(self, remote: RemoteAgent) -> AgentNews | None:
        """Wait for news of an agent, and write its output; None if the host does not know it."""
        owner = owner_of(self._run, remote.order.key)
        follower = await self._find(remote.host, follower_name(owner, remote.order.task))
        if follower is None:
            return None
        question = FollowAgent(offset=remote.offset, version=remote.version)
        news: AgentNews = await follower.ask(question, timeout_s=MAX_FOLLOW_S + _SPARE_S, cascade=True)
        if news.output:
            with suppress(JournalError):  # then the run ends, and nothing is recorded any more
                self._write(remote.task.info.output_file, news.output)
            remote.offset += len(news.output)
        remote.version = news.version
        self._questions.follow(remote, news.questions if not remote.task.is_finished else [])
        if news.calls > remote.spent.calls:
            spent = Spent(usage=Usage(*news.usage), usd=Decimal(str(news.usd)), calls=news.calls)
            self._budget.charge(spent - remote.spent)
            remote.spent = spent
        return news

    async def _wait_late(self, remote: RemoteAgent) -> AgentNews | None:
        """Return the end that comes after the task has ended because its host was away; None if the host does not know the agent, or died."""
        while remote.host not in self._dead:
            try:
                news = await self._ask_news(remote)
            except GreenroomError:
                await trio.sleep(_MAX_DELAY_S)
            else:
                if news is None or (news.state in _EDGES and remote.offset >= news.size):
                    return news
        return None

    async def _report_late(self, remote: RemoteAgent) -> None:
        """Wait for a late end, and report it."""
        news = await self._wait_late(remote)
        if news is None:
            return
        info = remote.task.info
        report = TaskReport(
            task_id=info.id,
            number=0,
            description=info.description,
            owner=info.owner,
            lines=(news.result[:_MAX_LATE] or news.error[:2_000] or news.end_reason[:1_000],),
            late_state=news.state,
        )
        while not await self._report(report):  # noqa: ASYNC110 - nobody says when there is room
            await trio.sleep(_MAX_DELAY_S)

    def _apply(self, remote: RemoteAgent, news: AgentNews) -> None:
        task = remote.task
        progress = task.progress = task.progress or Progress()
        progress.latest_input_tokens, progress.cumulative_output_tokens = news.input_tokens, news.output_tokens
        progress.tool_uses = Counter({REMOTE_AGENT: news.tool_uses})
        if news.activity and news.activity != progress.last_activity:
            progress.recent_activities = [*progress.recent_activities[-4:], news.activity[:1_000]]
        edge = _EDGES.get(news.state)
        if edge is None or remote.offset < news.size:
            return
        task.result = news.result[:_MAX_RESULT] or None
        task.usage = TaskUsage(
            total_tokens=news.input_tokens + news.output_tokens,
            tool_uses=news.tool_uses,
            duration_ms=news.duration_ms,
        )
        self._note_line(
            remote.order.task, record_line({"end": {"result": task.result or "", **attrs.asdict(task.usage)}})
        )
        cause = Cause(news.ended_by[:200], news.end_reason[:1_000]) if news.ended_by else None
        self._end(remote, edge, error=news.error[:2_000], cause=cause)

    def _end(self, remote: RemoteAgent, edge: Edge, *, error: str = "", cause: Cause | None = None) -> None:
        task = remote.task
        if task.is_finished:
            return
        if remote.is_stopping and cause is not None and cause.who == LOST:
            edge, error = Edge.KILL, ""  # as it was to be
        task.error = error
        if task.cause is None:
            task.cause = cause
        self._tasks.end(task, edge)
        self._questions.follow(remote, [])
        remote.following.cancel()

    async def _settle(self, remote: RemoteAgent) -> None:
        """Tell the host that the end is on record here, until it answers or has died; a later process tells one that does not."""
        release = ReleaseAgent(run=self._run, key=remote.order.key, task=remote.order.task)
        delay_s = _FIRST_DELAY_S
        while remote.host not in self._dead:
            with suppress(GreenroomError):
                await self._commit()
                await self._ask(remote.host, release, timeout_s=STOP_S)
                break
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, _MAX_DELAY_S)
        self._note_line(remote.order.task, record_line(SETTLED))

    # --- stopping ------------------------------------------------------------------------------------------------------

    def _kill(self, name: str, cause: Cause) -> None:
        remote = self._agents[name]
        if self._is_closed and cause.who != "session":
            self._end_unconfirmed(remote)
            return
        if not remote.is_stopping:
            remote.is_stopping = True
            self._note_line(remote.order.task, record_line({"stop": [cause.who, cause.why]}))
        self._nursery.start_soon(self._stop, remote, cause, name=f"stop of {name}")

    async def _stop(self, remote: RemoteAgent, cause: Cause) -> None:
        """Order the end of an agent, again until the host confirms; the task ends here at the latest after `STOP_S`.

        A host that has not confirmed by then gets the order with the notification that the agent is not followed any more.
        """
        why = f"{cause.who}: {cause.why}"[:1_000]
        stop = StopAgent(run=self._run, key=remote.order.key, task=remote.order.task, why=why)
        with trio.move_on_after(STOP_S):
            is_known: bool | None = None
            while is_known is None:
                with suppress(GreenroomError):
                    await self._commit()
                    is_known = await self._ask(remote.host, stop, timeout_s=STOP_S)
                if is_known is None:
                    await trio.sleep(_FIRST_DELAY_S)
            if is_known is False:
                self._end(remote, Edge.KILL)
            await remote.task.wait_finished()
        self._end_unconfirmed(remote)

    def _end_unconfirmed(self, remote: RemoteAgent) -> None:
        self._end(remote, Edge.KILL, error=f"the host {remote.host!r} has not confirmed it")
