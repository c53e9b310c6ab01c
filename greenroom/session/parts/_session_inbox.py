"""The inbox of a session, and the actor that forwards messages to the main agent.

Rule 1: handing in never waits, and neither does the queue: what needs time, such as a command, is a turn of the main agent's,
so that an interrupt reaches it and something urgent gets through. Rule 2: the queue forwards in the order in which things came
in, lane by lane; from there on the main agent's own inbox keeps them in order. Rule 3: each thing has one id, and one end: it
is taken up, taken back, has expired, or is a dead letter.
Must not know: models, how a turn is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import AbortResult, AbortStatus, Behavior, Context, Outcome, Ref, Request, Unfinished
from greenroom.agents import AgentState, open_calls
from greenroom.agents.subagents import MainAgent
from greenroom.core import ActorEnded, JournalError, Level, Undelivered, UsageError
from greenroom.core.ports import Ports
from greenroom.inbox import (
    AUTO_CONTINUATION,
    HUMAN,
    Attributes,
    InboxItem,
    Origin,
    StoredItem,
    aborts,
    attributes_of,
    late_answer,
    make_item,
)
from greenroom.inbox import channel as channel_origin
from greenroom.mailbox import Delivery, Lane
from greenroom.models import ToolUseBlock
from greenroom.permissions import Allow, ApprovalQueue, Deny, Receipt
from greenroom.session.parts._stored_inbox import ATTRIBUTES, StoredInbox
from greenroom.store import new_uuid
from greenroom.supervisor import ChildSpec, Restart, Supervisor

MAX_WAITING: Final = 500
"""Maximum number of messages that may wait for the main agent."""
RETRY_S: Final = 5.0
"""Seconds after which a store that could not be read is read again."""
_CHANNEL: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
WITHDRAWN: Final = "it was withdrawn"
URGENT: Final = "the user said something that could not wait"


@final
class Interrupted:
    """The receipt of an interrupt: what became of the turn, and of what waited for the next one."""

    def __init__(self, result: AbortResult, still_queued: tuple[str, ...], cancelled: tuple[str, ...]) -> None:
        self._result = result
        self.still_queued = still_queued
        """Ids of the messages that still wait, in order; they are read next."""
        self.cancelled = cancelled
        """Ids of the messages that were withdrawn, in order."""

    def __repr__(self) -> str:
        return f"<Interrupted {self.status}: {len(self.still_queued)} queued, {len(self.cancelled)} cancelled>"

    @property
    def status(self) -> AbortStatus:
        """Whether a turn ran that could be ended."""
        return self._result.status

    async def wait_ended(self) -> Outcome:
        """Wait for the turn that ran at the request to end and return how it did; if none ran, how the last one did."""
        return await self._result.wait_ended()


@final
@attrs.frozen
class Passed(Request[None]):
    """Is answered when what was handed in before it has been forwarded."""


@final
class Queue(Behavior[InboxItem | Passed]):
    """Forwards what was handed in, one thing after the other.

    Args:
        inbox: The session's; it outlives each incarnation.
    """

    unfinished = Unfinished.REQUEUE
    journal = Level.FULL

    def __init__(self, inbox: SessionInbox) -> None:
        self._inbox = inbox

    def on_message(self, message: InboxItem | Passed, ctx: Context) -> None:
        """Forward an item with the commit of this turn."""
        if isinstance(message, Passed):
            ctx.reply(None)
        else:
            self._inbox.forward(message, ctx)


@final
class SessionInbox:
    """The messages that wait for the main agent, besides prompts whose answer is awaited; `session.inbox`.

    Attributes:
        initial_message: The first prompt that a hook of the session's start asks for; empty for none.
        stored: Keeps what waits until it was read.
        had_waiting: True if messages, unreported ends or agents on hosts waited at the opening; they begin turns by themselves.

    Args:
        main: The main agent.
        ports: Ids of items, and the date and time.
        is_command: Returns True if a text of the user's is a command by `/name`.
        approvals: The questions that wait.
        stored: Keeps what waits until it was read.
    """

    def __init__(
        self,
        main: MainAgent,
        stored: StoredInbox,
        *,
        ports: Ports,
        is_command: Callable[[str], bool],
        approvals: ApprovalQueue,
    ) -> None:
        self._main_agent = main
        self.stored = stored
        self._queue: Ref[Any] | None = None
        self._ids, self._wall = ports.ids, ports.clock.wall
        self._is_command = is_command
        self._approvals = approvals
        self._unanswered: dict[str, ToolUseBlock] = {}
        self._waiting: dict[str, InboxItem] = {}
        self._releasing: set[str] = set()
        """Ids of what the user says to a main agent that is held, because its last turn was left."""
        self.initial_message = ""
        self.had_waiting = False

    def __repr__(self) -> str:
        return f"<SessionInbox: {len(self._waiting)} waiting>"

    async def open(self, supervisor: Supervisor, unanswered: tuple[ToolUseBlock, ...] = ()) -> None:
        """Start the queue; called once the main agent has started.

        Args:
            supervisor: The session's.
            unanswered: The calls of an earlier process whose question has not been answered.
        """
        self._unanswered = {call.id: call for call in unanswered}
        self._queue = await supervisor.spawn(Queue, self, name="queue", spec=ChildSpec(restart=Restart.PERMANENT))

    def note_waiting(self) -> None:
        """Note that something waited when the session was opened."""
        self.had_waiting = True

    def begin(self, initial_message: str) -> None:
        """Note the first prompt that a hook of the session's start asks for."""
        self.initial_message = initial_message

    @property
    def ref(self) -> Ref[Any]:
        """The queue's address; there once the session has started."""
        assert self._queue is not None
        return self._queue

    @property
    def _main(self) -> Ref[Any]:
        return self._main_agent.ref

    @property
    def _home(self) -> AgentState:
        home = self._main_agent.home
        assert home is not None
        return home

    # --- handing in ------------------------------------------------------------------------------------------------

    def send(
        self,
        text: str,
        *,
        priority: Lane | str | None = None,
        origin: Origin = HUMAN,
        is_meta: bool | None = None,
        expires_s: float = math.inf,
    ) -> str:
        """Hand in what somebody says, and return its id; see `Session.send`."""
        item = make_item(
            text,
            uuid=new_uuid(self._ids),
            origin=origin,
            priority=priority,
            is_meta=is_meta,
            expires_s=expires_s,
            is_command=self._is_command,
        )
        self._admit(item)
        if origin.is_consent and self._home.start.is_held:
            self._releasing.add(item.uuid)
        self.stored.add_now(item)
        self._forward(item)
        return item.uuid

    async def accept(
        self,
        item_id: str,
        text: str,
        *,
        origin: Origin,
        is_meta: bool | None = None,
        expires_s: float = math.inf,
        route: Mapping[str, Any] | None = None,
        attributes: Attributes = (),
    ) -> bool:
        """Accept a message of a sender outside; when this returns, it survives the end of the process.

        Cancelled, it was accepted whole or not at all; asking again with the same id is safe.

        Args:
            item_id: The sender's id of it: a second message with it changes nothing, for seven days after it was read too.
            text: The text; only a program on the user's behalf may hand in commands, by `send`.
            origin: The sender; never the user.
            is_meta: True if it is for the model only; by default True for the runtime's own texts.
            expires_s: Seconds from now after which it is dropped.
            route: A small JSON object that is kept with it.
            attributes: Those of the tag in which the model reads a channel's message.

        Returns:
            False if it was accepted before.

        Raises:
            UsageError: It is blank or too long, or claims to be the user's.
            BoxFull: Too many messages wait.
            JournalError: It cannot be stored.
        """
        if origin.is_consent:
            raise UsageError("the user's words are handed in by `send`; accept those of others")
        made = make_item(text, uuid=item_id, origin=origin, is_meta=is_meta)
        now = self._wall().timestamp()
        item = await self.stored.add(
            StoredItem(
                id=item_id,
                box=self.stored.box,
                text=text,
                origin=origin,
                lane=made.lane,
                kind=made.kind,
                is_meta=made.is_meta,
                route={**(route or {}), ATTRIBUTES: dict(attributes)} if attributes else route or {},
                created_at=now,
                expires_at=now + expires_s,
            )
        )
        if item is not None:
            self.hand_in(item)
        return item is not None

    async def push(
        self, text: str, *, channel: str, message_id: str = "", attributes: Mapping[str, str] | None = None
    ) -> bool:
        """Accept a message that a channel pushes, such as a build server's; when this returns, it survives the end of the process.

        The model reads it as that channel's words behind what waits: never as the user's, never as a command.

        Args:
            text: The text.
            channel: Its name: 1 to 64 letters, digits, dots, hyphens and underscores.
            message_id: The sender's id of it, as of `accept`; empty for a new one.
            attributes: Attributes of the tag in which the model reads it; their names are identifiers.

        Returns:
            False if it was accepted before.

        Raises:
            UsageError: The text is blank or too long, the name is none, or an attribute cannot be used.
            BoxFull, JournalError: It cannot be taken.
        """
        if not _CHANNEL.fullmatch(channel):
            raise UsageError(f"a channel's name has 1 to 64 letters, digits, '.', '-' and '_', got {channel!r}")
        usable = attributes_of(attributes)
        if len(usable) < len(attributes or {}):
            unusable = sorted(set(attributes or {}) - set(dict(usable)))
            raise UsageError(
                f"names of attributes must be identifiers other than 'source', and values text, got {unusable}"
            )
        item_id = message_id or new_uuid(self._ids)
        return await self.accept(item_id, text, origin=channel_origin(channel), attributes=usable)

    def leave_cut_turn(self) -> None:
        """Release the main agent without its last turn, which an earlier process cut and which was left to the program."""
        self._home.release()

    async def wait_durable(self, message_id: str) -> None:
        """Wait until a message that was sent survives the end of the process.

        Args:
            message_id: The id that `send` returned.

        Raises:
            JournalError: It cannot be stored; it waits in memory alone.
            BoxFull: Other processes have filled the store.
        """
        await self.stored.wait_durable(message_id)

    async def held(self) -> tuple[StoredItem, ...]:
        """Return the letters that wait for somebody to let them in, in order.

        Raises:
            JournalError: The store cannot be read.
        """
        return await self.stored.store.held(self.stored.box)

    async def release(self, *item_ids: str) -> None:
        """Let held letters in; the main agent reads them behind what waits already. Ids of others change nothing.

        Raises:
            JournalError: The store cannot be written.
        """
        await self.stored.store.release(self.stored.box, item_ids)
        await self._hand_in_news()

    async def refuse(self, item_id: str, why: str = "a person refused it") -> bool:
        """Refuse a held letter; False if it is not held any more.

        Raises:
            JournalError: The store cannot be written.
        """
        if item_id not in {item.id for item in await self.held()}:
            return False
        self.stored.note_withdrawn(item_id, why)
        await self.stored.flush()
        return True

    async def follow_news(self) -> None:
        """Hand in what others put into the store, until it is cancelled."""
        while True:
            try:
                await self.stored.store.wait_news(self.stored.box)
                await self._hand_in_news()
            except JournalError as error:
                self.stored.tell_problem(error)
                await trio.sleep(RETRY_S)

    async def _hand_in_news(self) -> None:
        for item in await self.stored.read_news():
            self.hand_in(item)

    def hand_in(self, item: InboxItem) -> None:
        """Hand in an item that is in the store; if the main agent has ended, the next process reads it."""
        with suppress(ActorEnded, Undelivered):
            self._forward(item)

    def hand_in_hidden(self, text: str) -> bool:
        """Hand in a prompt for the model alone, as what a skill came to that nobody waited for; says whether it was taken."""
        try:
            self.send(text, origin=AUTO_CONTINUATION)
        except (ActorEnded, Undelivered):
            return False
        return True

    @property
    def unanswered(self) -> tuple[ToolUseBlock, ...]:
        """The calls of an earlier process that still wait for a person's answer."""
        conversation = self._home.conversation
        still_open = () if conversation is None or not self._unanswered else open_calls(conversation.messages)
        return tuple(call for call in still_open if call.id in self._unanswered)

    def answer(self, call_id: str, answer: Allow | Deny) -> Receipt:
        """Answer the question about a tool call, by the call's id; never waits. The first answer counts.

        After a restart too: one of `unanswered` runs, once, and the turn goes on; the first turn that begins without an
        answer gives them up.
        """
        for question in self._approvals.waiting():
            if question.call_id == call_id:
                return self._approvals.answer(question.id, answer)
        if call_id in {call.id for call in self.unanswered}:
            late = late_answer(call_id, answer, uuid=new_uuid(self._ids))
            self._admit(late)
            self._forward(late)
            del self._unanswered[call_id]
            return Receipt.TAKEN
        return Receipt.UNKNOWN

    def _admit(self, item: InboxItem) -> None:
        """Refuse an item for which there is no room."""
        if self._main.is_gone:
            raise ActorEnded(self._main.id, self._main.state.value, path=self._main.path)
        if len(self._waiting) >= MAX_WAITING and len(self.queued()) >= MAX_WAITING:
            raise Undelivered(self.ref.id, Delivery.FULL.value, path=self.ref.path)
        if self.ref.is_gone:
            raise Undelivered(self.ref.id, Delivery.CLOSED.value, path=self.ref.path)

    def _forward(self, item: InboxItem) -> None:
        delivery = self.ref.tell(item, item.lane, size_bytes=len(item.text))
        if delivery is not Delivery.ACCEPTED:
            raise Undelivered(self.ref.id, delivery.value, path=self.ref.path)
        self._waiting[item.uuid] = item
        self._note("enqueue", item.text)

    # --- handing on ------------------------------------------------------------------------------------------------

    def forward(self, item: InboxItem, ctx: Context) -> None:
        """Hand an item to the main agent with the commit of the queue's turn; what is urgent ends the turn that runs."""
        delivery = ctx.tell_on_commit(self._main, item, lane=item.lane, size_bytes=len(item.text))
        if delivery is not Delivery.ACCEPTED:
            self._forget(item.uuid)
            return
        if item.uuid in self._releasing:
            self._releasing.clear()
            self._home.release()
        if aborts(item, item.lane):
            # It only asks: the turn ends after this commit, so the item is there when the agent looks for its next one.
            self._main.abort_turn(why=URGENT)

    @property
    def is_behind(self) -> bool:
        """Whether something that was handed in has not been forwarded yet."""
        waiting = self.ref.statistics()
        return bool(waiting.now or waiting.next or waiting.later) or self.ref.is_busy

    async def wait_passed(self, lane: Lane = Lane.NEXT) -> None:
        """Wait until what was handed in so far in this lane, and in more urgent ones, has been forwarded."""
        await self.ref.ask(Passed(), timeout_s=math.inf, lane=lane)

    def note_begun(self, uuid: str) -> None:
        """Count that a turn begins with an item."""
        item = self._waiting.get(uuid)
        if item is not None and item.is_stored:
            self.stored.note_begun(item.id)

    def note_dropped(self, uuid: str, why: str) -> None:
        """Forget an item that the main agent will not read; `why` is empty for one that has expired."""
        item = self._waiting.pop(uuid, None)
        if item is None:
            return
        self._note("remove")
        if not item.is_stored:
            return
        if why:
            self.stored.note_withdrawn(item.id, why)
        else:
            self.stored.note_expired(item.id)

    def note_taken(self, uuid: str) -> None:
        """Forget an item that the main agent has taken up."""
        item = self._waiting.pop(uuid, None)
        if item is not None:
            self._note("dequeue")
            if item.is_stored:
                self.stored.note_taken(item.id)
            if (on_taken := self._home.services.listeners.on_taken) is not None:
                on_taken(uuid)

    # --- what waits ------------------------------------------------------------------------------------------------

    def queued(self) -> tuple[InboxItem, ...]:
        """Return what waits, in the order in which it came in; what a turn has, even if it has not been taken up, does not."""
        items = list(self._waiting.values())
        there = {item.uuid for ref in (self.ref, self._main) for item in ref.still_waiting(items)}
        is_over = not (self.ref.is_busy or self._main.is_busy)
        for uuid in self._waiting.keys() - there if is_over else ():  # its turn crashed first: the store keeps it
            self._forget(uuid)
        return tuple(item for item in items if item.uuid in there)

    def interrupt(self, why: str, *, cancel_queued: bool) -> Interrupted:
        """End the main agent's current turn, in this step; see `Session.interrupt`."""
        result = self._main.abort_turn(why=why)  # it only asks: nothing is taken up before the next step
        waiting = self.queued()
        cancelled = [item for item in waiting if cancel_queued and self._take_back(item)]
        kept = [item.uuid for item in waiting if item.uuid in self._waiting]
        return Interrupted(result, tuple(kept), tuple(item.uuid for item in cancelled))

    def withdraw(self, item_id: str) -> bool:
        """Withdraw a message by its sender's id; False if it was taken up, or has ended in another way."""
        item = next((item for item in self._waiting.values() if item.id == item_id), None)
        return item is not None and self._take_back(item)

    def _take_back(self, item: InboxItem) -> bool:
        was_there = self._main.withdraw(item) or self.ref.withdraw(item)
        if was_there:
            self.note_dropped(item.uuid, WITHDRAWN)
        return was_there

    def _forget(self, uuid: str) -> None:
        if self._waiting.pop(uuid, None) is not None:
            self._note("remove")

    def _note(self, operation: str, text: str = "") -> None:
        if self._home.conversation is not None:
            # A trace, which nothing is read back from: a disk that refuses shows where something depends on it.
            with suppress(JournalError):
                self._home.conversation.note_queue(operation, text)
