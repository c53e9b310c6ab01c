"""Events of Matrix rooms: what in an answer to `/sync` is a message for the agent, and what a message of the agent looks like.

Rule 1: edits, redactions and the agent's own messages are no messages for it. Rule 2: a room is a direct chat while one other person is in
it, and nobody else. Must not know: connections, clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, final

import attrs

from greenroom.gateway.routing._chat_messages import Attachment, ChatRoute, Inbound, Outbound, PeerKind, Sender

_FILES: Final = frozenset({"m.image", "m.file", "m.audio", "m.video"})
_ENCRYPTED: Final = frozenset({"m.room.encrypted", "m.room.encryption"})


@final
@attrs.frozen(kw_only=True)
class MatrixMark:
    """The place up to which an account has read, as its cursor holds it."""

    since: str = ""
    """The server's mark; empty at the first start."""
    told: frozenset[str] = frozenset()
    """Encrypted rooms that were told that they are not read."""

    def to_cursor(self) -> str:
        """Return it as a cursor."""
        return " ".join((self.since, *sorted(self.told)))

    @staticmethod
    def from_cursor(cursor: str) -> MatrixMark:
        """Return the mark in a cursor."""
        since, *told = cursor.split(" ")
        return MatrixMark(since=since, told=frozenset(told))


@final
@attrs.frozen(kw_only=True)
class RoomNews:
    """The news of one room that the agent is in."""

    room: str
    events: tuple[Mapping[str, Any], ...] = ()
    """The newest ones, in order."""
    gap_from: str = ""
    """Mark of what is missing before them; empty for nothing."""
    has_new_members: bool = False
    is_encrypted: bool = False


@final
@attrs.frozen(kw_only=True)
class SyncNews:
    """An answer to `/sync`."""

    since: str
    rooms: tuple[RoomNews, ...] = ()
    invitations: tuple[tuple[str, str], ...] = ()
    """Rooms, and who invites."""
    left: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if it says nothing but how far it goes."""
        return not (self.rooms or self.invitations or self.left)


def read_sync(answer: Mapping[str, Any], own_id: str) -> SyncNews:
    """Return what an answer to `/sync` says; whatever in it has another shape is left out."""
    rooms = _part(answer, "rooms")
    return SyncNews(
        since=str(answer.get("next_batch") or ""),
        rooms=tuple(_room_news(room, said, own_id) for room, said in _part(rooms, "join").items() if _is(said)),
        invitations=tuple(
            (room, str(event.get("sender")))
            for room, said in _part(rooms, "invite").items()
            for event in _events(_part(said, "invite_state"))
            if _is_membership(event, own_id, "invite")
        ),
        left=tuple(_part(rooms, "leave")),
    )


def _room_news(room: str, said: Mapping[str, Any], own_id: str) -> RoomNews:
    timeline = _part(said, "timeline")
    events, state = _events(timeline), _events(_part(said, "state"))
    has_joined = any(
        _is_membership(event, own_id, "join")
        and _part(_part(event, "unsigned"), "prev_content").get("membership") != "join"
        for event in (*state, *events)
    )
    invited_at = next((at for at, event in enumerate(events) if _is_membership(event, own_id, "invite")), -1)
    is_limited = timeline.get("limited") is True and not has_joined
    return RoomNews(
        room=room,
        events=tuple(events[invited_at + 1 :]) if has_joined else tuple(events),
        gap_from=str(timeline.get("prev_batch") or "") if is_limited else "",
        has_new_members=any(event.get("type") == "m.room.member" for event in (*state, *events)),
        is_encrypted=any(event.get("type") in _ENCRYPTED for event in (*state, *events)),
    )


def _is(value: Any) -> bool:
    return isinstance(value, Mapping)


def _part(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if _is(value) else None
    return found if isinstance(found, Mapping) else {}


def _events(value: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found = value.get("events")
    return [event for event in found if _is(event)] if isinstance(found, list) else []


def _is_membership(event: Mapping[str, Any], person: str, membership: str) -> bool:
    return (
        event.get("type") == "m.room.member"
        and event.get("state_key") == person
        and _part(event, "content").get("membership") == membership
    )


def is_message(event: Mapping[str, Any], own_id: str) -> bool:
    """True if an event is a message of somebody else: no edit, no state, nothing that was taken back."""
    content = _part(event, "content")
    return (
        event.get("type") == "m.room.message"
        and "state_key" not in event
        and isinstance(event.get("event_id"), str)
        and isinstance(event.get("sender"), str)
        and event.get("sender") != own_id
        and isinstance(content.get("body"), str)
        and _part(content, "m.relates_to").get("rel_type") != "m.replace"
    )


def inbound_of(
    event: Mapping[str, Any],
    *,
    account: str,
    room: str,
    own_id: str,
    members: AbstractSet[str],
    own_events: AbstractSet[str],
) -> Inbound:
    """Return a message as it is handed in.

    Args:
        event: An event of which `is_message` is true.
        account: Name of the account.
        room: The room it is in.
        own_id: The agent's id.
        members: Ids of those who are in the room.
        own_events: Ids of messages of the agent: an answer to one of them mentions it.
    """
    content, sender = _part(event, "content"), str(event["sender"])
    relation = _part(content, "m.relates_to")
    answered = str(_part(relation, "m.in_reply_to").get("event_id") or "")
    is_thread = relation.get("rel_type") == "m.thread"
    is_quoting = bool(answered) and relation.get("is_falling_back") is not True
    is_direct = is_direct_room(members, own_id, sender)
    text = _without_quote(content["body"]) if is_quoting else content["body"]
    kind = content.get("msgtype")
    return Inbound(
        route=ChatRoute(
            channel="matrix",
            account=account,
            kind=PeerKind.DIRECT if is_direct else PeerKind.GROUP,
            peer=sender if is_direct else room,
            thread=str(relation.get("event_id") or "") if is_thread else "",
        ),
        sender=Sender(id=sender, name=sender.partition(":")[0].lstrip("@"), is_program=kind == "m.notice"),
        id=str(event["event_id"]),
        text=_caption(content) if kind in _FILES else f"* {text}" if kind == "m.emote" else text,
        sent_s=_seconds(event.get("origin_server_ts")),
        mentions_us=_mentions(content, own_id) or (is_quoting and answered in own_events),
        attachments=(_attachment(content),) if kind in _FILES else (),
    )


def is_direct_room(members: AbstractSet[str], own_id: str, person: str) -> bool:
    """True if a room holds the agent, one person, and nobody else."""
    return members == {own_id, person}


def _without_quote(body: str) -> str:
    """Return a body without the quote that older clients put in front of an answer."""
    lines = body.split("\n")
    start = next((at for at, line in enumerate(lines) if not line.startswith("> ")), len(lines))
    return "\n".join(lines[start:]).lstrip("\n") if start else body


def _mentions(content: Mapping[str, Any], own_id: str) -> bool:
    named = _part(content, "m.mentions").get("user_ids")
    if isinstance(named, list):
        return own_id in named
    return own_id in content["body"] or own_id in str(content.get("formatted_body") or "")


def _caption(content: Mapping[str, Any]) -> str:
    name = content.get("filename")
    return str(content["body"]) if isinstance(name, str) and name != content["body"] else ""


def _attachment(content: Mapping[str, Any]) -> Attachment:
    facts = _part(content, "info")
    size = facts.get("size")
    return Attachment(
        name=str(content.get("filename") or content["body"]),
        type=str(facts.get("mimetype") or ""),
        size_bytes=size if isinstance(size, int) else 0,
    )


def _seconds(value: Any) -> float:
    return value / 1000 if isinstance(value, int) else 0.0


# --- what the agent says ----------------------------------------------------------------------------------------------


def json_bytes(text: str) -> int:
    """Return the length of a text in an event: in bytes of UTF-8, with what JSON escapes."""
    return len(json.dumps(sendable(text), ensure_ascii=False).encode()) - 2


def sendable(text: str) -> str:
    """Return a text without what no server stores: NUL, and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def message_of_part(part: Outbound) -> dict[str, Any]:
    """Return the content of the event for a part. In rooms of several people it is a notice, which no program answers."""
    kind = "m.text" if part.route.kind is PeerKind.DIRECT else "m.notice"
    content: dict[str, Any] = {"msgtype": kind, "body": sendable(part.text), "m.mentions": {}}
    if part.route.thread:
        content["m.relates_to"] = {
            "rel_type": "m.thread",
            "event_id": part.route.thread,
            "is_falling_back": not part.route.answers,
            "m.in_reply_to": {"event_id": part.route.answers or part.route.thread},
        }
    elif part.route.answers:
        content["m.relates_to"] = {"m.in_reply_to": {"event_id": part.route.answers}}
    return content
