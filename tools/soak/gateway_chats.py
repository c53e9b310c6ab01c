"""The chats of a gateway under a plan: services that are lost and come back, and a model that does what it reads.

A service outlives its gateway: it has what people said, what was acknowledged, and what was shown.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import PeerError
from greenroom.gateway.channels._channel import ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, Outbound, SendReceipt
from greenroom.models import Call, ModelRequest, ModelStream, Say, ScriptedModel, WrittenAnswer
from greenroom.models._scripted import ScriptStep
from greenroom.models._written_answers import Part
from tools.soak.session_situations import USAGE, error_of, next_round

SEND_S: Final = 0.02
ANSWER_S: Final = 0.5


class ServiceLost(PeerError):
    """The connection to the service is lost."""


@attrs.define(eq=False)
class ChatTown:
    """A chat service."""

    name: str
    takes_keys: bool
    can_say: bool
    said: list[Inbound] = attrs.field(factory=list)
    acknowledged: int = 0
    shown: list[Outbound] = attrs.field(factory=list)
    is_lost: bool = False
    swallows: bool = False
    """True if what is being sent when the connection is lost does not arrive."""
    news: trio.Event = attrs.field(factory=trio.Event)
    """Set when somebody says something, and when the connection is lost or comes back."""

    def stir(self) -> None:
        """Wake the channel."""
        self.news.set()
        self.news = trio.Event()

    def say(self, inbound: Inbound) -> None:
        """Say something."""
        self.said.append(inbound)
        self.stir()

    def lose(self, *, swallows: bool) -> None:
        """Lose the connection."""
        self.is_lost, self.swallows = True, swallows
        self.stir()

    def come_back(self) -> None:
        """Be reachable again."""
        self.is_lost = False
        self.stir()

    @property
    def times_shown(self) -> Counter[str]:
        """The number of times that each part was shown, by its key."""
        return Counter(part.key for part in self.shown)


@final
@attrs.define(eq=False)
class LossyChannel:
    """The channel of one process to a service."""

    service: ChatTown
    is_dead: bool = False
    """True once its process was killed."""

    @property
    def traits(self) -> ChannelTraits:
        """Facts about it."""
        return ChannelTraits(limit=4_000, takes_keys=self.service.takes_keys)

    async def run(self, host: ChannelHost) -> None:
        """Hand in what people say, until the connection is lost."""
        service = self.service
        await trio.sleep(SEND_S)
        if service.is_lost:
            raise ServiceLost("no connection")
        host.connected()
        while not service.is_lost:
            news = service.news
            if service.acknowledged == len(service.said):
                await news.wait()
                continue
            await host.hear(service.said[service.acknowledged])
            service.acknowledged += 1
        raise ServiceLost("the connection was lost")

    async def send(self, part: Outbound) -> SendReceipt:
        """Show a part."""
        if self.service.is_lost:
            await trio.sleep(SEND_S)
            return SendReceipt(result=SendResult.FAILED, why="no connection")
        await trio.sleep(SEND_S)
        if self.service.is_lost and self.service.swallows:
            return SendReceipt(result=SendResult.UNKNOWN, why="the connection was lost")
        self._show(part)
        await trio.sleep(SEND_S)
        if self.service.is_lost:
            return SendReceipt(result=SendResult.UNKNOWN, why="the connection was lost")
        return SendReceipt(result=SendResult.TAKEN)

    def _show(self, part: Outbound) -> None:
        service = self.service
        if self.is_dead or (service.takes_keys and service.times_shown[part.key]):
            return
        service.shown.append(part)

    async def was_sent(self, key: str) -> WasSent:
        """Find out whether a part has arrived."""
        await trio.sleep(SEND_S)
        if not self.service.can_say or self.service.is_lost:
            return WasSent.CANNOT_SAY
        return WasSent.YES if self.service.times_shown[key] else WasSent.NO

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        """Show nothing."""


@final
class OrderedModel:
    """A model that does what the conversation orders, and counts the answers that are being given at once.

    Args:
        keys: The keys of all sessions, in the order in which they were made.
        runs: The ids of all runs, in the order in which they were registered.
    """

    def __init__(self, keys: Sequence[str], runs: Sequence[str]) -> None:
        self._keys = keys
        self._runs = runs
        self._count = itertools.count(1)
        self._tries: Counter[tuple[str, int]] = Counter()

    @property
    def name(self) -> str:
        """Always the same."""
        return "ordered"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Do nothing."""
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer as ordered."""
        return ScriptedModel([self._step(request)], name=self.name, pieces=1).stream(request)

    def _step(self, request: ModelRequest) -> ScriptStep:
        acts = next_round(request.messages)
        wait_s = ANSWER_S + sum(act[1] for act in acts if act[0] == "nap")
        for act in acts:
            if act[0] == "trouble":
                self._tries[request.agent, len(request.messages)] += 1
                error = error_of(act[1], self._tries[request.agent, len(request.messages)])
                if error is not None:
                    return ScriptStep(answer=WrittenAnswer([], usage=USAGE), error=error, wait_s=wait_s)
        parts = [part for act in acts for part in self._parts(act)]
        has_call = any(isinstance(part, Call) for part in parts)
        if not has_call and not parts and not any(act[0] == "silence" for act in acts):
            parts = [Say("At last.")]
        return ScriptStep(answer=WrittenAnswer(parts, usage=USAGE), wait_s=wait_s)

    def _parts(self, act: list[Any]) -> list[Part]:
        verb, *values = act
        if verb == "say":
            return [Say(values[0])]
        if verb != "call":
            return []
        given = dict(values[1])
        if isinstance(given.get("sessionKey"), int):
            given["sessionKey"] = self._keys[given["sessionKey"] % len(self._keys)] if self._keys else "nobody"
        if "runIds" in given:
            given["runIds"] = [self._runs[number % len(self._runs)] for number in given["runIds"] if self._runs] or [
                "none"
            ]
        return [Call(values[0], given, id=f"call-{next(self._count)}")]
