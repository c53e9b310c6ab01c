"""The one decision about a message from a chat: the kind of its sender, its session, its origin, and what becomes of it.

    decide(config, pairings, inbound) -> ChatAdmission

Rule 1: it depends on the configuration, the pairings and the message, and on nothing else. Rule 2: only an owner's words are the user's;
all other text is data, whatever it begins with. Rule 3: every step but the last can only refuse: being in two lists gains nothing.
Must not know: clock, sessions, disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, final

import attrs

from greenroom.gateway.config._channels import AccountConfig, GroupConfig
from greenroom.gateway.config._checks import agents_of
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.policy._tool_policy import OriginClass
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind, Sender
from greenroom.gateway.routing._message_routing import ANY, account_of, agent_for, group_of, route_key
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.trust._senders import SenderKind, is_owner, origin_class_of, shown_sender
from greenroom.inbox import HUMAN, Origin, channel

Pairings: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Pairing]]]
"""By channel, account and person, as in the registry."""

MAX_ID: Final = 1_000
"""Characters of an id of a sender, or of a message."""
MAX_ROUTE: Final = 4_000
"""Characters of a route as JSON: stores of items take no longer one."""
STOP_WORDS: Final = frozenset({"stop", "esc", "abort", "wait", "exit", "interrupt"})
"""Messages that end a running turn, if they are all that an owner says."""
COMMANDS: Final[Mapping[str, frozenset[SenderKind]]] = {
    name: frozenset(kinds)
    for kinds, names in (
        ((SenderKind.OPERATOR, SenderKind.OWNER, SenderKind.PERSON), ("help", "status", "stop")),
        (
            (SenderKind.OPERATOR, SenderKind.OWNER),
            (
                "new",
                "reset",
                "model",
                "think",
                "queue",
                "subagents",
                "sessions",
                "approve",
                "pair",
                "compact",
                "whoami",
            ),
        ),
    )
    for name in names
}
"""The commands of chats, and the kinds of senders that may give them. For everybody else they are text."""
_COMMAND: Final = re.compile(r"\s*/([A-Za-z][A-Za-z0-9_-]*)(?=\s|\Z)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class AdmissionAction(StrEnum):
    """Treatment of a message."""

    BEGIN = "begin"
    """It is an input of its session."""
    CONTEXT = "context"
    """It is kept until the agent is addressed in its chat."""
    COMMAND = "command"
    """It is a command of the gateway."""
    PAIR = "pair"
    """Its sender may get a code; the message is not kept."""
    REFUSE = "refuse"
    """It is not kept, and not answered."""


_NOBODY: Final = Origin(channel("").kind)


@final
@attrs.frozen(kw_only=True)
class ChatAdmission:
    """The decision about a message."""

    action: AdmissionAction
    kind: SenderKind
    reason: str
    """The reason, for the record."""
    key: SessionKey | None = None
    """Its session; None for a message that belongs to none."""
    origin: Origin = _NOBODY
    origin_class: OriginClass = "group"
    """The class by which the tools of its session are chosen."""
    text: str = ""
    """The text as it is to be read; of a command, the command from its `/` on."""
    is_command: bool = False
    """True if the agent's own commands by `/name`, and `!` where that is allowed, count in it."""
    is_stop_word: bool = False
    """True if the message ends the turn that runs; if none runs, it is a message like any other."""

    @property
    def is_kept(self) -> bool:
        """True if the message is an input, context or a command."""
        return self.action in {AdmissionAction.BEGIN, AdmissionAction.CONTEXT, AdmissionAction.COMMAND}


def decide(config: GatewayConfig, pairings: Pairings, inbound: Inbound) -> ChatAdmission:
    """Return the decision about a message, with its reason.

    Args:
        config: The configuration.
        pairings: The people who were paired, and the open codes.
        inbound: The message.
    """
    account = account_of(config, inbound)
    if (why := _unfit(inbound)) or account is None:
        return _refused(SenderKind.STRANGER, why or "no such account is connected")
    kind, reason = _sender(config, account, pairings, inbound)
    if kind is SenderKind.STRANGER:
        is_new = reason == _ASKS
        return ChatAdmission(
            action=AdmissionAction.PAIR if is_new else AdmissionAction.REFUSE, kind=kind, reason=reason
        )
    if not inbound.text.strip() and not inbound.attachments:
        return _refused(kind, "the message is empty")
    key = route_key(config, inbound, is_owner=kind is SenderKind.OWNER)
    admission = ChatAdmission(
        action=AdmissionAction.BEGIN,
        kind=kind,
        reason=reason,
        key=key,
        origin=HUMAN if kind.is_user else channel(_source(inbound, kind)),
        origin_class=origin_class_of(config, key),
        text=read_text(inbound, config.limits.message_bytes),
    )
    return _with_action(config, account, inbound, admission)


def may_invite(config: GatewayConfig, pairings: Pairings, channel: str, account: str, person: str) -> bool:
    """True if an account follows a person's invitation into a room: if the person's direct messages are accepted."""
    route = ChatRoute(channel=channel, account=account, peer=person)
    message = Inbound(route=route, sender=Sender(id=person), id="invitation", text="invitation")
    return decide(config, pairings, message).is_kept


def decide_words(config: GatewayConfig, key: SessionKey, text: str) -> ChatAdmission:
    """Return the decision about the words of a client, for a session that it named."""
    admission = ChatAdmission(
        action=AdmissionAction.BEGIN,
        kind=SenderKind.OPERATOR,
        reason="a client of the gateway",
        key=key,
        origin=HUMAN,
        origin_class=origin_class_of(config, key),
        text=well_formed(text),
    )
    return _as_command(admission, text, may_bash=False)


def explain(admission: ChatAdmission) -> list[str]:
    """Return a decision as lines for people."""
    facts = {
        "sender": admission.kind.value,
        "action": admission.action.value,
        "reason": admission.reason,
        "session": "-" if admission.key is None else str(admission.key),
        "origin": " ".join(admission.origin.to_json().values()) if admission.is_kept else "-",
        "tools": f"as of {admission.origin_class}" if admission.is_kept else "-",
    }
    return [f"{name + ':':9}{value}" for name, value in facts.items()]


def _refused(kind: SenderKind, reason: str) -> ChatAdmission:
    return ChatAdmission(action=AdmissionAction.REFUSE, kind=kind, reason=reason)


def _unfit(inbound: Inbound) -> str:
    """Return why a message cannot be anybody's; empty if it can."""
    route, sender = inbound.route, inbound.sender
    if sender.is_program:
        return "it is a program's"
    names = (route.channel, route.account, route.peer, route.thread, route.answers, sender.id, inbound.id)
    if any(_SURROGATE.search(name) for name in names):
        return "an id is not text"
    if not (route.peer and sender.id and inbound.id):
        return "it has no id, or no sender"
    if max(len(sender.id), len(inbound.id)) > MAX_ID or len(json.dumps(route.to_json())) > MAX_ROUTE:
        return "an id is too long"
    return ""


# --- who may write ----------------------------------------------------------------------------------------------------

_ASKS: Final = "not paired yet"


def _sender(
    config: GatewayConfig, account: AccountConfig, pairings: Pairings, inbound: Inbound
) -> tuple[SenderKind, str]:
    """Return the kind of the sender, and the reason."""
    if inbound.route.kind is PeerKind.DIRECT:
        return _direct_sender(config, account, pairings, inbound)
    return _room_sender(config, account, inbound)


def _direct_sender(
    config: GatewayConfig, account: AccountConfig, pairings: Pairings, inbound: Inbound
) -> tuple[SenderKind, str]:
    sender = inbound.sender.id
    if account.dm_policy == "disabled":
        return SenderKind.STRANGER, "dmPolicy is disabled"
    if is_owner(config, inbound):
        return SenderKind.OWNER, "in commands.ownerAllowFrom"
    if ANY in account.allow_from:
        return SenderKind.PERSON, "allowFrom has everybody"
    if sender in account.allow_from:
        return SenderKind.PERSON, "in allowFrom"
    if account.dm_policy != "pairing":
        return SenderKind.STRANGER, f"dmPolicy is {account.dm_policy}, and the sender is not in allowFrom"
    paired = pairings.get(inbound.route.channel, {}).get(inbound.route.account, {}).get(sender)
    if paired is not None and paired.is_approved:
        return SenderKind.PERSON, "paired"
    return SenderKind.STRANGER, _ASKS


def _room_sender(config: GatewayConfig, account: AccountConfig, inbound: Inbound) -> tuple[SenderKind, str]:
    group = group_of(account, inbound)
    if account.group_policy == "disabled":
        return SenderKind.STRANGER, "groupPolicy is disabled"
    if account.group_policy == "allowlist" and group is None:
        return SenderKind.STRANGER, "groupPolicy is allowlist, and the group is not in groups"
    if is_owner(config, inbound):
        return SenderKind.OWNER, "in commands.ownerAllowFrom"
    said = None if group is None else group.allow_from
    allowed = (account.group_allow_from or (ANY,)) if said is None else said
    where = "groupAllowFrom" if said is None else "allowFrom of the group"
    if ANY in allowed:
        return SenderKind.PERSON, "everybody in the group may write"
    if inbound.sender.id in allowed:
        return SenderKind.PERSON, f"in {where}"
    return SenderKind.STRANGER, f"not in {where}"


# --- what becomes of it -----------------------------------------------------------------------------------------------


def _with_action(
    config: GatewayConfig, account: AccountConfig, inbound: Inbound, admission: ChatAdmission
) -> ChatAdmission:
    """Return the decision with the action, for somebody who may write."""
    is_direct = inbound.route.kind is PeerKind.DIRECT
    names = () if is_direct else tuple(_own_names(config, account, inbound))
    bare = admission.text if is_direct else _unaddressed(admission.text, names)
    is_addressed = is_direct or inbound.mentions_us or _is_named(admission.text, names)
    group = group_of(account, inbound) or GroupConfig()
    is_heard = is_addressed or not group.require_mention
    if admission.kind is SenderKind.OWNER:
        may_bash = config.commands.bash and is_direct
        found = _as_command(admission, bare, may_bash=may_bash, needs_name=not is_heard)
        if found.action is AdmissionAction.COMMAND or is_heard:
            return attrs.evolve(found, is_stop_word=is_heard and is_stop_word(bare))
    elif is_heard:
        return _as_command(admission, bare, may_bash=False)
    return attrs.evolve(admission, action=AdmissionAction.CONTEXT, reason=f"{admission.reason}; not addressed to us")


def _as_command(admission: ChatAdmission, bare: str, *, may_bash: bool, needs_name: bool = False) -> ChatAdmission:
    """Return the decision as that about a command, if the sender may give it."""
    name = command_name(bare)
    if name and admission.kind in COMMANDS.get(name, ()):
        return attrs.evolve(admission, action=AdmissionAction.COMMAND, text=bare.strip())
    if not admission.kind.is_user or needs_name:
        return admission
    is_bash = bare.startswith("!")
    return attrs.evolve(admission, is_command=may_bash if is_bash else bare.startswith("/"))


def command_name(text: str) -> str:
    """Return the name of the command that a text begins with, in lower case; empty for none."""
    found = _COMMAND.match(text)
    return "" if found is None else found[1].lower()


def is_stop_word(text: str) -> bool:
    """True if a text is nothing but one of the words that end a running turn."""
    return text.strip().lower() in STOP_WORDS


# --- names and texts --------------------------------------------------------------------------------------------------


def _own_names(config: GatewayConfig, account: AccountConfig, inbound: Inbound) -> Iterator[str]:
    """Yield the names by which the agent is addressed in a group."""
    yield from config.messages.group_chat.mention_patterns
    agent = agents_of(config).get(agent_for(config, inbound))
    for name in (
        agent.name if agent is not None else "",
        getattr(account, "nick", ""),
        getattr(account, "user_id", ""),
    ):
        if name.strip():
            yield name.strip()


def _is_named(text: str, names: tuple[str, ...]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in names)


def _unaddressed(text: str, names: tuple[str, ...]) -> str:
    """Return a text without the agent's name at its start."""
    for name in sorted(names, key=len, reverse=True):
        found = re.match(rf"\s*@?{re.escape(name)}(?!\w)[:,]?\s*", text, re.IGNORECASE)
        if found is not None:
            return text[found.end() :]
    return text


def _source(inbound: Inbound, kind: SenderKind) -> str:
    """Return the name of an origin: who writes, and in which chat."""
    who = shown_sender(inbound.route.channel, inbound.sender, kind=kind)
    return who if inbound.route.kind is PeerKind.DIRECT else f"{who} in a {inbound.route.kind.value}"


def read_text(inbound: Inbound, limit_bytes: int) -> str:
    """Return the text of a message as it is to be read: with its attachments named, and cut with a line that says so."""
    text = well_formed(inbound.text)
    whole = text.encode()
    if len(whole) > limit_bytes:
        kept = whole[:limit_bytes].decode(errors="ignore")
        text = f"{kept}\n[cut here: {len(whole)} bytes, and {limit_bytes} are allowed]"
    named = [
        f"[attachment, not fetched: {' '.join(well_formed(each.name).split())[:200]!r}"
        f"{', ' + ' '.join(well_formed(each.type).split())[:80] if each.type else ''}, {each.size_bytes} bytes]"
        for each in inbound.attachments[:20]
    ]
    return "\n".join(filter(None, (text, *named)))


def well_formed(text: str) -> str:
    """Return a text that can be written as UTF-8: lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)
