"""The report of `greenroom gateway check --as channel:peer[:sender]`: the decision about a message that somebody might send.

It reads the pairings of the gateway's journal where there is one, and changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.core import UsageError
from greenroom.core.ports import SystemDisk
from greenroom.gateway.config._checks import whole
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.record._gateway_events import EVENTS
from greenroom.gateway.record._gateway_journal import fold_what_is_legal
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.routing._chat_messages import Assurance, ChatRoute, Inbound, PeerKind, Sender
from greenroom.gateway.trust._chat_admission import Pairings, decide, explain
from greenroom.trace import JOURNAL, salvage

_ROOM_SIGNS: Final = frozenset("#&!+-")
"""First signs of the ids of rooms: of IRC, Matrix and Telegram."""
_SOMEBODY: Final = "somebody"


def admission_report(
    report: tuple[dict[str, Any], list[str]], reading: ConfigReading, asked: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Return a report of a configuration with the decision about a message added.

    Args:
        report: The report, as an object for programs and as lines for people.
        reading: The configuration.
        asked: `channel:peer[:sender]`, with `channel/account` for another account than the first; None adds nothing.

    Raises:
        UsageError: It does not say which chat is meant.
    """
    facts, lines = report
    if asked is None or reading.config is None:
        return report
    inbound = read_asked(reading.config, asked)
    found = decide(reading.config, _pairings(reading.config, reading.path.parent), inbound)
    told = explain(found)
    if inbound.route.kind is not PeerKind.DIRECT:
        other = decide(reading.config, {}, attrs.evolve(inbound, mentions_us=False))
        told.append(f"{'else:':9}{other.action} (of a message that does not address the agent)")
    admission = dict(line.split(maxsplit=1) for line in told)
    facts = facts | {"admission": {name.rstrip(":"): value for name, value in admission.items()}}
    return facts, [*lines, f"A message of {inbound.sender.id!r}, as {asked!r}:", *told]


def read_asked(config: GatewayConfig, asked: str) -> Inbound:
    """Return a message of the chat and sender that a text names; of a group without a sender, of somebody whom no list names.

    Ids may hold colons: a group is known by the configuration, or by its first sign, and everything else is a person.

    Raises:
        UsageError: The text names no channel and chat.
    """
    place, _, rest = asked.partition(":")
    channel, _, account = place.partition("/")
    if not (channel and rest):
        raise UsageError(f"--as must be channel:peer or channel:peer:sender, got {asked!r}")
    names = [name for each, name in config.channels.accounts() if each == channel]
    account = account or next(iter(names), "default")
    settings = config.channels.accounts().get((channel, account))
    rooms = [name for name in (settings.groups if settings is not None else ()) if rest.startswith(f"{name}:")]
    known = rest in (settings.groups if settings is not None else ()) or bool(rooms)
    if not known and rest[0] not in _ROOM_SIGNS:
        return _message(ChatRoute(channel=channel, account=account, peer=rest), rest)
    peer = max(rooms, key=len) if rooms else _room_in(rest)
    sender = rest[len(peer) + 1 :] or _SOMEBODY
    return _message(ChatRoute(channel=channel, account=account, kind=PeerKind.GROUP, peer=peer), sender)


def _room_in(rest: str) -> str:
    """Return the room at the start of a text, with the sender behind it: Matrix ids begin with `@`, and others hold no colon."""
    if rest.startswith("!"):
        return rest.partition(":@")[0]
    return rest.partition(":")[0]


def _message(route: ChatRoute, sender: str) -> Inbound:
    # An id with the form of a mask is one.
    assurance = Assurance.MASK if route.channel == "irc" and "!" in sender else Assurance.ACCOUNT
    return Inbound(
        route=route, sender=Sender(id=sender, assurance=assurance), id="asked", text="hello", mentions_us=True
    )


def _pairings(config: GatewayConfig, folder: Path) -> Pairings:
    state = whole(config.gateway.state, folder) if config.gateway.state else Path.home() / ".greenroom" / "gateway"
    registry = Registry()
    entries = salvage(SystemDisk(), state / JOURNAL, EVENTS).entries
    fold_what_is_legal(registry, (entry.event for entry in entries))
    return registry.services.pairings
