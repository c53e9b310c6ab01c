"""The sessions of a gateway by key: what is put into them, what is asked of them, and the actors that keep them.

    async with open_keepers(...) as keepers:
        await keepers.put(key, NewInput(...))       # durable when it returns; the turn is reported to the watcher

Rule 1: an input is in the store, then in the journal, then accepted. Rule 2: a session is opened only by its keeper. Rule 3: a keeper that
crashes too often is broken, and no other one notices.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.gateway._gateway_errors import Conflict
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._agent_budgets import AgentBudgets
from greenroom.gateway.keepers._agent_setup import OpenModel, ToolsFor
from greenroom.gateway.keepers._box_items import stored_item, waiting_item
from greenroom.gateway.keepers._input_store import PEOPLE, check_room, record_input, store_input
from greenroom.gateway.keepers._keeper_actors import KeeperActors
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._kept_session import Opener, open_kept
from greenroom.gateway.keepers._left_items import LeftItems, adopt, read_left, settle_left, unsettled_items
from greenroom.gateway.keepers._seams import AsideReply, NewInput, OnSessionEvent, PastTurn, TurnWatcher
from greenroom.gateway.keepers._session_changes import (
    archive_session,
    check_archive,
    check_new,
    finish_archives,
    needs_reopening,
    patch_session,
    reset_reason,
    reset_session,
)
from greenroom.gateway.keepers._turn_lookup import LookUp, look_up
from greenroom.gateway.keepers._turn_reporter import Aside, TurnStop
from greenroom.gateway.keepers._turn_requests import ask_aside, find_past_answer, find_past_turn, stop_turn
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import InboxStore
from greenroom.store import new_uuid
from greenroom.supervisor import Runtime, open_runtime


@final
class KeeperSet:
    """The sessions of a gateway. Made by `open_keepers`.

    Attributes:
        broken: The sessions that cannot be kept, each with the reason; `reset` makes one usable again.
    """

    def __init__(self, parts: KeeperParts, actors: KeeperActors) -> None:
        self._parts = parts
        self._actors = actors
        self._left: dict[str, dict[str, bool]] = {}
        self._unrecovered: set[str] = set()
        """Keys of the sessions of which something is left that `recover` has not looked at: they begin nothing."""

    def __repr__(self) -> str:
        return f"<KeeperSet: {len(self._actors.open)} open, {len(self._actors.keepers)} known, {len(self._actors.broken)} broken>"

    @property
    def runtime(self) -> Runtime:
        """The runtime of the gateway, for the actors beside keepers."""
        return self._actors.runtime

    @property
    def broken(self) -> dict[str, str]:
        """The sessions that cannot be kept, each with the reason; `reset` makes one usable again."""
        return self._actors.broken

    # --- looking ------------------------------------------------------------------------------------------------------

    def is_busy(self, key: str) -> bool:
        """True if a turn of it runs or waits for a place."""
        keeper = self._actors.keepers.get(key)
        return keeper is not None and keeper.is_busy

    def claim_of(self, key: str) -> TurnClaim | None:
        """Return the place of the turn of a session that runs, for `TurnLanes.lend`; None if none runs."""
        keeper = self._actors.keepers.get(key)
        return None if keeper is None else keeper.claim

    @property
    def open_count(self) -> int:
        """Number of sessions in memory."""
        return len(self._actors.open)

    # --- what comes in ------------------------------------------------------------------------------------------------

    def events_for_new(
        self,
        key: SessionKey,
        *,
        spawned_by: str = "",
        label: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> tuple[GatewayEvent, ...]:
        """Return the events that make a session known; none if it is known. They may be written with others.

        Raises:
            Conflict: The agent has too many sessions, or has used its budget of the day and would start a sub-agent.
        """
        registry = self._parts.record.registry
        if str(key) in registry.sessions:
            return ()
        check_new(self._parts, key, spawned_by)
        made = SessionMade(
            at_s=self._parts.now(),
            session=str(key),
            session_id=new_uuid(self._parts.ports.ids),
            spawned_by=spawned_by,
            label=label,
            settings=dict(settings or {}),
        )
        return (made,)

    async def make(
        self,
        key: SessionKey,
        *,
        spawned_by: str = "",
        label: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a session known, and return when that is durable; nothing is opened.

        Raises:
            Conflict: The agent has too many sessions.
            JournalError: It could not be recorded.
        """
        events = self.events_for_new(key, spawned_by=spawned_by, label=label, settings=settings)
        if events:
            await self._parts.record.write(*events)

    async def put(self, key: SessionKey, new: NewInput) -> bool:
        """Put an input on record and into the store, and wake the keeper; False if it was there before. Then it is durable.

        Cancelled, it was put whole or not at all.

        Raises:
            Conflict: The session is archived.
            BoxFull: Too many inputs wait.
            UsageError: The text is blank or too long.
            JournalError: The disk refuses.
        """
        self._parts.record.journal.check_open()
        await self.make(key)
        if new.origin.kind in PEOPLE:
            await self._begin_anew(str(key))
        keeper = self._actors.keeper(key)
        if keeper.row.state is SessionState.ARCHIVED:
            raise Conflict(f"session {keeper.name!r} is archived; it takes no messages")
        if new.id in keeper.unrecorded:
            await record_input(keeper, keeper.unrecorded[new.id], new.reason)
            self._actors.wake(keeper)
            return True
        if new.id in keeper.items.handed or new.id in keeper.items.held:
            await keeper.wait_told(new.id)
            return False
        check_room(keeper, new)
        mode = keeper.queue_mode(new.queue)
        item = stored_item(keeper.name, new, mode, is_held=False, now_s=self._parts.now())
        item = attrs.evolve(item, is_held=keeper.items.add(waiting_item(item)))
        keeper.untold[new.id] = told = trio.Event()
        with trio.CancelScope(shield=True):
            try:
                is_new = await store_input(keeper, item, new.reason)
            except BaseException:
                if new.id not in keeper.unrecorded:
                    keeper.items.remove(new.id)
                raise
            finally:
                keeper.untold.pop(new.id, None)
                told.set()
        if not is_new:
            keeper.items.remove(new.id)
        self._actors.wake(keeper)
        return is_new

    async def _begin_anew(self, key: str) -> None:
        """Reset a session whose conversation is over by the configuration, unless something is under way in it."""
        row = self._parts.record.registry.sessions[key]
        why = reset_reason(self._parts.config().session, row, self._parts.now())
        keeper = self._actors.keepers.get(key)
        if (
            why
            and row.state is not SessionState.ARCHIVED
            and (keeper is None or (keeper.is_idle and not keeper.is_paused))
        ):
            await self.reset(key, who=f"session.reset ({why})")

    # --- turns --------------------------------------------------------------------------------------------------------

    async def stop_turn(self, key: str, *, who: str, cause: EndCause = EndCause.STOP, item: str = "") -> bool:
        """End the turn that runs or waits, or withdraw one item; return True when it has ended, False if there was none.

        Args:
            key: The session.
            who: Who asks.
            cause: The kind of cause that is reported.
            item: The item to withdraw; if a turn has taken it up, that ends. Empty for whatever turn runs or waits.
        """
        keeper = self._actors.keepers.get(key)
        why = "its limit of time has passed" if cause is EndCause.TIMEOUT else f"stopped by {who}" if who else "stopped"
        return keeper is not None and await stop_turn(keeper, TurnStop(cause, who, why), item)

    async def find_turn(self, session: str, session_id: str, item: str) -> PastTurn:
        """Return what the files of a session tell of the turn that took up an item; nothing is opened."""
        return await find_past_turn(self._parts, session, session_id, item)

    async def ask_aside(
        self, key: str, text: str, *, within_s: float, max_requests: int, is_again: bool = False
    ) -> AsideReply:
        """Run one further turn whose tools are all refused, such as the announce step, and return its reply.

        It waits until no other turn of the session runs or waits, and for a place. Nobody else is told about it.

        Args:
            key: The session.
            text: What the agent is told.
            within_s, max_requests: The limits of its time, from when it has its place, in seconds, and of its model requests.
            is_again: True if an earlier process may have asked: an answer that is in the transcript is returned without asking.

        Raises:
            NotFound: There is no such session.
        """
        keeper = self._actors.known(key)
        if is_again and (answer := await find_past_answer(self._parts, key, text)):
            return AsideReply(answer)
        if keeper.row.state is SessionState.ARCHIVED or key in self._actors.broken or self._actors.is_stopping:
            return AsideReply()
        aside = Aside(text, max_requests)
        keeper.asides.append(aside)
        self._actors.wake(keeper)
        return await ask_aside(keeper, aside, within_s=within_s)

    async def compact(self, key: str, *, within_s: float) -> bool:
        """Replace a conversation by a summary, once no turn runs; False if that takes longer, and then it is done all the same.

        Raises:
            NotFound, Conflict: There is no such session, or it is archived.
            UsageError: Nothing was said in it, or the model wrote no summary.
        """
        keeper = self._actors.known(key)
        if keeper.row.state is SessionState.ARCHIVED:
            raise Conflict(f"session {key!r} is archived")
        if not keeper.row.person_s and keeper.row.used_s <= keeper.row.began_s:
            raise UsageError("there is nothing to compact: the conversation has not begun")
        compaction = self._actors.compact_soon(keeper)
        with trio.move_on_after(within_s):
            await compaction.ended.wait()
        if compaction.error:
            raise UsageError(f"cannot compact the conversation: {compaction.error}")
        return compaction.ended.is_set()

    def resume_cut(self, key: str) -> None:
        """Resume the turn of a session that an earlier process did not finish, behind what people have said since.

        Raises:
            NotFound: There is no such session.
        """
        keeper = self._actors.known(key)
        keeper.resumes = True
        self._actors.wake(keeper)

    def drop_cut(self, key: str, why: str) -> tuple[str, ...]:
        """Settle the items of a turn that an earlier process did not finish and that is not resumed, and return them.

        Raises `NotFound` if there is no such session.
        """
        keeper = self._actors.known(key)
        items = () if keeper.session is not None else tuple(keeper.items.taken)
        for item in items:
            keeper.settle(item, why)
        self._actors.wake(keeper)
        return items

    # --- changes ------------------------------------------------------------------------------------------------------

    async def reset(self, key: str, *, who: str) -> str:
        """Give a key a new, empty session, archive the former one, and return the new session id. Never in the middle of a turn.

        A broken session is usable again. What waits is read by the new session.

        Raises:
            NotFound, Conflict: There is no such session, or it is archived.
            JournalError: It could not be recorded; nothing was changed.
        """
        async with self._actors.at_rest(key) as keeper:
            id_ = await reset_session(keeper, who)
            self._actors.broken.pop(key, None)
            return id_

    async def patch(self, key: str, settings: Mapping[str, object], *, label: str | None = None) -> None:
        """Change settings of a session; they count from its next turn, and survive restarts.

        A session whose model, thinking or tools change is opened anew before that.

        Args:
            key: The session.
            settings: The changes by name: `model`, `thinking`, `queue`, `send_policy`, `permission_mode`; None takes one away.
            label: The new label; None for the old one.

        Raises:
            NotFound, Conflict: There is no such session, or it is archived.
            UsageError: A setting is unknown or has a wrong value.
            JournalError: It could not be recorded.
        """
        keeper = self._actors.known(key)
        await patch_session(keeper, settings, label)
        if key in self._actors.running and needs_reopening(settings):
            keeper.items.pauses += 1  # in this step: what is put next waits for the session with the new settings
            self._actors.reopen_soon(keeper)

    async def archive(self, key: str, *, why: str, is_forced: bool = False, transcript: str = "") -> str:
        """Close a session for good, rename its transcript, and return the new name.

        Args:
            key: The session.
            why: The reason that is recorded.
            is_forced: True withdraws what waits; otherwise that is a conflict.
            transcript: The new name of the transcript, if somebody was told it; by default one is made.

        Raises:
            NotFound, Conflict: There is no such session; it is archived, is a main session, works, or messages wait for it.
            JournalError: It could not be recorded, or the transcript not renamed: then the next start does that.
        """
        check_archive(self._actors.known(key), is_forced=is_forced)
        async with self._actors.at_rest(key) as keeper:
            return await archive_session(keeper, why, transcript)

    # --- after a start ------------------------------------------------------------------------------------------------

    async def recover(self) -> tuple[str, ...]:
        """Report what an earlier process did not report, begin what waits, and return the keys whose turn was cut.

        Called once, when the watcher is ready. For each of the keys the caller says what follows: `resume_cut` or `drop_cut`.

        Raises:
            JournalError: The store cannot be read, or nothing can be recorded.
        """
        await finish_archives(self._parts)
        for key in sorted(self._unrecovered):
            keeper = self._actors.keeper(SessionKey.parse(key))
            await settle_left(keeper, self._left.get(key, {}))
            self._unrecovered.discard(key)
            keeper.items.pauses -= 1
            if not keeper.items.taken or keeper.items.unread or keeper.items.held:
                self._actors.wake(keeper)
        return tuple(key for key in self._left if self._actors.keeper(SessionKey.parse(key)).items.taken)

    def adopt(self, left: Mapping[str, LeftItems]) -> None:
        """Take over what an earlier process left, before anything is put; its sessions begin nothing before `recover`."""
        for key, items in left.items():
            adopt(self._actors.keeper(SessionKey.parse(key)), items)
        self._left = unsettled_items(self._parts.record.registry, left)
        self._unrecovered.update(self._left)
        for key in self._left:
            self._actors.keeper(SessionKey.parse(key)).items.pauses += 1

    # --- stopping -----------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Begin no turn any more, and wait until those that run have ended and the sessions are closed."""
        await self._actors.drain()

    def kill(self, key: str, why: str = "killed") -> bool:
        """Kill the keeper of a session, and its session with it; False if it has none. The next keeper resumes its turn."""
        return self._actors.kill(key, why)

    def cut_all(self, why: str) -> None:
        """End all sessions now, and begin none any more; their turns are left to be resumed."""
        self._actors.cut_all(why)


@asynccontextmanager
async def open_keepers(
    *,
    config: Callable[[], GatewayConfig],
    record: GatewayRecord,
    store: InboxStore,
    lanes: TurnLanes,
    watcher: TurnWatcher,
    on_event: OnSessionEvent,
    open_model: OpenModel,
    tools_for: ToolsFor,
    ports: Ports,
    state_folder: Path,
    base: Path | None = None,
    opener: Opener = open_kept,
    find_fate: LookUp = look_up,
    on_broken: Callable[[str, str], object] | None = None,
    secrets: Callable[[], Collection[str]] = tuple,
) -> AsyncIterator[KeeperSet]:
    """Open the sessions of a gateway; leaving the block ends what runs, and leaves turns to be resumed.

    Args:
        config, record, lanes: The configuration in force; the gateway's journal and registry; the places of turns.
        store, watcher: The gateway's store of inputs, into which nobody else puts; what hears about turns.
        on_event: Called with each event of a session; it may only store values and wake tasks, as `on_broken` may.
        open_model, tools_for: Return the model for an agent id and a reference, and the tools of a session before the policy.
        ports, state_folder: Time, ids, disk and threads; the folder of the run folders.
        base: The folder on which relative paths of the configuration stand; by default the state folder's parent.
        opener, find_fate: Open a session, and tell what became of an item; for tests.
        on_broken, secrets: Called with a session that cannot be kept, and the reason; returns what sessions mask in their records.
    """
    parts = KeeperParts(
        config=config,
        record=record,
        store=store,
        lanes=lanes,
        watcher=watcher,
        on_event=on_event,
        open_model=open_model,
        tools_for=tools_for,
        ports=ports,
        state_folder=state_folder,
        base=base or state_folder.parent,
        opener=opener,
        look_up=find_fate,
        on_broken=on_broken,
        budgets=AgentBudgets(config, state_folder, ports),
        secrets=secrets,
    )
    async with (
        open_runtime(ports=ports, recorder=record.journal.recorder, check_open=record.journal.check_open) as runtime,
        trio.open_nursery() as nursery,
    ):
        keepers = KeeperSet(parts, KeeperActors(parts, runtime, nursery))
        keepers.adopt(await read_left(parts))
        try:
            yield keepers
        finally:
            keepers.cut_all("the gateway stops")
        nursery.cancel_scope.cancel("the gateway stops")
