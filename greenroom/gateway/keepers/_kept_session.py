"""The port of an open session, as its keeper uses it, and the session of greenroom behind it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from greenroom.actors import AbortStatus
from greenroom.agents import AgentDefinition
from greenroom.core import ActorEnded, JournalError, TurnFailed, TurnKilled, UsageError
from greenroom.core.ports import Ports
from greenroom.hooks import HookSource, SourceKind, parse_callbacks
from greenroom.inbox import AUTO_CONTINUATION, InboxStore
from greenroom.mailbox import Lane
from greenroom.models import Model
from greenroom.permissions import ApprovalQueue
from greenroom.session import AnswerPiece, EventStream, MessageAppended, Session, open_session
from greenroom.tools import Tool

LIVE: Final = (MessageAppended, AnswerPiece)
"""Live events that a kept session has."""
_HOOKS: Final = {"PreToolUse": [{"hookCallbackIds": ["no tools"]}]}
REFUSED: Final = "No tool can be used in this step: answer with text."
"""The reply to a call in a turn that may use none."""


RefusesTools: TypeAlias = Callable[[], Awaitable[bool]]
"""Returns True if the turn that runs may use no tools."""


class KeptSession(Protocol):
    """An open session, as its keeper uses it."""

    @property
    def main_id(self) -> str:
        """Id of the main agent's actor."""

    @property
    def was_cut(self) -> bool:
        """True if the last turn of an earlier process had not finished."""

    @property
    def is_busy(self) -> bool:
        """True if a turn runs, or something is on its way to the main agent."""

    @property
    def is_at_rest(self) -> bool:
        """True if it may be closed: nothing runs, also in the background, and nobody is asked."""

    @property
    def questions(self) -> ApprovalQueue:
        """The questions about calls that it asks."""

    def events(self) -> EventStream:
        """Return all events, those from before included."""

    def interrupt(self, why: str) -> bool:
        """End the turn that runs; False if there is none."""

    def withdraw(self, item: str) -> bool:
        """Withdraw an item that no turn has taken up."""

    def kill(self, why: str) -> None:
        """Kill everything in it."""

    def release(self) -> None:
        """Release the waiting messages to the main agent, without the turn that was cut."""

    async def resume_turn(self) -> None:
        """Resume the turn that was cut, and return when it has ended."""

    def send_aside(self, text: str, refuses_tools: RefusesTools) -> str:
        """Send a text, and return its id; each call is asked about, from then on."""

    async def compact(self) -> str:
        """Replace the conversation by a summary; return why that was not possible, empty if it was."""

    async def wait_handed(self) -> None:
        """Wait until everything that was handed in so far is with the main agent."""

    async def wait_recorded(self) -> None:
        """Wait until all that has happened is recorded."""

    async def set_permission_mode(self, mode: str) -> None:
        """Change the permission mode."""


TurnPlace: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]


@final
@attrs.frozen(kw_only=True)
class OpenOrder:
    """A session to open, and what its agent's configuration stands for."""

    key: str
    session_id: str
    runs: Path
    """The folder of its agent's run folders."""
    workspace: Path
    main: AgentDefinition
    tools: tuple[Tool, ...]
    settings: Mapping[str, Any]
    sources: tuple[str, ...] = ()
    permission_mode: str
    model: Callable[[], Model]
    """Returns its model; it blocks."""
    store: InboxStore
    turn_place: TurnPlace
    ports: Ports
    secrets: Callable[[], Collection[str]] = attrs.field(default=tuple, repr=False)
    """Returns the secrets of the gateway that are known once the model is there."""


Opener: TypeAlias = Callable[[OpenOrder], AbstractAsyncContextManager[KeptSession]]
"""Opens a session; leaving the block closes it."""


@final
class GreenroomSession:
    """A session of greenroom behind the port of keepers.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._refuses_tools: RefusesTools | None = None

    def __repr__(self) -> str:
        return f"<GreenroomSession {self.session.id}>"

    @property
    def main_id(self) -> str:
        return self.session.main.id

    @property
    def was_cut(self) -> bool:
        return self.session.was_cut

    @property
    def is_busy(self) -> bool:
        return self.session.activity().is_busy

    @property
    def is_at_rest(self) -> bool:
        activity = self.session.activity()
        works = activity.is_busy or activity.agents or activity.calls or activity.commands
        return not works and not self.session.permissions.approvals.waiting()

    @property
    def questions(self) -> ApprovalQueue:
        return self.session.permissions.approvals

    def events(self) -> EventStream:
        return self.session.events(from_start=True, capacity=None)

    def interrupt(self, why: str) -> bool:
        return self.session.interrupt(why).status is AbortStatus.ABORTED

    def withdraw(self, item: str) -> bool:
        return self.session.inbox.withdraw(item)

    def kill(self, why: str) -> None:
        self.session.kill(why)

    def release(self) -> None:
        self.session.inbox.leave_cut_turn()

    async def resume_turn(self) -> None:
        with suppress(TurnFailed, TurnKilled, ActorEnded):  # its events tell
            await self.session.resume_turn()

    def send_aside(self, text: str, refuses_tools: RefusesTools) -> str:
        if self._refuses_tools is None:  # only then: a hook costs something at each call
            self.session.add_hooks(parse_callbacks(_HOOKS, HookSource("gateway", SourceKind.HOST), self._answer_call))
        self._refuses_tools = refuses_tools
        return self.session.send(text, origin=AUTO_CONTINUATION)

    async def compact(self) -> str:
        try:
            await self.session.compact()
        except (TurnFailed, TurnKilled, ActorEnded, UsageError, JournalError) as error:
            return str(error)
        return ""

    async def wait_handed(self) -> None:
        if self.session.inbox.is_behind:
            await self.session.inbox.wait_passed(Lane.LATER)

    async def wait_recorded(self) -> None:
        await self.session.inbox.stored.wait_recorded()

    async def set_permission_mode(self, mode: str) -> None:
        await self.session.permissions.set_mode(mode)

    async def _answer_call(self, _: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse a call of the main agent in a turn that may use no tools."""
        if self._refuses_tools is None or told.get("agent_id") or not await self._refuses_tools():
            return {}
        refusal = {"permissionDecision": "deny", "permissionDecisionReason": REFUSED}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **refusal}}


def _has_conversation(folder: Path) -> bool:
    """True if a run folder has a conversation; one that a process left before its first line is removed, for nothing is in it."""
    if (folder / "transcripts" / "main.jsonl").exists():
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


@asynccontextmanager
async def open_kept(order: OpenOrder) -> AsyncIterator[KeptSession]:
    """Open the session of an order, with its conversation if it has one."""

    def prepare() -> tuple[bool, Model]:
        return _has_conversation(folder), order.model()

    folder = order.runs / order.session_id
    has_any, model = await order.ports.blocking.run(prepare)
    async with open_session(
        model=model,
        cwd=order.workspace,
        runs=order.runs,
        main=order.main,
        tools=order.tools,
        ports=order.ports,
        resume=folder if has_any else None,
        session_id=None if has_any else order.session_id,
        sources=order.sources,
        settings=order.settings,
        permission_mode=order.permission_mode,
        has_approver=True,
        live=LIVE,
        store=order.store,
        trusts_store=True,
        box=order.key,
        turn_place=order.turn_place,
        secrets=order.secrets(),
    ) as session:
        yield GreenroomSession(session)
