"""The board: the actor that owns a team's list. Claims are its messages, so they cannot race."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

import attrs

from greenroom.actors import Behavior, Context, Down, Ref, Request, Signal
from greenroom.agents import Note, Work
from greenroom.core import JournalError, Level
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._events import ItemClaimed, ItemCreated, ItemEvent, ItemReleased
from greenroom.teams._items import MAX_FAILURES, BoardState, Edit, Item, ItemStatus, Refused, apply, created, plan_edit
from greenroom.teams._names import LEAD


@final
@attrs.frozen(kw_only=True)
class CreateItem(Request[Item]):
    """Asks for a new item."""

    subject: str
    description: str
    by: str


@final
@attrs.frozen(kw_only=True)
class EditItem(Request["Item | Refused | None"]):
    """Asks for a change; answered with the item as it is now (None when deleted), or why not."""

    edit: Edit


@final
@attrs.frozen(kw_only=True)
class Idle:
    """A member has nothing to do and takes the next item that can be claimed."""

    member: str
    ref: Ref[Any]


@final
@attrs.frozen(kw_only=True)
class GiveBack:
    """A member's turn on an item did not end well."""

    member: str
    item: str
    why: str
    is_failure: bool
    """False where somebody ended it: an abort is nobody's failure."""


@final
@attrs.frozen(kw_only=True)
class TurnOver:
    """A member's turn on an item has ended well; if the item is still its own, the lead has to know."""

    member: str
    item: str


@final
@attrs.frozen
class HandOut:
    """Look whether something can be handed out; a board that was restarted tells itself."""


BoardMessage = CreateItem | EditItem | Idle | GiveBack | TurnOver | HandOut


@final
@attrs.define(kw_only=True, eq=False)
class BoardHome:
    """What belongs to a board for good: its state, one frozen value that is replaced in one step."""

    state: BoardState = attrs.field(factory=BoardState)
    waiting: dict[str, Ref[Any]] = attrs.field(factory=dict)
    """Members that have nothing to do, in the order in which they said so."""
    members: dict[str, Ref[Any]] = attrs.field(factory=dict)
    tell_lead: Callable[[Note], Delivery] | None = None
    was_done: bool = False
    board: Ref[Any] | None = None
    """The board itself, once it was spawned."""
    check_open: Callable[[], None] = attrs.field(default=lambda: None)
    """Raises when nothing new may begin, because it could not be put on record."""

    @property
    def may_hand_out(self) -> bool:
        """Whether a claim could be put on record."""
        try:
            self.check_open()
        except JournalError:
            return False
        return True


@final
class Board(Behavior[BoardMessage]):
    """Creates, changes and hands out items. A plain function: every message is one step."""

    journal: ClassVar[Level] = Level.FULL

    def __init__(self, home: BoardHome) -> None:
        self._home = home
        self._watched: set[str] = set()
        if home.board is not None:  # this is a restart: what could be handed out has nobody else to say so
            home.board.tell(HandOut(), Lane.NOW)

    def on_message(self, message: BoardMessage, ctx: Context) -> None:
        """Carry out one command, then hand out what can be claimed."""
        match message:
            case CreateItem():
                self._create(message, ctx)
            case EditItem(edit=edit):
                self._edit(edit, ctx)
            case Idle(member=member, ref=ref):
                self._hear_idle(member, ref, ctx)
            case GiveBack():
                self._take_back(message.member, message.why, ctx, only=message.item, is_failure=message.is_failure)
            case TurnOver():
                self._note_turn_over(message)
            case HandOut():
                for ref in self._home.members.values():
                    self._watch(ref, ctx)
        self._hand_out(ctx)
        self._tell_when_done()

    def on_signal(self, signal: Signal, ctx: Context) -> None:
        """Take back the items of a member that has ended."""
        if isinstance(signal, Down):
            self._watched.discard(signal.actor)
            for member, ref in list(self._home.members.items()):
                if ref.id == signal.actor:
                    self._home.waiting.pop(member, None)
                    del self._home.members[member]
                    self._take_back(member, f"{member} has ended ({signal.state})", ctx)
            self._hand_out(ctx)

    def _create(self, message: CreateItem, ctx: Context) -> None:
        item_id = str(self._home.state.last_id + 1)
        event = ItemCreated(item=item_id, subject=message.subject, description=message.description, by=message.by)
        # The reply first: it refuses a message that was not asked, before anything has changed.
        ctx.reply(created(None, event))
        self._record([event], ctx)

    def _edit(self, edit: Edit, ctx: Context) -> None:
        plan = plan_edit(self._home.state, edit, (*self._home.members, LEAD))
        if isinstance(plan, Refused):
            ctx.reply(plan)
            return
        state = self._home.state
        for event in plan:
            state = apply(state, event)
        item = state.items.get(edit.item)
        ctx.reply(item)
        self._record(plan, ctx)
        if item is not None and item.owner != edit.by and any(isinstance(event, ItemClaimed) for event in plan):
            self._send_work(item, item.owner, ctx)

    def _hear_idle(self, member: str, ref: Ref[Any], ctx: Context) -> None:
        if ref.is_gone:  # its last word was overtaken by its end
            return
        self._home.members[member] = ref
        self._home.waiting[member] = ref
        self._watch(ref, ctx)

    def _watch(self, ref: Ref[Any], ctx: Context) -> None:
        if ref.id not in self._watched:
            self._watched.add(ref.id)
            ctx.watch(ref)

    def _note_turn_over(self, message: TurnOver) -> None:
        item = self._home.state.items.get(message.item)
        if item is not None and item.status is ItemStatus.IN_PROGRESS and item.owner == message.member:
            self._tell(
                f"{message.member} ended its turn without completing task #{item.id} ({item.subject}). The task is "
                f"still its own: send it a message, or give the task back with TaskUpdate (status pending)."
            )

    def _take_back(
        self, member: str, why: str, ctx: Context, *, only: str | None = None, is_failure: bool = False
    ) -> None:
        for item in list(self._home.state.items.values()):
            is_theirs = item.owner == member and item.status is ItemStatus.IN_PROGRESS
            if is_theirs and only in {None, item.id}:
                self._record([ItemReleased(item=item.id, owner=member, why=why, is_failure=is_failure)], ctx)
                given_up = self._home.state.items[item.id].failures >= MAX_FAILURES
                fate = "Nobody is given it any more." if given_up else "Somebody else is given it."
                self._tell(f"Task #{item.id} ({item.subject}) came back from {member}: {why}. {fate}")

    def _hand_out(self, ctx: Context) -> None:
        home = self._home
        while home.waiting and home.may_hand_out and (item := home.state.claimable()) is not None:
            member = next(iter(home.waiting))
            # The claim first: what is sent is never news to the board.
            self._record([ItemClaimed(item=item.id, owner=member)], ctx)
            self._send_work(item, member, ctx)

    def _send_work(self, item: Item, member: str, ctx: Context) -> None:
        self._home.waiting.pop(member, None)
        ref = self._home.members.get(member)
        if ref is None:  # the lead, who reads the board by itself
            return
        text = f"Task #{item.id} is yours: {item.subject}\n\n{item.description}".rstrip()
        delivery = ref.tell(Work(text, item.id), Lane.LATER, size_bytes=len(text))
        if delivery is not Delivery.ACCEPTED:
            self._take_back(member, f"the mailbox of {member} is {delivery}", ctx, only=item.id)

    def _tell_when_done(self) -> None:
        is_done = self._home.state.is_done
        if is_done and not self._home.was_done:
            self._tell(f"All {len(self._home.state.items)} tasks on the board are completed.")
        self._home.was_done = is_done

    def _tell(self, text: str) -> None:
        if self._home.tell_lead is not None:
            self._home.tell_lead(Note(text, "board"))

    def _record(self, events: Sequence[ItemEvent], ctx: Context) -> None:
        for event in events:
            full = attrs.evolve(event, actor=ctx.ref.id, inc=ctx.incarnation, parent=ctx.seq)
            ctx.recorder.emit(full)
            self._home.state = apply(self._home.state, full)
