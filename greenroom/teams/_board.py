"""The board: the actor that owns a team's list. Claims are its messages, so they cannot race.

Rule 1: every message is one step: what is read in it still holds when it is written. Rule 2: the state belongs to the home
and outlives a crash of the actor; what it derives anew, it derives from there. Rule 3: nobody is handed an item who is not
there, and what a member that ends had comes back. Rule 4: no message takes longer because there are more items or members.
Must not know: hooks, which run before a message is sent and not within its step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.actors import Behavior, Context, Down, Ref, Request, Signal
from greenroom.agents import Note, Work
from greenroom.core import JournalError, Level, escape_text
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._board_state import BoardState
from greenroom.teams._edits import Edit, Refused, plan_edit, refuse_metadata
from greenroom.teams._events import ItemClaimed, ItemCreated, ItemEvent, ItemReleased, values_at
from greenroom.teams._items import DESCRIPTION_CHARS, SUBJECT_CHARS, Item, ItemStatus, changed, created, cut

_WHAT_NOW: Final = (
    "If it is to be done, change its subject or description, or give it to somebody by name (TaskUpdate)."
)
_GO_ON: Final = "You were at it when the team was closed, or its process ended, and it is open again. See how far you came, and go on with it."


@final
@attrs.frozen(kw_only=True)
class CreateItem(Request["Item | Refused"]):
    """Asks for a new item; texts that are too long are cut."""

    subject: str
    description: str
    by: str
    active_form: str = ""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    id: str = ""
    """One that `ReserveId` gave; empty for the next."""


@final
@attrs.frozen
class ReserveId(Request[str]):
    """Asks for the id of an item that may be created later, or never; nobody else is given it."""


@final
@attrs.frozen(kw_only=True)
class Edited:
    """What an edit has changed."""

    before: Item
    after: Item | None
    """None when it was deleted."""
    events: tuple[ItemEvent, ...]


@final
@attrs.frozen(kw_only=True)
class EditItem(Request["Edited | Refused"]):
    """Asks for a change; answered with what has changed, or why not."""

    edit: Edit


@final
@attrs.frozen(kw_only=True)
class Join:
    """A member is there: it may own items, and what it owns comes back when it has ended."""

    member: str
    ref: Ref[Any]


@final
@attrs.frozen(kw_only=True)
class Idle:
    """A member has nothing to do and takes the next item that can be claimed. Says `Join` as well."""

    member: str
    ref: Ref[Any]
    takes_items: bool = True
    """False where it waits for a word first; then it says this again."""


@final
@attrs.frozen(kw_only=True)
class Busy:
    """A member that said that it had nothing to do has something else to do now."""

    member: str


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


BoardMessage = CreateItem | ReserveId | EditItem | Join | Idle | Busy | GiveBack | TurnOver | HandOut


@final
@attrs.frozen(kw_only=True)
class Assignment:
    """A member was given an item by another, and has not begun with it."""

    owner: str
    item: Item
    by: str


@final
@attrs.define(kw_only=True, eq=False)
class BoardHome:
    """What belongs to a board for good, whatever becomes of its actor."""

    team: str = ""
    """What its events say of whose board it is."""
    state: BoardState = attrs.field(factory=BoardState)
    reserved: int = 0
    """The highest id that was given to an item that is still to be created."""
    one_each: bool = False
    """Whether a member that works on an item is given no other one (`agent_busy`)."""
    waiting: dict[str, Ref[Any]] = attrs.field(factory=dict)
    """Members that have nothing to do, in the order in which they said so."""
    cut: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """Items that members were at when their team was closed, or its process ended; each goes on with them when it is there again."""
    holding: dict[str, Ref[Any]] = attrs.field(factory=dict)
    """Members that have nothing to do but own an item in progress, where each may have one only."""
    pausing: set[str] = attrs.field(factory=set)
    """Members that have nothing to do and take no item before they say so again."""
    members: dict[str, Ref[Any]] = attrs.field(factory=dict)
    names: dict[str, str] = attrs.field(factory=dict)
    """Of members, by the ids of their actors."""
    ended: set[str] = attrs.field(factory=set)
    """Names of members that have ended: what they said last may come after that."""
    freed: dict[str, None] = attrs.field(factory=dict)
    """Members of whose own items one can be begun now, still to be looked after."""
    tell_lead: Callable[[Note], Delivery] | None = None
    tell_owner: Callable[[Assignment], object]
    """Tells a member what it was given and cannot begin with at once."""
    settle: Callable[[str], None] | None = None
    """Called in the step in which a member said that it had nothing to do and the board had nothing for it."""
    is_closing: Callable[[], bool] = attrs.field(default=lambda: False)
    """Whether all members end together: what they own, they own still when the team is opened again."""
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

    @property
    def has_claimable(self) -> bool:
        """Whether an item waits for a member to claim it, some member may, and the claim could be put on record."""
        if self.state.claimable() is None or not self.may_hand_out:
            return False
        takers = (one for one in self.members if not (one in self.holding or one in self.pausing))
        return not self.members or any(self.state.claimable(one) is not None for one in takers)

    def holds(self, member: str, item_id: str) -> bool:
        """Whether an item is in progress and that member's."""
        item = self.state.items.get(item_id)
        return item is not None and item.status is ItemStatus.IN_PROGRESS and item.owner == member


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
            case ReserveId():
                ctx.reply(str(self._next_id()))
                self._home.reserved = self._next_id()
            case EditItem(edit=edit):
                self._edit(edit, ctx)
            case Join(member=member, ref=ref):
                self._join(member, ref, ctx)
            case Idle():
                self._hear_idle(message, ctx)
            case Busy(member=member):
                self._forget_idle(member)
            case GiveBack():
                self._hear_failure(message, ctx)
            case TurnOver(member=member, item=item_id):
                self._note_turn_over(member, item_id)
            case HandOut():
                self._look_again(ctx)
        self._hand_out(ctx)
        if isinstance(message, Idle):
            self._settle(message.member)
        self._tell_when_done()

    def on_signal(self, signal: Signal, ctx: Context) -> None:
        """Take back the items of a member that has ended."""
        if isinstance(signal, Down) and not self._home.is_closing():
            self._watched.discard(signal.actor)
            member = self._home.names.pop(signal.actor, None)
            if member is not None:
                self._leave(member, f"{member} has ended ({signal.state})", ctx)
            self._hand_out(ctx)

    # --- commands -----------------------------------------------------------------------------------------------------

    def _next_id(self) -> int:
        return max(self._home.state.last_id, self._home.reserved) + 1

    def _create(self, message: CreateItem, ctx: Context) -> None:
        refused = refuse_metadata(message.metadata)
        if refused is not None:
            ctx.reply(refused)
            return
        event = ItemCreated(
            item=message.id or str(self._next_id()),
            subject=cut(message.subject, SUBJECT_CHARS),
            description=cut(message.description, DESCRIPTION_CHARS),
            by=message.by,
            active_form=cut(message.active_form, SUBJECT_CHARS),
            metadata=dict(message.metadata) or None,
        )
        # The reply first: it refuses a message that was not asked, before anything has changed.
        ctx.reply(created(None, event))
        self._record([event], ctx)

    def _edit(self, edit: Edit, ctx: Context) -> None:
        home = self._home
        if edit.by in home.ended:  # it would own what nobody takes back
            ctx.reply(Refused("no_such_member", f"{edit.by!r} has ended"))
            return
        plan = plan_edit(home.state, edit, home.members.keys(), one_each=home.one_each)
        if isinstance(plan, Refused):
            ctx.reply(plan)
            return
        before = home.state.items[edit.item]
        after: Item | None = before
        for event in plan:
            after = changed(after, event) if event.item == edit.item else after
        ctx.reply(Edited(before=before, after=after, events=tuple(plan)))
        self._record(plan, ctx)
        if after is None:
            return
        if after.owner not in {"", before.owner, edit.by}:
            self._tell_of_owner(after, edit.by, plan, ctx)
        if any(isinstance(event, ItemReleased) and event.is_return for event in plan):
            self._tell_of_return(before, after)

    def _tell_of_owner(self, item: Item, by: str, plan: Sequence[ItemEvent], ctx: Context) -> None:
        """Let whoever was given an item by somebody else know of it."""
        home = self._home
        if any(isinstance(event, ItemClaimed) for event in plan):
            self._send_work(item, item.owner, ctx)
            return
        is_handed_out = item.owner in home.waiting and home.state.startable(item.owner) == item
        if is_handed_out or item.status is not ItemStatus.PENDING:
            return
        home.tell_owner(Assignment(owner=item.owner, item=item, by=by))

    def _tell_of_return(self, before: Item, after: Item) -> None:
        """Let the lead know of an item that its owner gave back; of one that passed to another member, where nobody is handed it."""
        is_given_on = after.owner not in {"", before.owner} and not after.is_held_back
        if not is_given_on and after.held_back != before.held_back:
            self._tell(
                f"Task #{after.id} ({after.subject}) came back from {before.owner}: given back. {self._fate(after)}"
            )

    def _note_turn_over(self, member: str, item_id: str) -> None:
        if self._home.holds(member, item_id):
            subject = self._home.state.items[item_id].subject
            self._tell(
                f"{member} ended its turn without completing task #{item_id} ({subject}). The task is "
                f"still its own: send it a message, or give the task back with TaskUpdate (status pending)."
            )

    def _hear_failure(self, message: GiveBack, ctx: Context) -> None:
        if self._home.holds(message.member, message.item):
            item = self._home.state.items[message.item]
            self._take_back(item, message.why, ctx, is_failure=message.is_failure)

    # --- members ------------------------------------------------------------------------------------------------------

    def _join(self, member: str, ref: Ref[Any], ctx: Context) -> bool:
        """Take note of a member; returns whether it is there."""
        home = self._home
        if ref.is_gone:  # its last word was overtaken by its end
            return False
        home.members[member] = ref
        home.names[ref.id] = member
        home.ended.discard(member)
        self._watch(ref, ctx)
        return True

    def _hear_idle(self, message: Idle, ctx: Context) -> None:
        home, member, ref = self._home, message.member, message.ref
        if not self._join(member, ref, ctx):
            return
        home.pausing.discard(member)
        if not message.takes_items:
            self._forget_idle(member)
            home.pausing.add(member)
            return
        if self._send_again(member, ctx):
            return
        if home.one_each and home.state.in_progress(member):
            home.holding[member] = ref
        else:
            home.waiting[member] = ref
            home.freed[member] = None

    def _send_again(self, member: str, ctx: Context) -> bool:
        """Let a member that is there again go on with what it was at; says whether there is anything."""
        home = self._home
        left = [one for one in home.cut.get(member, ()) if home.holds(member, one)]
        for one in left:
            self._send_work(home.state.items[one], member, ctx, is_cut=True)
        home.cut.pop(member, None)  # last, so that a crash on the way leaves it for the next incarnation
        return bool(left)

    def _forget_idle(self, member: str) -> None:
        home = self._home
        home.waiting.pop(member, None)
        home.holding.pop(member, None)
        home.pausing.discard(member)

    def _settle(self, member: str) -> None:
        home = self._home
        if home.settle is not None and (member in home.waiting or member in home.holding or member in home.pausing):
            home.settle(member)

    def _watch(self, ref: Ref[Any], ctx: Context) -> None:
        if ref.id not in self._watched:
            self._watched.add(ref.id)
            ctx.watch(ref)

    def _look_again(self, ctx: Context) -> None:
        for ref in self._home.members.values():
            self._watch(ref, ctx)

    def _leave(self, member: str, why: str, ctx: Context) -> None:
        home = self._home
        self._forget_idle(member)
        for index in (home.members, home.freed):
            index.pop(member, None)
        home.ended.add(member)
        items = home.state.owned(member)
        self._record([ItemReleased(item=one.id, owner=member, why=why, is_failure=False) for one in items], ctx)
        if items:
            listed = "\n".join(f"- #{one.id} ({one.subject})" for one in items)
            self._tell(f"{why}. These tasks came back to the board, pending and without an owner:\n{listed}")

    def _take_back(self, item: Item, why: str, ctx: Context, *, is_failure: bool = False) -> None:
        owner = item.owner
        self._record([ItemReleased(item=item.id, owner=owner, why=why, is_failure=is_failure)], ctx)
        fate = self._fate(self._home.state.items[item.id])
        self._tell(f"Task #{item.id} ({item.subject}) came back from {owner}: {why}. {fate}")

    def _fate(self, item: Item) -> str:
        """Return what becomes of an item that came back."""
        if item.is_held_back:
            return f"Nobody is given it any more. {_WHAT_NOW}"
        if item.owner or all(one in item.returned_by for one in self._home.members):
            return f"There is nobody else who is given it. {_WHAT_NOW}"
        return "Somebody else is given it."

    # --- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self, ctx: Context) -> None:
        """Give everybody who waits something to do: first what is its own, then the next that is nobody's."""
        home = self._home
        while home.freed and home.may_hand_out:
            member = next(iter(home.freed))
            item = home.state.startable(member) if member in home.waiting else None
            if item is not None:
                self._start(item, member, ctx)
            home.freed.pop(member, None)  # last, so that a crash on the way leaves it for the next incarnation
        while home.waiting and home.may_hand_out and (next_up := self._next_up()) is not None:
            self._start(*next_up, ctx)

    def _next_up(self) -> tuple[Item, str] | None:
        """Return the next item that is nobody's, and whose it becomes: of those who may be handed any, who has waited longest."""
        state = self._home.state
        if state.claimable() is None:
            return None
        # Few have to be asked: an item has come back from fewer members than would make it held back.
        offers = ((state.claimable(member), member) for member in self._home.waiting)
        return next(((item, member) for item, member in offers if item is not None), None)

    def _start(self, item: Item, member: str, ctx: Context) -> None:
        # The claim first: what is sent is never news to the board.
        self._record([ItemClaimed(item=item.id, owner=member)], ctx)
        self._send_work(item, member, ctx)

    def _send_work(self, item: Item, member: str, ctx: Context, *, is_cut: bool = False) -> None:
        self._home.waiting.pop(member, None)
        ref = self._home.members.get(member)
        if ref is None:  # the lead, who reads the board by itself
            return
        whose = "is still yours" if is_cut else "is yours"
        said = f"{escape_text(' '.join(item.subject.split()))}\n\n{escape_text(item.description)}"
        text = f"Task #{item.id} {whose}: {said}".rstrip()
        if is_cut:
            text += f"\n\n{_GO_ON}"
        delivery = ref.tell(Work(text, item.id), Lane.LATER, size_bytes=len(text))
        if delivery is not Delivery.ACCEPTED:
            self._take_back(self._home.state.items[item.id], f"the mailbox of {member} is {delivery}", ctx)

    def _tell_when_done(self) -> None:
        is_done = self._home.state.is_done
        if is_done and not self._home.was_done:
            self._tell(f"All {len(self._home.state.items)} tasks on the board are completed.")
        self._home.was_done = is_done

    def _tell(self, text: str) -> None:
        if self._home.tell_lead is not None:
            self._home.tell_lead(Note(text, "board"))

    def _record(self, events: Sequence[ItemEvent], ctx: Context) -> None:
        home = self._home
        for event in events:
            values = values_at(event, actor=ctx.ref.id, inc=ctx.incarnation, parent=ctx.seq, team=home.team)
            ctx.recorder.emit_fields(type(event), *values)
            before = home.state.items.get(event.item)
            for one in home.state.fold(event):
                owner = home.state.items[one].owner
                if owner:
                    home.freed[owner] = None
            if before is not None and before.owner in home.holding and not home.state.in_progress(before.owner):
                home.waiting[before.owner] = home.holding.pop(before.owner)
                home.freed[before.owner] = None
