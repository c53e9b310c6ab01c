"""The board: the actor that owns a team's list. Claims are messages to it, so they cannot race.

Rule 1: every message is one step, so that state read at its beginning still holds at its end. Rule 2: the state belongs
to the home and outlives a crash of the actor; derived state is rebuilt from it. Rule 3: items are handed only to
members that exist, and a member's items are released when it ends. Rule 4: the cost of a message does not depend on the
number of items or members. The board must not know of hooks, which run before a message is sent and not within its
step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.actors import Behavior, Context, Down, Ref, Signal
from greenroom.agents import Note, Work
from greenroom.core import JournalError, Level
from greenroom.core.texts import escape_text
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._board_items import DESCRIPTION_CHARS, SUBJECT_CHARS, Item, ItemStatus, changed, created, cut
from greenroom.teams._board_messages import (
    BoardMessage,
    CreateItem,
    Edited,
    EditItem,
    GiveBack,
    HandOut,
    Idle,
    ItemAssignment,
    Join,
    Occupied,
    ReserveId,
    TurnOver,
)
from greenroom.teams._board_state import BoardState
from greenroom.teams._edits import Edit, EditRefused, plan_edit, refuse_metadata
from greenroom.teams._item_events import ItemClaimed, ItemCompleted, ItemCreated, ItemEvent, ItemReleased, values_at
from greenroom.teams._team_settings import Conversations
from greenroom.teams._teammate_status import AT_REST, Availability

PROGRESS: Final = "{completed} of {items} tasks on the board are completed; their findings are there."

_WHAT_NOW: Final = (
    "If it is to be done, change its subject or description, or give it to somebody by name (TaskUpdate)."
)
_GO_ON: Final = "You were at it when the team was closed, or its process ended, and it is open again. See how far you came, and go on with it."


@final
@attrs.define(kw_only=True, eq=False)
class BoardHome:
    """State of a board that outlives its actor."""

    team: str = ""
    """Name of the team, for its events."""
    state: BoardState = attrs.field(factory=BoardState)
    reserved: int = 0
    """The highest id reserved for an item that is not created yet."""
    one_each: bool = False
    """True if a member that works on an item is given no other one (`agent_busy`)."""
    availability: dict[str, Availability] = attrs.field(factory=dict)
    """Availability of each member that ever joined; changed by `set_availability` only."""
    ready: dict[str, None] = attrs.field(factory=dict)
    """Members that are ready for an item, in the order in which they became idle."""
    cut: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """Items in progress when the team was closed, or its process ended, by member; each resumes them on its return."""
    begun: Collection[str] = ()
    """Those of these items that are what the conversation of their member is about."""
    members: dict[str, Ref[Any]] = attrs.field(factory=dict)
    names: dict[str, str] = attrs.field(factory=dict)
    """Names of members, by actor id."""
    freed: dict[str, None] = attrs.field(factory=dict)
    """Members that may now begin an item of their own, still to be processed."""
    tell_lead: Callable[[Note], Delivery] | None = None
    tell_owner: Callable[[ItemAssignment], object]
    """Notifies a member of an item that it was given and cannot begin at once."""
    settle: Callable[[str], None] | None = None
    """Called in the step in which a member reported to be idle and the board had nothing for it."""
    is_closing: Callable[[], bool] = attrs.field(default=lambda: False)
    """True if all members end together: they keep their items until the team is opened again."""
    was_done: bool = attrs.field(default=attrs.Factory(lambda home: home.state.is_done, takes_self=True))
    """True if the lead need not be told that all is done."""
    has_findings: bool = False
    """True once a member of this process has left findings with an item: its lead looks there, and not for mail."""
    quarters: int = attrs.field(default=attrs.Factory(lambda home: home.state.quarters, takes_self=True))
    """Of the completed items, those that the lead was told of."""
    conversations: Conversations = Conversations.KEEP
    board: Ref[Any] | None = None
    """The board itself, once it was spawned."""
    check_open: Callable[[], None] = attrs.field(default=lambda: None)
    """Raises if nothing new may begin, because it could not be recorded."""

    @property
    def may_hand_out(self) -> bool:
        """True if a claim could be recorded, and its owner would live to see it."""
        if self.is_closing():
            return False
        try:
            self.check_open()
        except JournalError:
            return False
        return True

    @property
    def has_claimable(self) -> bool:
        """True if an item is waiting to be claimed, some member may claim it, and the claim could be recorded."""
        if self.state.claimable() is None or not self.may_hand_out:
            return False
        kept = (Availability.HOLDING, Availability.PAUSING)
        takers = (member for member in self.members if self.availability.get(member) not in kept)
        return not self.members or any(self.state.claimable(taker) is not None for taker in takers)

    def set_availability(self, member: str, availability: Availability) -> None:
        """Note the availability of a member."""
        self.availability[member] = availability
        if availability is Availability.READY:
            self.ready[member] = None
        else:
            self.ready.pop(member, None)

    def is_at_rest(self, member: str) -> bool:
        """True if a member is idle."""
        return self.availability.get(member) in AT_REST

    def holds(self, member: str, item_id: str) -> bool:
        """True if an item is in progress and owned by that member."""
        item = self.state.items.get(item_id)
        return item is not None and item.status is ItemStatus.IN_PROGRESS and item.owner == member


@final
class Board(Behavior[BoardMessage]):
    """Creates, changes and hands out items. A plain function: every message is one step."""

    journal: ClassVar[Level] = Level.FULL

    def __init__(self, home: BoardHome) -> None:
        self._home = home
        self._watched: set[str] = set()
        if home.board is not None:  # a restart: nothing else would trigger handing out
            home.board.tell(HandOut(), Lane.NOW)

    def on_message(self, message: BoardMessage, ctx: Context) -> None:
        """Carry out one command, then hand out claimable items."""
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
                self._handle_idle(message, ctx)
            case Occupied(member=member):
                self._forget_idle(member)
            case GiveBack():
                self._handle_failure(message, ctx)
            case TurnOver(member=member, item=item_id):
                self._note_turn_over(member, item_id)
            case HandOut():
                self._watch_members(ctx)
        self._hand_out(ctx)
        if isinstance(message, Idle):
            self._settle(message.member)
        self._tell_of_progress()

    def on_signal(self, signal: Signal, ctx: Context) -> None:
        """Release the items of a member that has ended."""
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
        # The reply first: it refuses a message that was not an ask, before anything has changed.
        ctx.reply(created(None, event))
        self._record([event], ctx)

    def _edit(self, edit: Edit, ctx: Context) -> None:
        home = self._home
        if home.availability.get(edit.by) is Availability.ENDED:  # its items would never be released
            ctx.reply(EditRefused("no_such_member", f"{edit.by!r} has ended"))
            return
        plan = plan_edit(home.state, edit, home.members.keys(), one_each=home.one_each)
        if isinstance(plan, EditRefused):
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
        """Notify a member that was given an item by another one."""
        home = self._home
        if any(isinstance(event, ItemClaimed) for event in plan):
            self._send_work(item, item.owner, ctx)
            return
        is_handed_out = item.owner in home.ready and home.state.startable(item.owner) == item
        if is_handed_out or item.status is not ItemStatus.PENDING:
            return
        home.tell_owner(ItemAssignment(owner=item.owner, item=item, by=by))

    def _tell_of_return(self, before: Item, after: Item) -> None:
        """Notify the lead of an item that its owner gave back; if it was given to another member, only if nobody is
        handed it.
        """
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

    def _handle_failure(self, message: GiveBack, ctx: Context) -> None:
        if self._home.holds(message.member, message.item):
            item = self._home.state.items[message.item]
            self._take_back(item, message.why, ctx, is_failure=message.is_failure)

    # --- members ------------------------------------------------------------------------------------------------------

    def _join(self, member: str, ref: Ref[Any], ctx: Context) -> bool:
        """Register a member; return True if it exists."""
        home = self._home
        if ref.is_gone:  # its last message was overtaken by its end
            return False
        home.members[member] = ref
        home.names[ref.id] = member
        if home.availability.get(member, Availability.ENDED) is Availability.ENDED:
            home.set_availability(member, Availability.BUSY)
        self._watch(ref, ctx)
        return True

    def _handle_idle(self, message: Idle, ctx: Context) -> None:
        home, member, ref = self._home, message.member, message.ref
        if not self._join(member, ref, ctx):
            return
        if not message.takes_items:
            home.set_availability(member, Availability.PAUSING)
            return
        if home.availability[member] is Availability.PAUSING:
            home.set_availability(member, Availability.BUSY)
        if self._send_again(member, ctx):
            return
        if home.one_each and home.state.in_progress(member):
            home.set_availability(member, Availability.HOLDING)
        else:
            home.set_availability(member, Availability.READY)
            home.freed[member] = None

    def _send_again(self, member: str, ctx: Context) -> bool:
        """Resend a returning member the items that it was working on; return True if there are any."""
        home = self._home
        left = [item_id for item_id in home.cut.get(member, ()) if home.holds(member, item_id)]
        for item_id in left:
            is_cut = home.conversations is Conversations.KEEP or item_id in home.begun
            self._send_work(home.state.items[item_id], member, ctx, is_cut=is_cut)
        home.cut.pop(member, None)  # last, so that a crash on the way leaves it for the next incarnation
        return bool(left)

    def _forget_idle(self, member: str) -> None:
        if self._home.is_at_rest(member):
            self._home.set_availability(member, Availability.BUSY)

    def _settle(self, member: str) -> None:
        home = self._home
        if home.settle is not None and home.is_at_rest(member):
            home.settle(member)

    def _watch(self, ref: Ref[Any], ctx: Context) -> None:
        if ref.id not in self._watched:
            self._watched.add(ref.id)
            ctx.watch(ref)

    def _watch_members(self, ctx: Context) -> None:
        for ref in self._home.members.values():
            self._watch(ref, ctx)

    def _leave(self, member: str, why: str, ctx: Context) -> None:
        home = self._home
        home.set_availability(member, Availability.ENDED)
        for index in (home.members, home.freed):
            index.pop(member, None)
        items = home.state.owned(member)
        self._record([ItemReleased(item=item.id, owner=member, why=why, is_failure=False) for item in items], ctx)
        if items:
            listed = "\n".join(f"- #{item.id} ({item.subject})" for item in items)
            self._tell(f"{why}. These tasks came back to the board, pending and without an owner:\n{listed}")

    def _take_back(self, item: Item, why: str, ctx: Context, *, is_failure: bool = False) -> None:
        owner = item.owner
        self._record([ItemReleased(item=item.id, owner=owner, why=why, is_failure=is_failure)], ctx)
        fate = self._fate(self._home.state.items[item.id])
        self._tell(f"Task #{item.id} ({item.subject}) came back from {owner}: {why}. {fate}")

    def _fate(self, item: Item) -> str:
        """Return the fate of an item that came back, in words."""
        if item.is_held_back:
            return f"Nobody is given it any more. {_WHAT_NOW}"
        if item.owner or all(other in item.returned_by for other in self._home.members):
            return f"There is nobody else who is given it. {_WHAT_NOW}"
        return "Somebody else is given it."

    # --- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self, ctx: Context) -> None:
        """Give every waiting member something to do: first its own items, then unowned ones."""
        home = self._home
        while home.freed and home.may_hand_out:
            member = next(iter(home.freed))
            item = home.state.startable(member) if member in home.ready else None
            if item is not None:
                self._start(item, member, ctx)
            home.freed.pop(member, None)  # last, so that a crash on the way leaves it for the next incarnation
        while home.ready and home.may_hand_out and (next_up := self._next_up()) is not None:
            self._start(*next_up, ctx)

    def _next_up(self) -> tuple[Item, str] | None:
        """Return the next unowned item and its new owner: of the members that may be handed one, the one that has
        waited longest.
        """
        state = self._home.state
        if state.claimable() is None:
            return None
        # Few members are asked: an item that too many have given back is held back.
        offers = ((state.claimable(member), member) for member in self._home.ready)
        return next(((item, member) for item, member in offers if item is not None), None)

    def _start(self, item: Item, member: str, ctx: Context) -> None:
        # The claim first: the message must not be news to the board.
        self._record([ItemClaimed(item=item.id, owner=member)], ctx)
        self._send_work(item, member, ctx)

    def _send_work(self, item: Item, member: str, ctx: Context, *, is_cut: bool = False) -> None:
        if member in self._home.ready:
            self._home.set_availability(member, Availability.BUSY)
        ref = self._home.members.get(member)
        if ref is None:  # the lead, which reads the board by itself
            return
        whose = "is still yours" if is_cut else "is yours"
        said = f"{escape_text(' '.join(item.subject.split()))}\n\n{escape_text(item.description)}"
        text = f"Task #{item.id} {whose}: {said}".rstrip()
        if is_cut:
            text += f"\n\n{_GO_ON}"
        mark = self._home.state.items[item.id].mark(self._home.team)  # as it is since it was claimed
        is_fresh = self._home.conversations is Conversations.FRESH and not is_cut
        delivery = ref.tell(Work(text, item.id, mark, is_fresh=is_fresh), Lane.LATER, size_bytes=len(text))
        if delivery is not Delivery.ACCEPTED:
            self._take_back(self._home.state.items[item.id], f"the mailbox of {member} is {delivery}", ctx)

    def _tell_of_progress(self) -> None:
        """Notify the lead when everything is done; and of the quarters before, if nobody sends it what was found."""
        home, state = self._home, self._home.state
        if state.is_done and not home.was_done:
            self._tell(f"All {len(state.items)} tasks on the board are completed.")
        elif home.has_findings and not state.is_done and state.quarters > home.quarters:
            self._tell(PROGRESS.format(completed=state.completed, items=len(state.items)))
        home.was_done, home.quarters = state.is_done, max(home.quarters, state.quarters)

    def _tell(self, text: str) -> None:
        if self._home.tell_lead is not None:
            self._home.tell_lead(Note(text, "board"))

    def _record(self, events: Sequence[ItemEvent], ctx: Context) -> None:
        home = self._home
        for event in events:
            values = values_at(event, actor=ctx.ref.id, inc=ctx.incarnation, parent=ctx.seq, team=home.team)
            ctx.recorder.emit_fields(type(event), *values)
            home.has_findings = home.has_findings or (isinstance(event, ItemCompleted) and event.findings != "")
            before = home.state.items.get(event.item)
            for ready in home.state.fold(event):
                owner = home.state.items[ready].owner
                if owner:
                    home.freed[owner] = None
            owner = "" if before is None else before.owner
            if home.availability.get(owner) is Availability.HOLDING and not home.state.in_progress(owner):
                home.set_availability(owner, Availability.READY)
                home.freed[owner] = None
