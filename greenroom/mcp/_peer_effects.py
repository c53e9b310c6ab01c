"""Connections to servers on record: what servers list, answer and push is recorded, or served without connecting them.

Calls of tools are not recorded here: they are results of the agents that make them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.effects import Effects, current_owner
from greenroom.mcp._channel_messages import ChannelPush
from greenroom.mcp._configs import ServerConfig
from greenroom.mcp._mcp_errors import CallFailed, ServerDown, told
from greenroom.mcp._peer import (
    BinaryPart,
    CallResult,
    Change,
    ConnectionEnd,
    LinkPart,
    OpenPeer,
    Part,
    Peer,
    PeerInfo,
    PromptArgument,
    PromptInfo,
    PromptPart,
    ResourceInfo,
    ResourcePart,
    TextPart,
    ToolInfo,
)

T = TypeVar("T")
Push = Callable[[str, ChannelPush], object]
_OF: Final = "server"
_KINDS: Final[Mapping[str, type]] = {
    kind.__name__: kind
    for kind in (
        *(PeerInfo, ToolInfo, PromptInfo, PromptArgument, PromptPart, ResourceInfo),
        *(TextPart, BinaryPart, ResourcePart, LinkPart),
    )
}
_RAW: Final = "input_schema"
"""The field whose value is a JSON value of the server."""


@final
@attrs.frozen(eq=False)
class PeerEffects:
    """The connections of a run that is recorded, or done again.

    Args:
        effects: The effects of the run.
        mask: Masks secrets in JSON values.
        on_push: Called with a server's name and a message that it pushes.
    """

    effects: Effects
    _mask: Callable[[Any], Any]
    _on_push: Push

    def around(self, open_peer: OpenPeer) -> OpenPeer:
        """Return what opens connections in place of `open_peer`, whose answers are recorded; in a re-run it is not called."""
        return self._open_served if self.effects.is_served else partial(self._open_recorded, open_peer)

    def push(self, server: str, push: ChannelPush) -> None:
        """Record a message that a server pushes, and pass it on."""
        self.effects.note(_OF, current_owner(), f"{server} push", {}, {"push": self._mask(attrs.asdict(push))})
        self._on_push(server, push)

    async def _serve_pushes(self, server: str) -> None:
        """Pass on what a server has pushed, at the recorded places; never returns."""
        while True:
            got = await self.effects.served(_OF, current_owner(), f"{server} push", {}, may_miss=True)
            assert got is not None
            values = got["push"]
            self._on_push(server, ChannelPush(**{**values, "attributes": tuple(map(tuple, values["attributes"]))}))

    @asynccontextmanager
    async def _open_recorded(
        self, open_peer: OpenPeer, config: ServerConfig, ending: ConnectionEnd
    ) -> AsyncIterator[Peer]:
        got: dict[str, Any] = {"cut": True}
        owner, key, is_open = current_owner(), f"{config.name} open", False
        try:
            async with open_peer(config, ending) as peer:
                got = {"info": _plain(peer.info), "left_out": list(peer.left_out)}
                self.effects.note(_OF, owner, key, {}, self._mask(got))
                is_open = True
                yield _RecordedPeer(peer, config.name, self)
        except Exception as error:
            if not is_open:
                got = {"failed": ending.why or told(error), "auth": ending.needs_auth, "said": ending.said}
            raise
        finally:
            if not is_open:
                self.effects.note(_OF, owner, key, {}, self._mask(got))

    @asynccontextmanager
    async def _open_served(self, config: ServerConfig, ending: ConnectionEnd) -> AsyncIterator[Peer]:
        got = await self.effects.served(_OF, current_owner(), f"{config.name} open", {})
        assert got is not None
        if "failed" in got:
            ending.why, ending.needs_auth, ending.said = got["failed"], got["auth"], got["said"]
            raise ServerDown(config.name, got["failed"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve_pushes, config.name)
            yield _ServedPeer(_rich(got["info"]), tuple(got["left_out"]), config.name, self)
            nursery.cancel_scope.cancel()

    async def recorded(self, key: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask a server, and record what it answers."""
        got: dict[str, Any] = {"cut": True}
        owner = current_owner()
        try:
            answer = await ask()
            got = {"answer": _plain(answer)}
        except Exception as error:
            got = {"failed": told(error)}
            raise
        finally:
            self.effects.note(_OF, owner, key, {}, self._mask(got))
        return answer

    async def served(self, key: str, *, may_miss: bool = False) -> Any:
        """Return what a server has answered; wait if it is not on record and `may_miss`.

        Raises:
            CallFailed: It answered with an error.
        """
        got = await self.effects.served(_OF, current_owner(), key, {}, may_miss=may_miss)
        assert got is not None
        if "failed" in got:
            raise CallFailed(got["failed"])
        return _rich(got["answer"])


@final
@attrs.frozen(eq=False)
class _RecordedPeer:
    """A connected server whose answers are recorded."""

    _peer: Peer
    _server: str
    _effects: PeerEffects

    @property
    def info(self) -> PeerInfo:
        return self._peer.info

    @property
    def left_out(self) -> tuple[str, ...]:
        return self._peer.left_out

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        return await self._effects.recorded(f"{self._server} tools", self._peer.list_tools)

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        return await self._effects.recorded(f"{self._server} prompts", self._peer.list_prompts)

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        return await self._peer.list_resources()

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        key = f"{self._server} prompt {prompt}"
        return await self._effects.recorded(key, partial(self._peer.get_prompt, prompt, values))

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        return await self._peer.read_resource(uri)

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        return await self._peer.call(tool, values, on_progress)

    async def wait_changed(self) -> frozenset[Change]:
        return await self._effects.recorded(f"{self._server} changes", self._peer.wait_changed)

    async def wait_lost(self) -> None:
        await self._effects.recorded(f"{self._server} lost", self._peer.wait_lost)


@final
@attrs.frozen(eq=False)
class _ServedPeer:
    """A server that is not there: its lists come from the record."""

    info: PeerInfo
    left_out: tuple[str, ...]
    _server: str
    _effects: PeerEffects

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        found: tuple[ToolInfo, ...] = await self._effects.served(f"{self._server} tools")
        return found

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        found: tuple[PromptInfo, ...] = await self._effects.served(f"{self._server} prompts")
        return found

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        raise self._refusal("its resources")

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        found: tuple[PromptPart, ...] = await self._effects.served(f"{self._server} prompt {prompt}")
        return found

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        raise self._refusal(uri)

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        raise self._refusal(tool)

    async def wait_changed(self) -> frozenset[Change]:
        return frozenset(map(Change, await self._effects.served(f"{self._server} changes", may_miss=True)))

    async def wait_lost(self) -> None:
        await self._effects.served(f"{self._server} lost", may_miss=True)

    def _refusal(self, what: str) -> CallFailed:
        return CallFailed(f"{what} of {self._server} is not on record, and a re-run connects no server")


def _plain(value: Any) -> Any:
    """Return data of servers as JSON values."""
    if attrs.has(type(value)):
        fields = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
        plain = {name: item if name == _RAW else _plain(item) for name, item in fields.items()}
        return {"is": type(value).__name__, **plain}
    if isinstance(value, tuple | frozenset):
        return sorted(value) if isinstance(value, frozenset) else [_plain(item) for item in value]
    return value


def _rich(value: Any) -> Any:
    """Return what `_plain` was given."""
    if isinstance(value, dict):
        fields = {name: item if name == _RAW else _rich(item) for name, item in value.items() if name != "is"}
        return _KINDS[value["is"]](**fields)
    return tuple(map(_rich, value)) if isinstance(value, list) else value
