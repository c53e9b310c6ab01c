"""The durable side of a session's inbox: what was accepted stays in a store until its line is in the transcript.

Rule 1: the line is on disk before the item leaves the store; what a transcript or the journal shows as read is never read again.
Rule 2: the user's words are known by the journal, which only the process that holds the run writes: an item of a store that
claims to be the user's, and that the journal does not know, is another process's, unless only the program writes the store. Rule 3: a store that cannot be written is no
reason to lose what this process was told: it stays in memory, and who waits for its durability is told.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.core import GreenroomError, JournalError, Recorder
from greenroom.core.ports import Ports, is_uuid
from greenroom.effects import plain_clock
from greenroom.inbox import (
    InboxAccepted,
    InboxExpired,
    InboxItem,
    InboxPoisoned,
    InboxStore,
    InboxTaken,
    InboxWithdrawn,
    OriginKind,
    StoredItem,
    Taken,
    attributes_of,
    peer,
)
from greenroom.permissions import Mode
from greenroom.session.assembly._host_ports import Hosted
from greenroom.session.record._inbox_record import count_items
from greenroom.session.record._json_lines import objects_of
from greenroom.store import INBOX, new_uuid, open_inbox_store
from greenroom.trace import JOURNAL, Journal

MAIN_BOX: Final = "main"
"""The box of the main agent in the store of its run."""
ANOTHER_PROCESS: Final = "another process"
"""The sender of an item that claims to be the user's and was put by a process that did not hold the run."""
DISPLACED: Final = "newer held items took its place"
MODE: Final = "permission_mode"
"""The key of a route that names the permission mode which the turn of the item must not exceed."""
ATTRIBUTES: Final = "attributes"
"""The key of a route that has the attributes of a channel's message."""
MAX_MARKS: Final = 8
"""Maximum number of items whose ids are searched for in long files; of more, all lines about items are read."""
_PLAIN: Final = re.compile(r"[\w.:-]+", re.ASCII)
_ENDS: Final = frozenset({InboxTaken.kind, InboxWithdrawn.kind, InboxExpired.kind})


@final
@attrs.define(eq=False)
class _Work:
    """What is to be written to the store with the next flush."""

    puts: list[StoredItem] = attrs.field(factory=list)
    begun: list[str] = attrs.field(factory=list)
    acks: list[str] = attrs.field(factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.puts or self.begun or self.acks)


@final
@attrs.frozen(kw_only=True)
class KnownItems:
    """What the journal and the transcript tell of items."""

    ended: frozenset[str]
    """Ids of items whose end the journal has."""
    accepted: frozenset[str]
    """Ids of items that the journal tells of as accepted."""
    read: frozenset[str]
    """Ids in the transcript."""
    users: frozenset[str]
    """Ids of items of the user's."""


@final
class StoredInbox:
    """Keeps what waits for the main agent until it has been read.

    Args:
        store: The store.
        box: The box of the main agent.
        journal: The session's.
        ports: Time, ids and threads.
        is_trusted: True if only this program writes the store, so that its items are whose they claim to be.

    Attributes:
        store: The store.
        box: The box.
        problems: Lines about what could not be kept or read, for people.
    """

    def __init__(
        self, store: InboxStore, box: str, *, journal: Journal, ports: Ports, is_trusted: bool = False
    ) -> None:
        self.store: Final = store
        self.box: Final = box
        self._is_trusted = is_trusted
        self.problems: list[str] = []
        self._journal = journal
        self._ports = ports
        self._work = _Work()
        self._wake = trio.Event()
        self._lock = trio.Lock()
        self._seen: set[str] = set()
        """Ids of the items that this process has."""
        self._refusals: dict[str, GreenroomError] = {}
        self._has_failed = False

    def __repr__(self) -> str:
        return f"<StoredInbox {self.box!r}>"

    @property
    def _recorder(self) -> Recorder:
        return self._journal.recorder

    # --- what comes in ---------------------------------------------------------------------------------------------

    def add_now(self, item: InboxItem) -> None:
        """Record an item of this process, and have it stored soon."""
        self._tell_accepted(item)
        self._seen.add(item.id)
        self._work.puts.append(self._stored(item))
        self._wake.set()

    async def add(self, item: StoredItem) -> InboxItem | None:
        """Store an item of a sender outside and return it for the queue; None if the box knew it.

        Raises:
            UsageError, BoxFull, JournalError: It is refused.
        """
        self._journal.check_open()
        self._seen.add(item.id)
        try:
            (place,) = await self.store.put([item])
        except BaseException:
            self._seen.discard(item.id)
            raise
        return self._received(item) if place.is_new else None

    async def wait_recorded(self) -> None:
        """Wait until the journal has everything so far.

        Raises:
            JournalError: It could not be written.
        """
        await self._journal.commit()

    async def wait_durable(self, item_id: str) -> None:
        """Wait until an item that was handed in here is stored; at once if it was already read.

        Raises:
            JournalError, BoxFull: It could not be stored; it waits in memory alone.
        """
        await self.flush()
        if item_id in self._refusals:
            raise self._refusals[item_id]

    def _received(self, item: StoredItem) -> InboxItem:
        """Return a stored item as an entry of the queue, and record that it was accepted."""
        self._seen.add(item.id)
        clock = self._ports.clock.bind()
        left_s = item.expires_at - self._ports.clock.wall().timestamp()
        entry = InboxItem(
            uuid=item.id if is_uuid(item.id) else new_uuid(self._ports.ids),
            id=item.id,
            text=item.text,
            lane=item.lane,
            kind=item.kind,
            origin=item.origin,
            is_meta=item.is_meta,
            is_command=item.is_command,
            permission_mode=_limit_of(item),
            attributes=attributes_of(item.route.get(ATTRIBUTES)),
            expires_s=math.inf if math.isinf(left_s) else clock() + left_s,
        )
        self._tell_accepted(entry, was_stored=True)
        return entry

    def _stored(self, item: InboxItem) -> StoredItem:
        now = self._ports.clock.wall().timestamp()
        left_s = item.expires_s - self._ports.clock.bind()()
        return StoredItem(
            id=item.id,
            box=self.box,
            text=item.text,
            origin=item.origin,
            lane=item.lane,
            kind=item.kind,
            is_meta=item.is_meta,
            is_command=item.is_command,
            created_at=now,
            expires_at=now + left_s,
        )

    def _tell_accepted(self, item: InboxItem, *, was_stored: bool = False) -> None:
        self._recorder.emit(
            InboxAccepted(
                item=item.id,
                origin=item.origin.kind.value,
                sender=item.origin.name,
                lane=item.lane.value,
                entry=item.kind.value,
                chars=len(item.text),
                was_stored=was_stored,
            )
        )

    # --- how it ends -----------------------------------------------------------------------------------------------

    def note_begun(self, item_id: str) -> None:
        """Count that a turn begins with an item."""
        self._work.begun.append(item_id)
        self._wake.set()

    def note_taken(self, item_id: str) -> None:
        """Record that an item is in the transcript, and remove it once that is on disk."""
        self._recorder.emit(InboxTaken(item=item_id))
        self._end(item_id)

    def note_expired(self, item_id: str) -> None:
        """Record that an item was too late, and remove it."""
        self._recorder.emit(InboxExpired(item=item_id))
        self._end(item_id)

    def note_withdrawn(self, item_id: str, why: str) -> None:
        """Record that an item is not to be read, and remove it."""
        self._recorder.emit(InboxWithdrawn(item=item_id, why=why))
        self._end(item_id)

    def _end(self, item_id: str) -> None:
        self._work.acks.append(item_id)
        self._wake.set()

    # --- writing ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Write what comes together, until it is cancelled."""
        while True:
            await self._wake.wait()
            await self.flush()

    async def flush(self) -> None:
        """Return when all that was handed in and noted so far is stored, or was refused."""
        async with self._lock:
            self._wake = trio.Event()
            work, self._work = self._work, _Work()
            try:
                await self._write(work)
            except BaseException:  # cancelled: the next flush writes it, and what was written already changes nothing
                later = self._work
                self._work = _Work(work.puts + later.puts, work.begun + later.begun, work.acks + later.acks)
                self._wake.set()
                raise

    async def _write(self, work: _Work) -> None:
        if work.is_empty:
            await trio.lowlevel.checkpoint()
            return
        ended = set(work.acks)
        try:
            await self._journal.commit()  # what was said stands on disk before it leaves the store
            new = [item for item in work.puts if item.id not in ended]
            if new:
                await self._put(new)
            begun = [item_id for item_id in work.begun if item_id not in ended]
            if begun:
                await self.store.begin(self.box, begun)
            there = ended - {item.id for item in work.puts}
            if there:
                await self.store.ack(self.box, [item_id for item_id in work.acks if item_id in there])
        except JournalError as error:
            self._refuse([item for item in work.puts if item.id not in ended], error)

    async def _put(self, items: list[StoredItem]) -> None:
        try:
            await self.store.put(items)
        except JournalError:
            raise
        except GreenroomError as error:
            if len(items) == 1:
                self._refuse(items, error)
                return
            for item in items:  # one of them has no room: the others may have
                await self._put([item])

    def _refuse(self, items: Iterable[StoredItem], error: GreenroomError) -> None:
        for item in items:
            self._refusals[item.id] = error
        self.tell_problem(error)

    def tell_problem(self, error: GreenroomError) -> None:
        """Say once that the store cannot be used."""
        if not self._has_failed:
            self._has_failed = True
            self.problems.append(f"what waits for the main agent cannot be stored: {error}")

    # --- what an earlier process, or another one, left -------------------------------------------------------------

    async def read_earlier(self, run_folder: Path) -> list[InboxItem]:
        """Return what is in the store and was not read; what was read is removed first.

        Raises:
            JournalError: The store cannot be read.
        """
        await self.store.reopen(self.box)
        taken = await self.store.take(self.box)
        if not taken.items:
            return self._receive(taken, None)
        ids = [item.id for item in taken.items]
        return self._receive(taken, await self._ports.blocking.run(read_known, run_folder, ids))

    async def read_news(self) -> list[InboxItem]:
        """Return what others have put since the last call.

        Raises:
            JournalError: The store cannot be read.
        """
        return self._receive(await self.store.take(self.box), None)

    def _receive(self, taken: Taken, known: KnownItems | None) -> list[InboxItem]:
        items = []
        for item in taken.items:
            if item.id in self._seen:
                continue
            if known is not None and item.id in known.ended:
                self._end(item.id)
            elif known is not None and item.id in known.read:
                if item.id not in known.accepted:  # the journal was cut before it
                    self._received(item)
                self.note_taken(item.id)
            else:
                is_known = self._is_trusted or (known is not None and item.id in known.users)
                items.append(self._received(item if is_known else _not_the_users(item)))
        for item in taken.expired:
            self.note_expired(item.id)
        for item in taken.refused:
            self.note_withdrawn(item.id, DISPLACED)
        for item in taken.poisoned:
            self._recorder.emit(InboxPoisoned(item=item.id, attempts=item.attempts))
            self.problems.append(
                f"message {item.id} ({item.origin.kind.value}) was not read: {item.attempts} turns began with it and ended with "
                "their process; it is kept in the store"
            )
        return items


@asynccontextmanager
async def open_stored_inbox(host: Hosted, *, journal: Journal, ports: Ports) -> AsyncIterator[StoredInbox]:
    """Open the durable side of a session's inbox; leaving it writes what is left.

    Args:
        host: Has the program's store, which it closes itself, and the box; by default the store of the run folder, and as box the id
            of the session in a program's store, and `main` in that of a run folder.
        journal: The session's.
        ports: Time, ids and threads.

    Raises:
        JournalError: The store of the run folder is damaged, or a newer version wrote it.
    """
    given = host.store
    store = given or await open_inbox_store(
        journal.folder / INBOX,
        blocking=ports.blocking,
        wall=plain_clock(ports.clock).wall,  # read in threads, and by no model
        is_power_safe=journal.is_power_safe,
    )
    default = MAIN_BOX if given is None else journal.folder.name
    is_trusted = given is not None and host.trusts_store
    inbox = StoredInbox(store, host.box or default, journal=journal, ports=ports, is_trusted=is_trusted)
    try:
        yield inbox
    finally:
        with trio.CancelScope(shield=True):  # calls of the disk
            with suppress(JournalError):  # the journal and the store have what could be written
                await inbox.flush()
            if given is None:
                await store.aclose()


def _limit_of(item: StoredItem) -> str:
    """Return the permission mode that the turn of an item must not exceed; a word that is none stands for the strictest."""
    mode = item.route.get(MODE)
    return "" if mode is None else mode if mode in set(Mode) else Mode.PLAN.value


def _not_the_users(item: StoredItem) -> StoredItem:
    if item.origin.kind is not OriginKind.HUMAN:
        return item
    return attrs.evolve(item, origin=peer(ANOTHER_PROCESS), is_command=False)


def read_known(run_folder: Path, ids: Sequence[str]) -> KnownItems:
    """Return what the journal and the transcript of a run tell of these items, and maybe of others. It looks at the disk."""
    ended, accepted, users = set(), set(), set()
    is_plain = len(ids) <= MAX_MARKS and all(map(_PLAIN.fullmatch, ids))  # JSON has other texts with escapes
    marks = [f'"{item}"'.encode() for item in ids] if is_plain else []
    for values in objects_of(run_folder / JOURNAL, *(marks or [b'"inbox.'])):
        item = str(values.get("item"))
        if values.get("ev") in _ENDS:
            ended.add(item)
        elif values.get("ev") == InboxAccepted.kind:
            accepted.add(item)
            if values.get("origin") == OriginKind.HUMAN.value:
                users.add(item)
    read = frozenset(count_items(run_folder, *marks))
    return KnownItems(ended=frozenset(ended), accepted=frozenset(accepted), read=read, users=frozenset(users))
