"""The archive: sessions of sub-agents leave it their transcripts when their time is over, or at once if they were started so. What
lay in it for long enough is removed.

Rule 1: the time counts from the end of the last run, by the wall clock, and is on record. Rule 2: a session that works, or of which a
result is not delivered, stays. Rule 3: what a session has started is stopped before it goes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from greenroom.core import GreenroomError
from greenroom.core.ports import Ports
from greenroom.gateway._gateway_errors import Conflict, Forbidden, NotFound
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._seams import Keepers
from greenroom.gateway.record._gateway_events import SessionRemoved
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._recovery_plan import AlarmKind, alarms
from greenroom.gateway.record._rows import COMPLETION, Run, SessionRow
from greenroom.gateway.routing._session_key import MainSession, SessionKey
from greenroom.gateway.runs._completions import archived_name
from greenroom.gateway.runs._run_stops import Stopped
from greenroom.session import sweep_runs
from greenroom.store import RetentionSettings

SWEEP_S: Final = 60.0
"""Seconds between two looks at the clock."""
BUSY_S: Final = 15.0
"""Seconds that a session has to end its turn when it is archived."""
_POLL_S: Final = 0.25
DAY_S: Final = 86_400
PRUNE_S: Final = 3600.0
"""Seconds between two looks at what was archived long ago."""
StopChildren: TypeAlias = Callable[[str, str], Awaitable[Stopped]]
"""Stops what a session has started."""


@final
class ArchiveClock:
    """The archiving of sessions.

    Args:
        record: The gateway's journal.
        keepers: The sessions.
        ports: The wall clock, and threads.
        config: Returns the configuration in force.
        state: The state folder.
        stop_children: Stops what a session has started.
    """

    def __init__(
        self,
        record: GatewayRecord,
        keepers: Keepers,
        ports: Ports,
        config: Callable[[], GatewayConfig],
        state: Path,
        stop_children: StopChildren,
    ) -> None:
        self._record = record
        self._registry = record.registry
        self._keepers = keepers
        self._ports = ports
        self._config = config
        self._state = state
        self._stop_children = stop_children
        self._next_prune_s = 0.0

    def __repr__(self) -> str:
        return f"<ArchiveClock, {len(self.due())} due>"

    def due(self) -> list[str]:
        """Return the keys of the sessions whose time is over, in order."""
        now_s = self._now_s()
        timed = [each.id for each in alarms(self._registry) if each.kind is AlarmKind.ARCHIVE and each.at_s <= now_s]
        return [*timed, *(key for key in self.to_clean() if key not in timed)]

    def to_clean(self) -> list[str]:
        """Return the keys of the sessions that go with the delivery of their result, which has happened."""
        return [run.session for run in self._registry.runs.values() if self._is_clean(run)]

    def _is_clean(self, run: Run) -> bool:
        if run.cleanup != "delete" or not run.is_ended:
            return False
        is_there = self._registry.sessions[run.session].state is not SessionState.ARCHIVED
        return is_there and not self._unsettled(run.session)

    def _unsettled(self, key: str) -> list[str]:
        """Return the runs of a session that have not ended, or whose result is not delivered."""
        rows = self._registry.completions
        return [
            run.id
            for run in self._registry.runs.values()
            if run.session == key and not (run.is_ended and rows[run.id].delivery.is_settled)
        ]

    async def sweep(self) -> None:
        """Archive the sessions whose time is over; one that cannot go now is tried again at the next sweep.

        Once an hour, archived sessions go that were kept as long as the configuration says.

        Raises:
            JournalError: It cannot be recorded that they are gone; the next sweep does it.
        """
        for key in self.due():
            try:
                await self.archive(key, why="archive time")
            except GreenroomError:
                continue
        if self._now_s() >= self._next_prune_s:
            await self.prune()
            self._next_prune_s = self._now_s() + PRUNE_S

    async def prune(self) -> None:
        """Remove the archived sessions that were kept for `session.maintenance.pruneAfter`, by the rule of `greenroom sweep`.

        A run folder that is held, or has a file called `keep`, stays, and so does its row. What a reset has archived is not looked at.

        Raises:
            JournalError: It cannot be recorded that they are gone.
        """
        keep_s = self._config().session.maintenance.prune_after
        settings = RetentionSettings(cleanup_period_days=max(1, int(keep_s // DAY_S)), keep_newest=0)
        for folder, rows in self._old(keep_s).items():
            ids = {row.session_id for row in rows}
            sweep = partial(sweep_runs, folder, settings, now=self._ports.clock.wall(), only=ids)
            await self._ports.blocking.run(sweep)
            left = await self._ports.blocking.run(partial(_that_exist, folder, ids))
            for row in rows:
                if row.session_id not in left:
                    await self._record.write(SessionRemoved(at_s=self._now_s(), session=row.key))

    def _old(self, keep_s: float) -> dict[Path, list[SessionRow]]:
        """Return the rows of the archived sessions whose time is over, by the folder of their agent's run folders."""
        working, found = {run.session for run in self._registry.runs.values()}, dict[Path, list[SessionRow]]()
        for row in self._registry.sessions.values():
            is_archived = row.state is SessionState.ARCHIVED and row.key not in working
            if is_archived and row.archived_s + keep_s <= self._now_s():
                found.setdefault(sessions_folder(self._state, SessionKey.parse(row.key)), []).append(row)
        return found

    def _now_s(self) -> float:
        return self._ports.clock.wall().timestamp()

    async def clean(self, delivery: str) -> None:
        """Archive the session of a delivered result at once, if it was started so."""
        run = self._registry.runs.get(delivery.removeprefix(COMPLETION))
        if run is not None and self._is_clean(run):
            try:
                await self.archive(run.session, why="cleanup")
            except GreenroomError:
                return  # the next sweep tries again

    async def archive(self, key: str, *, why: str, who: str = "gateway", is_forced: bool = False) -> str:
        """Stop what a session has started and its own turn, close it for good, and return its transcript's new name.

        Raises:
            NotFound: The session is unknown, or archived.
            Forbidden: It is a main session.
            Conflict: A result of it is not delivered, and `is_forced` is False; or it does not end its turn.
            JournalError: It cannot be put on record.
        """
        row = self._registry.sessions.get(key)
        if row is None or row.state is SessionState.ARCHIVED:
            raise NotFound(f"unknown session {key!r}")
        if isinstance(SessionKey.parse(key).rest, MainSession):
            raise Forbidden(f"cannot archive {key!r}: it is the main session of its agent; reset it instead")
        undelivered = [id_ for id_ in self._unsettled(key) if self._registry.runs[id_].is_ended]
        if undelivered and not is_forced:
            raise Conflict(
                f"cannot archive {key!r}: the result of run {undelivered[0]!r} is not delivered; retry or dismiss it, or force"
            )
        await self._stop_children(key, who)
        if self._keepers.is_busy(key):
            await self._end_turn(key, who)
        named = [run for run in self._registry.runs.values() if run.session == key and run.cleanup == "delete"]
        transcript = archived_name(max(named, key=lambda run: run.ended_s)) if named else ""
        return await self._keepers.archive(key, why=why, is_forced=is_forced, transcript=transcript)

    async def _end_turn(self, key: str, who: str) -> None:
        with trio.move_on_after(BUSY_S):
            await self._keepers.stop_turn(key, who=who, cause=EndCause.STOP)
            while self._keepers.is_busy(key):  # noqa: ASYNC110 - keepers tell the end of a turn, not of its session's work
                await trio.sleep(_POLL_S)
        if self._keepers.is_busy(key):
            raise Conflict(f"cannot archive {key!r}: its turn did not end within {BUSY_S:g} s; try again later")


def _that_exist(folder: Path, ids: Iterable[str]) -> set[str]:
    return {each for each in ids if (folder / each).exists()}
