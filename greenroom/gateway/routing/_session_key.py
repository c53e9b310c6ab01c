"""Session keys: the name under which a chat, a run or a job finds its session.

    agent:ID:main
    agent:ID:dm:PEER
    agent:ID:CHANNEL:dm:PEER
    agent:ID:CHANNEL:ACCOUNT:dm:PEER
    agent:ID:CHANNEL:group|channel:PEER      with :thread:ID or :topic:ID behind it
    agent:ID:subagent:UUID
    agent:ID:cron:JOB                          with :run:UUID behind it
    agent:ID:hook:UUID

Rule 1: a key and its parts stand for each other, both ways. Rule 2: names from outside are encoded, so no name of one
chat is ever part of the key of another one. Rule 3: a key is never a file name.

Must not know: configuration, sessions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.core.ports import is_uuid
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._agents import MAIN_AGENT

PSEUDO_KEYS: Final = frozenset({"global", "unknown"})
"""Keys that are no session's."""
MAX_NAME: Final = 255
"""Characters of an encoded name; a longer one is cut, and ends with a hash of the whole."""
MAX_LABEL: Final = 64
"""Characters of a label."""
MAX_KEY: Final = 4_096
"""Characters of a key that is read."""

_HASH: Final = 32
_RESERVED: Final = frozenset({"main", "dm", "subagent", "cron", "hook", "group", "channel"})
_CHANNEL: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SIGNS: Final = r":%\s\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_MUST_ENCODE: Final = re.compile(f"[{_SIGNS}]")
_ENCODED: Final = re.compile(f"(?:%[0-9A-F]{{2}}|[^{_SIGNS}])+")
_CUT_MARK: Final = "%FF"
"""In front of the hash of a name that was cut: a byte that no encoded text has."""
_EMPTY: Final = "%FE"
"""The empty name: likewise."""


@final
@attrs.frozen
class MainSession:
    """The main session of an agent."""


@final
@attrs.frozen
class DirectSession:
    """Direct messages of a person."""

    peer: str
    """The person, encoded."""
    channel: str = ""
    """The channel; empty if the person is one on all of them."""
    account: str = ""
    """The account, encoded; empty for all of the channel."""


@final
@attrs.frozen
class RoomSession:
    """A group or a channel."""

    channel: str
    kind: Literal["group", "channel"]
    peer: str
    """The room, encoded."""
    thread: str = ""
    """The thread or topic, encoded; empty for the room itself."""
    thread_kind: Literal["thread", "topic"] = "thread"


@final
@attrs.frozen
class SubagentSession:
    """A sub-agent."""

    id: str
    """A UUID."""


@final
@attrs.frozen
class CronSession:
    """A job of the clock."""

    job: str
    """The job, encoded."""
    run: str = ""
    """The UUID of an isolated run; empty for the session of the job."""


@final
@attrs.frozen
class HookSession:
    """A call from outside."""

    id: str
    """A UUID."""


SessionPart: TypeAlias = MainSession | DirectSession | RoomSession | SubagentSession | CronSession | HookSession


@final
@attrs.frozen
class SessionKey:
    """The name of a session."""

    agent: str
    """The agent's id, in its one form."""
    rest: SessionPart = MainSession()
    """What follows the id."""

    @staticmethod
    def parse(text: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        """Return the key that a text stands for; `main` is the main session of `agent`.

        Raises:
            UsageError: The text is no key.
        """
        if text == "main":
            return SessionKey(agent)
        match text.split(":") if len(text) <= MAX_KEY else []:
            case ["agent", id_, *rest] if rest and id_ == normal_agent_id(id_):
                part = _part(rest)
                if part is not None:
                    return SessionKey(id_, part)
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise UsageError(f"invalid session key {shown!r}; expected a key such as 'agent:main:main'")

    @property
    def is_child(self) -> bool:
        """True for the session of a sub-agent."""
        return isinstance(self.rest, SubagentSession)

    def __str__(self) -> str:
        return ":".join(("agent", self.agent, *_words(self.rest)))


def key_name(name: str) -> str:
    """Return a name from outside as it stands in a key: encoded where it must be, and cut with a hash if it is long.

    Two names have the same form only if they are the same. Case is kept.
    """
    if not name:
        return _EMPTY
    encoded = _MUST_ENCODE.sub(_percent, name)
    return encoded if len(encoded) <= MAX_NAME else _cut(encoded, name)


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _cut(encoded: str, name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    head = encoded[: MAX_NAME - _HASH - len(_CUT_MARK)]
    return re.sub("%[0-9A-F]?$", "", head) + _CUT_MARK + digest


def read_label(text: str) -> str:
    """Return a label without the spaces around it.

    Raises:
        UsageError: Nothing is left of it, or it is longer than 64 characters.
    """
    label = text.strip()
    if not label:
        raise UsageError("label must not be empty")
    if len(label) > MAX_LABEL:
        raise UsageError(f"label must have at most {MAX_LABEL} characters, got {len(label)}")
    return label


def is_listed(key: str, *, scope: str) -> bool:
    """True if a key may stand in a list of sessions: `unknown` never does, `global` only where all share one session."""
    return key != "unknown" and (key != "global" or scope == "global")


# --- the grammar ------------------------------------------------------------------------------------------------------


def _words(part: SessionPart) -> tuple[str, ...]:
    match part:
        case MainSession():
            return ("main",)
        case DirectSession(peer, channel, account):
            return (*filter(None, (channel, account)), "dm", peer)
        case RoomSession(channel, kind, peer, thread, thread_kind):
            return (channel, kind, peer, *((thread_kind, thread) if thread else ()))
        case SubagentSession(id_):
            return ("subagent", id_)
        case CronSession(job, run):
            return ("cron", job, *(("run", run) if run else ()))
        case HookSession(id_):
            return ("hook", id_)


def _part(words: Sequence[str]) -> SessionPart | None:
    """Return what the words behind the agent's id say; None if they say nothing."""
    part: SessionPart | None = None
    match words:
        case ["main"]:
            part = MainSession()
        case ["subagent", id_]:
            part = SubagentSession(id_) if is_uuid(id_) else None
        case ["hook", id_]:
            part = HookSession(id_) if is_uuid(id_) else None
        case ["cron", job]:
            part = CronSession(job) if _ENCODED.fullmatch(job) else None
        case ["cron", job, "run", id_]:
            part = CronSession(job, id_) if _ENCODED.fullmatch(job) and is_uuid(id_) else None
        case ["dm", peer]:
            part = DirectSession(peer) if _ENCODED.fullmatch(peer) else None
        case [channel, *rest] if _is_channel(channel):
            part = _of_channel(channel, rest)
    return part


def _of_channel(channel: str, words: Sequence[str]) -> SessionPart | None:
    if not all(_ENCODED.fullmatch(word) for word in words):
        return None
    match words:
        case ["dm", peer]:
            return DirectSession(peer, channel)
        case ["group" | "channel" as kind, peer]:
            return RoomSession(channel, _ROOMS[kind], peer)
        case ["group" | "channel" as kind, peer, "thread" | "topic" as of, thread]:
            return RoomSession(channel, _ROOMS[kind], peer, thread, _THREADS[of])
        case [account, "dm", peer]:
            return DirectSession(peer, channel, account)
    return None


_ROOMS: Final[dict[str, Literal["group", "channel"]]] = {"group": "group", "channel": "channel"}
_THREADS: Final[dict[str, Literal["thread", "topic"]]] = {"thread": "thread", "topic": "topic"}


def _is_channel(word: str) -> bool:
    return _CHANNEL.fullmatch(word) is not None and word not in _RESERVED


# --- making keys ------------------------------------------------------------------------------------------------------


def main_key(agent: str) -> SessionKey:
    """Return the key of an agent's main session."""
    return SessionKey(normal_agent_id(agent))


def child_key(agent: str, id_: str) -> SessionKey:
    """Return the key of a sub-agent of that agent id.

    Args:
        agent: The id of the agent that runs.
        id_: A new UUID.
    """
    return SessionKey(normal_agent_id(agent), SubagentSession(id_))


def direct_key(agent: str, peer: str, *, channel: str = "", account: str = "") -> SessionKey:
    """Return the key of a person's direct messages; names are as they came from outside."""
    return SessionKey(
        normal_agent_id(agent),
        DirectSession(key_name(peer), _channel(channel), key_name(account) if account and channel else ""),
    )


def room_key(
    agent: str, channel: str, kind: Literal["group", "channel"], peer: str, *, thread: str = "", is_topic: bool = False
) -> SessionKey:
    """Return the key of a group or a channel, or of a thread in it; names are as they came from outside."""
    part = RoomSession(
        _channel(channel),
        kind,
        key_name(peer),
        key_name(thread) if thread else "",
        "topic" if is_topic and thread else "thread",
    )
    return SessionKey(normal_agent_id(agent), part)


def cron_key(agent: str, job: str, run: str = "") -> SessionKey:
    """Return the key of a job, or of one isolated run of it."""
    return SessionKey(normal_agent_id(agent), CronSession(key_name(job), run))


def hook_key(agent: str, id_: str) -> SessionKey:
    """Return the key of a call from outside."""
    return SessionKey(normal_agent_id(agent), HookSession(id_))


def _channel(name: str) -> str:
    if name and not _is_channel(name):
        raise UsageError(
            f"channel must be a name of a-z, 0-9, `_` and `-`, and none of the words of keys, got {name!r}"
        )
    return name
