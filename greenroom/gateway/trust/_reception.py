"""Reception of messages from chats: each is made durable, answered as a command, or refused.

    reception = Reception(config=..., record=..., keepers=..., ...)
    await reception.hear(inbound)        # the `hear` of every channel; it returns when the channel may acknowledge the message

Rule 1: whatever `decide` says is carried out here, and nothing else is decided, save what depends on time: limits, age, codes. Rule 2: the
same message has the same id whenever it comes in, so a second copy changes nothing. Rule 3: a message that cannot be stored is not
acknowledged: `hear` raises.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.core import GreenroomError, JournalError
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import Keepers, NewInput
from greenroom.gateway.record._gateway_events import RpcDone
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._run_events import InboundRefused
from greenroom.gateway.record._service_state import CHAT_CALLS
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.trust._chat_admission import AdmissionAction, ChatAdmission, decide, well_formed
from greenroom.gateway.trust._chat_limits import ChatLimits, LimitVerdict, RefusalLog
from greenroom.gateway.trust._group_context import GroupContext, context_lines
from greenroom.gateway.trust._pairing import HIDDEN, PairingDesk, pairing_text
from greenroom.gateway.trust._senders import SenderKind, shown_sender
from greenroom.inbox import KNOWN_S, channel

NAMESPACE: Final = uuid.UUID("5b0f1f6e-6d0c-5c0a-9b58-1d3a7a4c2f10")
"""Of the ids of inputs."""
COMMAND_KNOWN_S: Final = 24 * 3600.0
"""Seconds for which it is known that a command was carried out; an older one is refused."""
MAX_SENDERS: Final = 2_000
"""Inputs whose senders are remembered."""


@final
@attrs.frozen(kw_only=True)
class CommandCaller:
    """Somebody who gives a command."""

    kind: SenderKind
    who: str
    """Its name on record: `channel:id`, or the name of a token."""
    route: ChatRoute | None = None
    """The chat that the command came from; None for a client."""
    item: str = ""
    """Id of the message with the command, or of the client's call: the same if it comes in again."""


RunCommand: TypeAlias = Callable[[SessionKey, str, CommandCaller], Awaitable[str]]
"""Carries out a command of a chat and returns the answer; empty for none. It raises nothing but `JournalError`."""
Answer: TypeAlias = Callable[[ChatRoute, str, str], Awaitable[object]]
"""Sends the answer to a message, and records that the message is done; called with the route, the text, and the message's id. Returns
when it is on record.
"""


def item_id(inbound: Inbound) -> str:
    """Return the id of a message as an input: of the channel, the account, the chat, and its id outside."""
    route = inbound.route
    return _uuid(route.channel, route.account, route.peer, inbound.id)


def client_item_id(token: str, idempotency_key: str) -> str:
    """Return the id of a client's words as an input."""
    return _uuid("rpc", token, idempotency_key)


def _context_id(item: str) -> str:
    """Return the id of the context that is handed in with an input."""
    return _uuid("context", item)


def _uuid(*words: str) -> str:
    return str(uuid.uuid5(NAMESPACE, json.dumps(words)))  # JSON: no two lists of words have the same text


@final
@attrs.define(kw_only=True)
class TurnSenders:
    """The senders of the newest inputs, for those who may end only turns of their own."""

    _names: OrderedDict[str, str] = attrs.field(factory=OrderedDict, init=False)

    def note(self, item: str, who: str) -> None:
        """Note the sender of an input."""
        self._names[item] = who
        while len(self._names) > MAX_SENDERS:
            self._names.popitem(last=False)

    def of(self, items: Mapping[str, object] | tuple[str, ...]) -> frozenset[str]:
        """Return the senders of inputs; empty for one that is not known any more."""
        return frozenset(self._names.get(item, "") for item in items)


@final
@attrs.define(kw_only=True)
class Reception:
    """The reception of messages.

    Args:
        config: Returns the configuration in force.
        record: The gateway's record.
        keepers: The sessions.
        context: The context of groups.
        pairing: Pairing of strangers.
        run_command: Carries out commands.
        answer: Answers messages that begin no turn.
        wall: Returns the wall clock, in seconds since 1970.
    """

    config: Callable[[], GatewayConfig]
    record: GatewayRecord
    keepers: Keepers
    context: GroupContext
    pairing: PairingDesk
    run_command: RunCommand
    answer: Answer
    wall: Callable[[], float]
    senders: TurnSenders = attrs.field(factory=TurnSenders)
    limits: ChatLimits = attrs.field(factory=ChatLimits)
    refusals: RefusalLog = attrs.field(factory=RefusalLog)
    owner_route: ChatRoute | None = attrs.field(default=None, init=False)
    """The direct chat in which an owner wrote last, for questions and notices; None before that."""
    _commands: dict[str, trio.Event] = attrs.field(factory=dict, init=False)
    """Commands that are being carried out, by the id of their message."""

    async def hear(self, inbound: Inbound) -> ChatAdmission:
        """Make a message durable, carry it out, or refuse it; return the decision.

        When it returns, the message may be acknowledged outside. Cancelled, it may or may not be durable: it is the same message
        when it comes in again.

        Raises:
            JournalError: It cannot be stored: do not acknowledge it.
        """
        self.record.journal.check_open()  # before anything is counted: it comes in again until it is taken
        config = self.config()
        admission = decide(config, self.record.registry.services.pairings, inbound)
        if admission.is_kept and (why := self._too_old(inbound, admission)):
            admission = _as_refused(admission, why)
        if admission.kind is SenderKind.OWNER and inbound.route.kind is PeerKind.DIRECT:
            self.owner_route = attrs.evolve(inbound.route, thread="", answers="")
        match admission.action:
            case AdmissionAction.REFUSE:
                self._refuse(inbound, admission.reason)
            case AdmissionAction.PAIR:
                await self._pair(inbound)
            case AdmissionAction.CONTEXT:
                await self._keep(config, inbound, admission)
            case AdmissionAction.COMMAND:
                await self._command(config, inbound, admission, admission.text)
            case AdmissionAction.BEGIN if admission.is_stop_word and self.keepers.is_busy(str(admission.key)):
                await self._command(config, inbound, admission, "/stop")
            case AdmissionAction.BEGIN:
                return await self._begin(config, inbound, admission)
        return admission

    # --- what becomes of it ------------------------------------------------------------------------------------------

    async def _begin(self, config: GatewayConfig, inbound: Inbound, admission: ChatAdmission) -> ChatAdmission:
        assert admission.key is not None
        key, item = admission.key, item_id(inbound)
        if self._is_done(item):
            return admission  # it was turned away, and came again
        is_known = item in self.record.registry.inbound  # it waits already, or its record was refused by the disk
        if not is_known and not await self._within_limits(config, inbound, key):
            return _as_refused(admission, "too many messages")
        is_direct = inbound.route.kind is PeerKind.DIRECT
        kept = () if is_direct or is_known else await self.context.read(key)
        route = attrs.evolve(inbound.route, answers="")  # answers to messages of one chat may be merged
        new = NewInput(
            id=item,
            text=admission.text,
            origin=admission.origin,
            route=route,
            is_command=admission.is_command,
            reason=f"{admission.kind}: {admission.reason}",
        )
        try:
            if kept:
                await self.keepers.put(key, self._context_input(inbound, item, context_lines(kept)))
            await self.keepers.put(key, new)
        except JournalError:
            raise
        except GreenroomError as error:
            await self._turn_away(inbound, f"This message cannot be taken now: {_first_line(error)}.", str(error))
            return _as_refused(admission, str(error))
        for each in (item, _context_id(item)):
            self.senders.note(each, _who(inbound))
        await self.context.drop(key, kept)
        return admission

    @staticmethod
    def _context_input(inbound: Inbound, item: str, text: str) -> NewInput:
        route = attrs.evolve(inbound.route, answers="")
        # Data, an owner's words too: they were addressed to others, and are no consent.
        origin = channel(f"{route.channel} {route.kind.value}, before it")
        return NewInput(id=_context_id(item), text=text, origin=origin, route=route, begins_turn=False)

    async def _keep(self, config: GatewayConfig, inbound: Inbound, admission: ChatAdmission) -> None:
        assert admission.key is not None
        who = shown_sender(inbound.route.channel, inbound.sender, kind=admission.kind)
        limit = config.messages.group_chat.history_limit
        await self.context.keep(admission.key, item_id(inbound), admission.text, who=who, limit=limit)

    async def _command(self, config: GatewayConfig, inbound: Inbound, admission: ChatAdmission, text: str) -> None:
        assert admission.key is not None
        item = item_id(inbound)
        while item in self._commands:
            await self._commands[item].wait()
        if self._is_done(item):
            return  # it was carried out, and came again
        if admission.kind is SenderKind.PERSON and not await self._within_limits(config, inbound, admission.key):
            return
        ended = self._commands[item] = trio.Event()
        try:
            caller = CommandCaller(kind=admission.kind, who=_who(inbound), route=inbound.route, item=item)
            answer = await self.run_command(admission.key, text, caller)
            # After a kill in between it is carried out again; no command does more the second time than the first.
            if answer:
                await self.answer(inbound.route, answer, item)
            else:
                await self.record.write(RpcDone(at_s=self.wall(), token=CHAT_CALLS, key=item, digest=""))
        finally:
            del self._commands[item]
            ended.set()

    def _is_done(self, item: str) -> bool:
        return self.record.registry.services.answer(CHAT_CALLS, item, self.wall()) is not None

    async def _pair(self, inbound: Inbound) -> None:
        route, item = inbound.route, item_id(inbound)
        if self._is_done(item):
            return  # its code is on its way, and it came again
        code = await self.pairing.ask(route.channel, route.account, inbound.sender.id, item)
        if code:
            await self.answer(route, pairing_text(HIDDEN), item)
        self._refuse(inbound, "not paired yet" if not code else "not paired yet; it got a code")

    # --- what is refused ---------------------------------------------------------------------------------------------

    def _too_old(self, inbound: Inbound, admission: ChatAdmission) -> str:
        """Return why a message is too old: nobody could tell whether it was taken before."""
        age_s = self.wall() - inbound.sent_s if inbound.sent_s else 0.0
        limit_s = COMMAND_KNOWN_S if admission.action is AdmissionAction.COMMAND else KNOWN_S
        return f"it is {age_s / 3600:.0f} hours old" if not age_s < limit_s else ""  # NaN is too old as well

    async def _within_limits(self, config: GatewayConfig, inbound: Inbound, key: SessionKey) -> bool:
        chat, now_s = _chat(inbound), self.wall()
        before = self.limits.dropped(chat)
        verdict = self.limits.take(
            chat,
            now_s,
            per_minute=min(config.limits.messages_per_minute, config.limits.turns_per_minute),
            waiting=self._waiting(inbound, key),
            max_waiting=config.limits.turns_waiting,
        )
        if verdict is LimitVerdict.TAKE:
            if before:
                self._refuse(inbound, f"{before} messages were dropped before this one")
            return True
        if verdict is LimitVerdict.TELL:
            wait_s = max(1.0, self.limits.wait_s(chat, now_s))
            text = f"Too many messages: this one was not taken, and neither are others in the next {wait_s:.0f} s."
            await self._turn_away(inbound, text, "too many messages")
        else:
            self._refuse(inbound, "too many messages")
        return False

    def _waiting(self, inbound: Inbound, key: SessionKey) -> int:
        """Return the number of turns of the chat that wait, besides the one that a new message would be part of."""
        route = inbound.route
        waiting = {
            row.session
            for row in self.record.registry.inbound.values()
            if not row.is_taken
            and (row.route.get("channel"), row.route.get("account", "default"), row.route.get("peer"))
            == (route.channel, route.account, route.peer)
        }
        return len(waiting - {str(key)})

    async def _turn_away(self, inbound: Inbound, text: str, reason: str) -> None:
        """Refuse a message, and tell its chat."""
        self._refuse(inbound, reason)
        await self.answer(inbound.route, text, item_id(inbound))

    def _refuse(self, inbound: Inbound, reason: str) -> None:
        now_s = self.wall()
        words = self.refusals.note(_chat(inbound), reason, now_s)
        if words:
            route = {name: well_formed(value)[:200] for name, value in inbound.route.to_json().items()}
            self.record.emit(InboundRefused(at_s=now_s, route=route, why=well_formed(words)[:500]))


def _as_refused(admission: ChatAdmission, reason: str) -> ChatAdmission:
    return attrs.evolve(admission, action=AdmissionAction.REFUSE, reason=reason)


def _chat(inbound: Inbound) -> str:
    route = inbound.route
    return json.dumps((route.channel, route.account, route.peer))


def _who(inbound: Inbound) -> str:
    return f"{inbound.route.channel}:{inbound.sender.id}"


def _first_line(error: GreenroomError) -> str:
    return str(error).partition("\n")[0][:300].rstrip(".")
