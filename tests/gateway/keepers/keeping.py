"""A set of keepers on a disk in memory or in a folder, with a watcher that remembers what it was told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.core import Event
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._keepers import KeeperSet, open_keepers
from greenroom.gateway.keepers._seams import NewInput, TurnEnd
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.record._gateway_events import GatewayBegan
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import HUMAN, InboxStore
from greenroom.models import Model, ModelRequest, PlaybookModel, ScriptedModel
from greenroom.store import open_inbox_store
from greenroom.testing import virtual_ports
from greenroom.tools import Tool

MAIN: Final = SessionKey("main")
SEEDS: Final = count(1)
"""Each process has other ids."""
ROUTE: Final = ChatRoute(channel="irc", peer="ada")


@attrs.define
class Watcher:
    """Remembers what it was told."""

    queued: list[tuple[str, tuple[str, ...], str]] = attrs.field(factory=list)
    began: list[tuple[str, tuple[str, ...]]] = attrs.field(factory=list)
    ends: list[TurnEnd] = attrs.field(factory=list)
    changed: trio.Event = attrs.field(factory=trio.Event)

    async def turn_queued(self, session: str, items: tuple[str, ...], lane: str) -> None:
        self.queued.append((session, items, lane))
        await trio.lowlevel.checkpoint()

    async def turn_began(self, session: str, items: tuple[str, ...]) -> None:
        self.began.append((session, items))
        self._change()
        await trio.lowlevel.checkpoint()

    async def turn_ended(self, end: TurnEnd) -> None:
        await trio.lowlevel.checkpoint()
        self.ends.append(end)
        self._change()

    def _change(self) -> None:
        self.changed.set()
        self.changed = trio.Event()

    async def wait_ends(self, count: int) -> None:
        with trio.fail_after(1000):
            while len(self.ends) < count:
                await self.changed.wait()

    async def wait_began(self, count: int) -> None:
        with trio.fail_after(1000):
            while len(self.began) < count:
                await self.changed.wait()


@attrs.define
class Gateway:
    """A set of keepers and what it stands on."""

    keepers: KeeperSet
    record: GatewayRecord
    store: InboxStore
    lanes: TurnLanes
    watcher: Watcher
    events: list[tuple[str, Event]]
    config: GatewayConfig
    state: Path

    async def say(self, text: str, id_: str, key: SessionKey = MAIN, **more: Any) -> bool:
        return await self.keepers.put(key, said(text, id_, **more))


def said(text: str, id_: str, **more: Any) -> NewInput:
    return NewInput(id=id_, text=text, **{"origin": HUMAN, "route": ROUTE, **more})


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


@asynccontextmanager
async def opened(
    folder: Path,
    script: Iterable[Any] | Callable[[ModelRequest], Any] = (),
    *,
    config: GatewayConfig | None = None,
    tools: Iterable[Tool] = (),
    wait_s: float = 0.0,
    widths: dict[str, int] | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> AsyncIterator[Gateway]:
    """Open keepers whose sessions talk to one scripted model, in `folder/state`."""
    state, ports = folder / "state", virtual_ports(next(SEEDS))
    model: Model = (
        PlaybookModel({"main": script, "research": script}, wait_s=wait_s)
        if callable(script)
        else ScriptedModel(script, wait_s=wait_s)
    )
    watcher = watcher or Watcher()
    events: list[tuple[str, Event]] = []
    lanes = TurnLanes(widths or {"main": 4, "subagent": 8})
    state.mkdir(parents=True, exist_ok=True)
    async with open_gateway_journal(state, ports=ports) as record:
        await record.write(GatewayBegan(at_s=ports.clock.wall().timestamp(), process=1))
        store = await open_inbox_store(state / "inbox.sqlite", blocking=ports.blocking, wall=ports.clock.wall)
        gateway = Gateway(None, record, store, lanes, watcher, events, config or GatewayConfig(), state)  # type: ignore[arg-type]
        try:
            async with open_keepers(
                config=lambda: gateway.config,
                record=record,
                store=store,
                lanes=lanes,
                watcher=watcher,
                on_event=lambda key, event: events.append((key, event)),
                tools_for=lambda _: tools,
                ports=ports,
                state_folder=state,
                **{"open_model": lambda *_: model, **options},
            ) as keepers:
                gateway.keepers = keepers
                yield gateway
        finally:
            with trio.CancelScope(shield=True):
                await store.aclose()
