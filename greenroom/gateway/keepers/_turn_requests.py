"""Ends of turns that somebody asks for, turns that are run beside the others, and turns that are looked up in files."""

from __future__ import annotations

from functools import partial

import trio

from greenroom.actors import State
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._keeper import SessionKeeper
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._seams import AsideReply, PastTurn
from greenroom.gateway.keepers._turn_lookup import find_answer, spent_requests
from greenroom.gateway.keepers._turn_reporter import Aside, TurnStop, unread_end
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.routing._session_key import SessionKey


async def ask_aside(keeper: SessionKeeper, aside: Aside, *, within_s: float) -> AsideReply:
    """Wait for a turn that is run beside the others, and return its reply.

    Args:
        aside: The turn; it was added to `asides`.
        within_s: The limit of its time, from when it has its place.
    """
    try:
        await aside.began.wait()
        with trio.move_on_after(within_s) as scope:
            await aside.ended.wait()
        if scope.cancelled_caught:
            keeper.interrupt(TurnStop(EndCause.TIMEOUT, "gateway", f"it took longer than {within_s:g} s"))
            await aside.ended.wait()
    finally:
        _leave_aside(keeper, aside)
    over = aside.over
    if over is None:
        return AsideReply()
    return AsideReply(over.said if over.state is State.COMPLETED else "", over.requests)


async def compact(keeper: SessionKeeper, aside: Aside) -> str:
    """Replace the conversation of a session by a summary; return why that was not possible, empty if it was.

    Args:
        aside: The compaction; it was added to `asides`.
    """
    try:
        await aside.began.wait()
        reporter, session = keeper.reporter, keeper.session
        if session is None or reporter is None or reporter.aside is not aside:
            return "its session has ended"
        return await session.compact()
    finally:
        _leave_aside(keeper, aside)


def _leave_aside(keeper: SessionKeeper, aside: Aside) -> None:
    """Forget a turn aside, and end it if nobody waits for it any more."""
    keeper.asides.remove(aside)
    reporter, session = keeper.reporter, keeper.session
    if reporter is not None and session is not None and reporter.aside is aside:
        if aside.is_compaction and not reporter.has_turn:
            reporter.drop_compaction()
        elif session.withdraw(aside.item):
            reporter.aside = None
        else:
            session.interrupt("nobody waits for it any more")
    keeper.wake()


# --- stopping ---------------------------------------------------------------------------------------------------------


async def stop_turn(keeper: SessionKeeper, stop: TurnStop, item: str) -> bool:
    """End the turn that runs or waits, or withdraw one item; return True when it has ended, False if there was none."""
    await keeper.opening.wait()
    items = keeper.items
    was_cut = await _stop_cut(keeper, stop, item)
    if was_cut and (item or keeper.reporter is None):
        return True
    if item and item not in items.taken:
        if item not in items.held and item not in items.handed:
            return False
        if keeper.session is None or item in items.held:
            return await _withdraw(keeper, stop, item)
        reporter, session = keeper.reporter, keeper.session
        assert reporter is not None
        await reporter.wait_accepted(item)
        if item not in items.handed or keeper.session is not session:
            return False
        if item not in items.taken and session.withdraw(item):
            reporter.withdrawn[item] = stop
            return await reporter.wait_settled(item)
    if keeper.reporter is None:
        unread = items.unread[:1]
        return bool(unread) and await _withdraw(keeper, stop, unread[0])
    reporter = keeper.reporter
    await reporter.wait_seen()
    if keeper.reporter is not reporter or not reporter.has_turn:  # the session may have ended meanwhile
        return was_cut
    ends = reporter.ends
    return (keeper.interrupt(stop) and await reporter.wait_end(ends)) or was_cut


async def _stop_cut(keeper: SessionKeeper, stop: TurnStop, item: str) -> bool:
    """End a turn that was cut and that nothing has resumed yet; False if there is none, or it did not take up the item."""
    items = keeper.items
    cut = tuple(items.cut)
    if not cut or (item and item not in cut):
        return False
    keeper.resumes = False
    for id_ in cut:
        items.remove(id_)  # before anything is awaited: a session that is opened meanwhile does not resume it
    with trio.CancelScope(shield=True):
        await keeper.parts.watcher.turn_ended(unread_end(keeper.name, keeper.row.session_id, cut, stop.why, stop))
        for id_ in cut:
            keeper.settle(id_, stop.why)
    return True


async def _withdraw(keeper: SessionKeeper, stop: TurnStop, item: str) -> bool:
    """Withdraw an item that no session has."""
    await keeper.wait_told(item)
    if not await keeper.parts.store.withdraw(keeper.name, item):
        return False
    await keeper.parts.watcher.turn_ended(unread_end(keeper.name, keeper.row.session_id, (item,), stop.why, stop))
    keeper.settle(item, stop.why)
    keeper.wake()
    return True


# --- turns of the past, from the files of their sessions --------------------------------------------------------------


async def find_past_turn(parts: KeeperParts, session: str, session_id: str, item: str) -> PastTurn:
    """Return what the turn that took up an item has said, and the requests of its session.

    Args:
        parts: Parts of the keepers.
        session: Key of the session.
        session_id: Id of its run folder.
        item: The item.
    """
    folder = sessions_folder(parts.state_folder, SessionKey.parse(session)) / session_id
    over = (await parts.ports.blocking.run(partial(parts.look_up, folder, item))).over
    requests = await parts.ports.blocking.run(partial(spent_requests, folder))
    return PastTurn("" if over is None else over.said, requests)


async def find_past_answer(parts: KeeperParts, session: str, text: str) -> str:
    """Return the final message of the last turn that a text began in a session; empty if there is none."""
    row = parts.record.registry.sessions[session]
    folder = sessions_folder(parts.state_folder, SessionKey.parse(session)) / row.session_id
    return await parts.ports.blocking.run(partial(find_answer, folder, text))
