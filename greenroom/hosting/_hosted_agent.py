"""One agent that a host runs for another run: its news, its output, and the file that outlives the process."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import JournalError
from greenroom.core.ports import Ports
from greenroom.hosting._hosted_questions import HostedQuestions
from greenroom.remote.hosts import MAX_OUTPUT_PART, AgentNews, FollowAgent
from greenroom.session import TaskHandle
from greenroom.tasks import LOST, Progress, TaskState

_ENDED: Final = frozenset((TaskState.COMPLETED, TaskState.FAILED, TaskState.KILLED))
_RECALLED: Final = -1
"""Version of an agent of an earlier process: a number that nobody who followed it there has."""
_NEW_PROCESS: Final = "the process of its host has ended"


@final
@attrs.define(eq=False, kw_only=True)
class HostedAgent:
    """An agent that runs here for another run, or has ended."""

    run: str
    owner: str
    """Its run by the key of that; see `owner_of`."""
    task: str
    record: Path
    """The file that says what is known of it: it is there before the launch is answered, and until the run releases it."""
    output: Path | None = None
    handle: TaskHandle | None = None
    """None before it is started, and for one of an earlier process."""
    end: AgentNews | None = None
    """Its end, once that is recorded."""
    ended_s: float = 0.0
    """When it ended, as a timestamp; 0 before."""
    is_released: bool = False
    """True once its run wants no more news of it."""
    version: int = 1
    followers: int = 0
    """Number of questions that wait for news of it."""
    asked_s: float = attrs.field(factory=trio.current_time)
    """When its run asked for it last."""
    calls: int = 0
    """Number of its models' answers."""
    usd: Decimal = Decimal(0)
    """Their price, as far as it is known."""
    questions: HostedQuestions = attrs.field(
        default=attrs.Factory(lambda self: HostedQuestions(self.note_change), takes_self=True)
    )
    _changed: trio.Event = attrs.field(factory=trio.Event)

    @property
    def has_ended(self) -> bool:
        """True if its end is recorded."""
        return self.end is not None

    def note_change(self) -> None:
        """Wake those who follow it."""
        self.version += 1
        self._changed.set()
        self._changed = trio.Event()

    async def wait_news(self, question: FollowAgent, ports: Ports) -> AgentNews:
        """Return the news that a run asks for; wait until there is some. If cancelled, it only stops waiting."""
        self.followers += 1
        try:
            size = await self._output_size(ports)
            with trio.move_on_after(question.wait_s):
                while question.version == self.version and question.offset >= size:
                    await self._changed.wait()
                    size = await self._output_size(ports)
            return await self.read_news(question.offset, ports)
        finally:
            self.followers -= 1
            self.asked_s = trio.current_time()

    async def read_news(self, offset: int, ports: Ports) -> AgentNews:
        """Return its state now, and its output from an offset on."""
        news = self._news()  # before its output is read: what comes meanwhile is another version
        size = await self._output_size(ports)
        output = b""
        if self.output is not None and offset < size:
            output = await ports.blocking.run(_read_part, self.output, offset)
        return attrs.evolve(news, offset=offset, output=output, size=size)

    async def _output_size(self, ports: Ports) -> int:
        """Return the size of its output, when all that it has said is in there."""
        if self.output is None:
            return 0
        if self.handle is not None and not self.has_ended:
            with suppress(JournalError):  # its session ends: what is not in the file now is lost
                await self.handle.wait_recorded()
        try:
            return await ports.blocking.run(ports.disk.size, self.output)
        except FileNotFoundError:
            return 0

    def _news(self) -> AgentNews:
        if self.end is not None:
            return attrs.evolve(self.end, version=self.version)
        if self.handle is None:
            return AgentNews(version=self.version, state=TaskState.PENDING.value, offset=0, output=b"", size=0)
        state = self.handle.state
        progress = self.handle.task.progress or Progress()
        return AgentNews(
            version=self.version,
            # An end is news only when it is recorded.
            state=(TaskState.RUNNING if state in _ENDED else state).value,
            offset=0,
            output=b"",
            size=0,
            activity=progress.last_activity,
            tool_uses=progress.tool_use_count,
            input_tokens=progress.latest_input_tokens,
            output_tokens=progress.cumulative_output_tokens,
            questions=self.questions.waiting(),
            usage=list(attrs.astuple(self.handle.usage)),
            calls=self.calls,
            usd=float(self.usd),
        )

    def end_orphaned(self, orphan_s: float) -> None:
        """Kill it if its run has not asked for it for `orphan_s` seconds."""
        is_orphaned = not self.followers and trio.current_time() - self.asked_s > orphan_s
        if is_orphaned and self.handle is not None and not self.has_ended:
            self.handle.kill(f"its run has not asked for it for {orphan_s:g} s")

    # --- its record ------------------------------------------------------------------------------------------------

    async def save(self, ports: Ports, news: AgentNews | None = None) -> None:
        """Write what is known of it, with the news of its end, to its file; raises `OSError`."""
        end = None
        if news is not None:
            end = attrs.asdict(news, filter=lambda field, _: field.name not in {"output", "offset", "size"})
        known = {
            "ended": self.ended_s,
            "run": self.run,
            "owner": self.owner,
            "task": self.task,
            "output": str(self.output or ""),
            "end": end,
        }
        await ports.blocking.run(_write, self.record, json.dumps(known).encode(), ports)

    async def finish(self, handle: TaskHandle, ports: Ports) -> None:
        """Wait for its end, record that, and wake those who follow it.

        An end that the disk refuses is told all the same: only if the process of the host ends before its release, it is one that is lost.
        """
        result = await handle.wait_finished()
        with suppress(JournalError):  # its session ends: what is not in the file now is lost
            await handle.wait_recorded()  # an end with a part of the output would be taken for the whole
        before, task = self._news(), handle.task
        end = attrs.evolve(
            before,
            questions=[],
            state=result.state.value,
            result=result.text,
            error=result.error,
            duration_ms=task.duration_ms,
            ended_by="" if result.cause is None else result.cause.who,
            end_reason="" if result.cause is None else result.cause.why,
        )
        self.ended_s = ports.clock.wall().timestamp()
        if not self.is_released:
            with suppress(OSError):
                await self.save(ports, end)
        self.end = end  # not before: a run that has its end may release it, and the file must not come back
        self.note_change()


def recall(record: Path, content: bytes) -> HostedAgent:
    """Return an agent of an earlier process; one that had not ended is lost.

    Raises:
        ValueError: The content is not a record.
    """
    known: Any = json.loads(content)
    try:
        run, task, output, end = known["run"], known["task"], known["output"], known["end"]
        owner, ended_s = known["owner"], float(known["ended"])
        lost = {"version": _RECALLED, "state": TaskState.FAILED.value, "ended_by": LOST, "end_reason": _NEW_PROCESS}
        news = AgentNews(**(lost if end is None else end), offset=0, output=b"", size=0)
    except (TypeError, KeyError) as error:
        raise ValueError(f"not the record of an agent: {error}") from None
    return HostedAgent(
        run=run,
        owner=owner,
        task=task,
        record=record,
        output=Path(output) if output else None,
        end=news,
        ended_s=ended_s,
        version=_RECALLED,
    )


def _read_part(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(MAX_OUTPUT_PART)


def _write(path: Path, content: bytes, ports: Ports) -> None:
    ports.disk.make_folder(path.parent)
    ports.disk.write(path, content)
