"""The view of sessions that the session tools read: the registry, the configuration, transcripts, and who sees what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._session_history import HistoryDetail, HistoryPage, Mask, read_page
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import Run, SessionRow
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import (
    CronSession,
    HookSession,
    MainSession,
    RoomSession,
    SessionKey,
    is_listed,
)
from greenroom.gateway.runs._child_models import own_model, own_thinking
from greenroom.gateway.runs._completions import TRANSCRIPT, transcript_place
from greenroom.gateway.tools._visibility import Viewer, refusal, viewer_of
from greenroom.gateway.trust._senders import origin_class_of

KINDS: Final[Mapping[type, str]] = {
    MainSession: "main",
    RoomSession: "group",
    CronSession: "cron",
    HookSession: "hook",
}
OTHER_KIND: Final = "other"


@final
@attrs.frozen(kw_only=True)
class SessionView:
    """The sessions of a gateway, as its tools and clients see them."""

    config: Callable[[], GatewayConfig]
    """Returns the configuration in force."""
    registry: Registry
    lanes: TurnLanes
    ports: Ports
    state: Path
    """The state folder, which has the run folders."""
    mask: Mask = lambda text: text
    """Masks known secrets in a text."""
    hears_others: Callable[[SessionKey], bool] | None = None
    """Returns True if others than owners can write to a session or to its ancestors; by default what the configuration says."""

    def viewer(self, caller: SessionKey) -> Viewer:
        """Return what a session sees."""
        if self.hears_others is not None:
            return viewer_of(self.config(), caller, hears_others=self.hears_others(caller))
        origin = origin_class_of(self.config(), caller, spawned_by=self._spawned_by)
        return viewer_of(self.config(), caller, hears_others=origin != "owner")

    def _spawned_by(self, key: str) -> str:
        row = self.registry.sessions.get(key)
        return "" if row is None else row.spawned_by

    def refusal(self, caller: SessionKey, target: str) -> str:
        """Return why a session does not see another one; empty if it does."""
        return refusal(self.config(), self.registry, self.viewer(caller), target)

    def find(self, name: str, caller: SessionKey) -> SessionRow | None:
        """Return the session of a key, of `main`, or else of a session id, archived or not; None if there is none."""
        try:
            row = self.registry.sessions.get(str(SessionKey.parse(name.strip(), agent=caller.agent)))
        except UsageError:
            row = None
        if row is not None:
            return row
        return next((row for row in self.registry.sessions.values() if row.session_id == name.strip()), None)

    def with_label(self, label: str, agent: str = "") -> list[SessionRow]:
        """Return the sessions with a label, of one agent or of all; archived ones have none any more."""
        return [
            row
            for row in self.registry.sessions.values()
            if row.label == label
            and row.state is not SessionState.ARCHIVED
            and (not agent or SessionKey.parse(row.key).agent == agent)
        ]

    def transcript(self, row: SessionRow) -> Path:
        """Return where the transcript of a session is."""
        return transcript_place(self.state, row.key, row.session_id, row.transcript or TRANSCRIPT)

    async def read_page(
        self,
        row: SessionRow,
        *,
        limit: int,
        before: int | None = None,
        skip: int = 0,
        detail: HistoryDetail = "texts",
    ) -> HistoryPage:
        """Return messages of a session, in a thread; the arguments are those of `read_page`."""

        def read() -> HistoryPage:
            place = self.transcript(row)
            return read_page(place, limit=limit, before=before, skip=skip, detail=detail, mask=self.mask)

        return await self.ports.blocking.run(read)

    def route(self, key: str) -> ChatRoute | None:
        """Return where the message came from that the present turn of a session is about; else the last one that is known."""
        rows = [row for row in self.registry.inbound.values() if row.session == key and row.route]
        taken = [row for row in rows if row.is_taken]
        if taken or rows:
            return ChatRoute.from_json((taken or rows)[-1].route)
        runs = [run for run in self.registry.runs.values() if run.session == key and run.route]
        return ChatRoute.from_json(max(runs, key=lambda run: run.created_s).route) if runs else None

    def rows(self, caller: SessionKey, *, with_archived: bool = False) -> list[SessionRow]:
        """Return the sessions that a session sees, the one used last first."""
        viewer, config = self.viewer(caller), self.config()
        found = [
            row
            for row in self.registry.sessions.values()
            if (with_archived or row.state is not SessionState.ARCHIVED)
            and is_listed(row.key, scope=config.session.scope)
            and not refusal(config, self.registry, viewer, row.key)
        ]
        return sorted(found, key=lambda row: row.used_s, reverse=True)

    def described(self, row: SessionRow) -> dict[str, Any]:
        """Return a session as the tool `sessions_list` and clients show it."""
        key, config = SessionKey.parse(row.key), self.config()
        route = self.route(row.key)
        runs = [run for run in self.registry.runs.values() if run.session == row.key]
        context = {} if route is None else {"channel": route.channel, "to": route.peer, "accountId": route.account}
        return {
            "key": row.key,
            "kind": kind_of(key),
            "channel": context.get("channel") or getattr(key.rest, "channel", "") or "unknown",
            "label": row.label or None,
            "displayName": row.label or row.key,
            "deliveryContext": context or None,
            "updatedAt": int(row.used_s * 1000),
            "sessionId": row.session_id,
            "model": own_model(config, key.agent, row.settings).primary,
            "contextTokens": None,
            "totalTokens": None,
            "thinkingLevel": own_thinking(config, key.agent, row.settings) or None,
            "verboseLevel": None,
            "systemSent": None,
            "abortedLastRun": was_stopped(runs),
            "sendPolicy": row.settings.get("send_policy"),
            "lastChannel": context.get("channel"),
            "lastTo": context.get("to"),
            "lastAccountId": context.get("accountId"),
            "transcriptPath": str(self.transcript(row)),
        }

    def now_s(self) -> float:
        """Return the wall clock."""
        return self.ports.clock.wall().timestamp()


def kind_of(key: SessionKey) -> str:
    """Return the kind of a session, in the words of `sessions_list`."""
    return KINDS.get(type(key.rest), OTHER_KIND)


def was_stopped(runs: list[Run]) -> bool:
    """True if the last of some runs was stopped."""
    last = max(runs, key=lambda run: run.created_s, default=None)
    return last is not None and last.is_ended and last.cause is EndCause.STOP
