"""The agents of a run that work on hosts: tasks here whose work is done there.

Rule 1: the order is on record here before it is sent, and may be sent again. Rule 2: the output file here is written at the offset that it
has, so that no broken connection leaves a hole or a repetition. Rule 3: a task ends when its host says so, when its host does not know
it, when nothing was heard from the host for `unreachable_s`, or when a stop was not confirmed in time. Must not know: addresses, sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Edge
from greenroom.core import AskTimedOut, Cause, GreenroomError, JournalError, task_id
from greenroom.core.ports import Ids
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
)
from greenroom.remote.links import Link, LinkLost, RemoteError, RemoteRef
from greenroom.tasks import LOST, REMOTE_AGENT, Progress, Task, TaskInfo, Tasks, TaskState, TaskUsage
from greenroom.tools import ToolError

STOP_S: Final = 10.0
"""Seconds after which a task ends although its host has not confirmed the stop."""
CLOSE_S: Final = 5.0
"""Seconds that the end of a run waits for the ends of its remote agents."""
_SPARE_S: Final = 20.0
"""Seconds that an answer may take longer than the host was asked to wait."""
_FIRST_DELAY_S: Final = 0.5
_MAX_DELAY_S: Final = 10.0
_MAX_RESULT: Final = 200_000
_EDGES: Final = {"completed": Edge.COMPLETE, "failed": Edge.FAIL, "killed": Edge.KILL}


@final
@attrs.frozen(kw_only=True)
class RemoteOrder:
    """The wish for an agent on a host."""

    definition: dict[str, Any]
    """As a JSON object; see `LaunchAgent`."""
    description: str
    prompt: str
    model: str = ""
    owner: str
    """Id of the agent that is notified of its end."""
    tool_use_id: str = ""


@final
@attrs.define(eq=False, kw_only=True)
class _RemoteAgent:
    host: str
    task: Task
    order: LaunchAgent
    offset: int = 0
    """Bytes of its output that are here."""
    version: int = 0
    is_taken: bool = False
    """True once the host has said that it has the order."""
    is_launched: bool = False
    """True once its start was reported as a success: its end is a notice from then on."""
    is_over: trio.Event = attrs.field(factory=trio.Event)
    """Set when nothing is to be said to the host any more."""


@final
class RemoteAgents:
    """The remote agents of one run.

    Args:
        run: Id of the run.
        hosts: Names of the hosts; the one on which the fewest agents of this run work is chosen.
        connect: Returns the link to a host; raises `GreenroomError`.
        tasks: The tasks of the run.
        nursery: For following agents; it outlives the tasks.
        ids: Makes ids of tasks.
        outputs: Folder of output files.
        write: Appends to a file, in the order of the calls.
        commit: Returns when everything recorded so far is durable.
        unreachable_s: Seconds without a word of its host after which a task fails.
    """

    def __init__(
        self,
        *,
        run: str,
        hosts: Sequence[str],
        connect: Callable[[str], Awaitable[Link]],
        tasks: Tasks,
        nursery: trio.Nursery,
        ids: Ids,
        outputs: Path,
        write: Callable[[Path, bytes], None],
        commit: Callable[[], Awaitable[None]],
        unreachable_s: float,
    ) -> None:
        self.hosts = tuple(hosts)
        """Names of the hosts."""
        self._run = run
        self._connect = connect
        self._tasks = tasks
        self._nursery = nursery
        self._ids = ids
        self._outputs = outputs
        self._write = write
        self._commit = commit
        self._unreachable_s = unreachable_s
        self._agents: dict[str, _RemoteAgent] = {}
        self._dead: dict[str, str] = {}
        self._is_closed = False

    async def launch(self, wish: RemoteOrder) -> tuple[Task, str]:
        """Start an agent on a host; return its task, and the address of what runs there.

        Raises:
            ToolError: No host can be reached, or the host refuses.
        """
        if self._is_closed:
            raise ToolError("the session ends, and starts no more agents")
        living = [host for host in self.hosts if host not in self._dead]
        if not living:
            raise ToolError(f"all hosts have died: {'; '.join(self._dead.values())}")
        host = min(living, key=self._running_on)
        remote = self._open(host, wish)
        await self._commit()
        try:
            await self._send_order(remote)
        except ToolError as error:
            self._end_silently(remote, str(error))
            raise
        except LinkLost as error:
            if error.outcome == "not_sent" or host in self._dead:
                self._end_silently(remote, str(error))
                raise ToolError(f"the host {host!r} could not be told: {error}") from error
        except AskTimedOut:
            pass  # it may have the order: it is asked again
        except GreenroomError as error:
            self._end_silently(remote, str(error))
            raise ToolError(f"the host {host!r} cannot be used: {error}") from error
        remote.is_launched = True
        self._nursery.start_soon(self._follow, remote, name=f"remote agent {remote.order.task}")
        return remote.task, f"greenroom://{host}/{self._run}#{remote.order.task}"

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
                await remote.is_over.wait()
        for remote in remotes:
            self._end_unconfirmed(remote)

    # --- starting ------------------------------------------------------------------------------------------------------

    def _running_on(self, host: str) -> int:
        return sum(remote.host == host and not remote.task.is_finished for remote in self._agents.values())

    def _open(self, host: str, wish: RemoteOrder) -> _RemoteAgent:
        name = task_id(self._ids, "r")
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
        order = LaunchAgent(
            run=self._run,
            task=name,
            definition=wish.definition,
            description=wish.description,
            prompt=wish.prompt,
            model=wish.model,
        )
        remote = self._agents[name] = _RemoteAgent(host=host, task=task, order=order)
        return remote

    async def _send_order(self, remote: _RemoteAgent) -> None:
        answer = await self._ask(remote.host, remote.order)
        if isinstance(answer, LaunchAnswer) and answer.refused:
            raise ToolError(f"the host {remote.host!r} refused: {answer.refused}")
        remote.is_taken = True
        if remote.task.state is TaskState.PENDING:
            self._tasks.begin(remote.task)

    def _end_silently(self, remote: _RemoteAgent, error: str) -> None:
        """End a task whose start failed: the result of the call says so."""
        remote.task.mark_notified()
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

    async def _follow(self, remote: _RemoteAgent) -> None:
        """Ask for news until the task has ended."""
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
                    self._end(remote, Edge.FAIL, error=why, cause=Cause("unreachable", why))
            else:
                heard_s, delay_s = trio.current_time(), _FIRST_DELAY_S
                continue
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, _MAX_DELAY_S)
        await self._release(remote)
        self._forget(remote)

    def _forget(self, remote: _RemoteAgent) -> None:
        remote.is_over.set()
        del self._agents[remote.order.task]

    async def _take_news(self, remote: _RemoteAgent) -> None:
        """Wait for news of an agent; send the order first if the host may not have it."""
        if not remote.is_taken:
            await self._send_order(remote)
        follower = await self._find(remote.host, follower_name(self._run, remote.order.task))
        if remote.task.is_finished:
            return
        if follower is None:
            why = f"the host {remote.host!r} does not know it any more"
            self._end(remote, Edge.FAIL, error=why, cause=Cause(LOST, why))
            return
        question = FollowAgent(offset=remote.offset, version=remote.version)
        news: AgentNews = await follower.ask(question, timeout_s=MAX_FOLLOW_S + _SPARE_S, cascade=True)
        if news.offset == remote.offset:
            self._apply(remote, news)

    def _apply(self, remote: _RemoteAgent, news: AgentNews) -> None:
        task = remote.task
        if news.output:
            with suppress(JournalError):  # then the run ends, and nothing is recorded any more
                self._write(task.info.output_file, news.output)
            remote.offset += len(news.output)
        remote.version = news.version
        if task.is_finished:
            return
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
        cause = Cause(news.ended_by[:200], news.end_reason[:1_000]) if news.ended_by else None
        self._end(remote, edge, error=news.error[:2_000], cause=cause)

    def _end(self, remote: _RemoteAgent, edge: Edge, *, error: str = "", cause: Cause | None = None) -> None:
        task = remote.task
        if task.is_finished:
            return
        task.error = error
        if task.cause is None:
            task.cause = cause
        self._tasks.end(task, edge)

    async def _release(self, remote: _RemoteAgent) -> None:
        """Tell the host that the end is on record here."""
        if remote.host in self._dead:
            return
        with trio.move_on_after(STOP_S), suppress(GreenroomError):
            await self._commit()
            await self._ask(remote.host, ReleaseAgent(run=self._run, task=remote.order.task))

    # --- stopping ------------------------------------------------------------------------------------------------------

    def _kill(self, name: str, cause: Cause) -> None:
        remote = self._agents[name]
        if self._is_closed and cause.who != "session":
            self._end_unconfirmed(remote)
        else:
            self._nursery.start_soon(self._stop, remote, cause, name=f"stop of {name}")

    async def _stop(self, remote: _RemoteAgent, cause: Cause) -> None:
        """Order the end of an agent until the host confirms; the task ends here at the latest after `STOP_S`."""
        stop = StopAgent(run=self._run, task=remote.order.task, why=f"{cause.who}: {cause.why}"[:1_000])
        ends_s, gives_up_s = trio.current_time() + STOP_S, trio.current_time() + self._unreachable_s
        is_known: bool | None = None
        while is_known is None and trio.current_time() < gives_up_s:
            with trio.move_on_at(ends_s if trio.current_time() < ends_s else gives_up_s), suppress(GreenroomError):
                is_known = await self._ask(remote.host, stop, timeout_s=STOP_S)
            if trio.current_time() >= ends_s:
                self._end_unconfirmed(remote)
            if is_known is None:
                await trio.sleep(_FIRST_DELAY_S)
        if is_known is False:
            self._end(remote, Edge.KILL)
            return
        with trio.move_on_at(ends_s):
            await remote.task.wait_finished()
        self._end_unconfirmed(remote)

    def _end_unconfirmed(self, remote: _RemoteAgent) -> None:
        self._end(remote, Edge.KILL, error=f"the host {remote.host!r} has not confirmed it")
