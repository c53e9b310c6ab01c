"""Messages between a run and the host of its remote agents.

The run asks, the host never pushes: each message may be sent again, because it names the run and the task, and has then the same answer.
Two actors of a host are published: `host` takes orders and answers at once; one actor an agent, `follower_name`, answers when it has news.
An agent belongs to the key of the run that launched it: to others, who may know the token of the host too, it does not exist.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, final

import attrs

from greenroom.actors import Request
from greenroom.remote.wire import MessageCodec

HOST_ACTOR: Final = "host"
"""Published name of the actor that takes orders."""
MAX_OUTPUT_PART: Final = 262_144
"""Bytes of an output in one answer."""
MAX_FOLLOW_S: Final = 20.0
"""Seconds after which a host answers although there is no news."""
_TASK: Final = re.compile("r[0-9a-z]{8}")
_RUN: Final = re.compile("[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_KINDS_OF_TOKENS: Final = 4
_KEY: Final = re.compile("[0-9a-f]{32,64}")


def _is_run(_: Any, attribute: attrs.Attribute[str], value: str) -> None:
    if not _RUN.fullmatch(value):
        raise ValueError(f"{attribute.name} must be the id of a run, got {value[:80]!r}")


def _is_task(_: Any, attribute: attrs.Attribute[str], value: str) -> None:
    if not _TASK.fullmatch(value):
        raise ValueError(f"{attribute.name} must be 'r' and 8 of [0-9a-z], got {value[:80]!r}")


def _is_key(_: Any, attribute: attrs.Attribute[str], value: str) -> None:
    if not _KEY.fullmatch(value):
        raise ValueError(f"{attribute.name} must be 32 to 64 of [0-9a-f]")  # it is a secret


def _is_usage(_: Any, attribute: attrs.Attribute[list[int]], value: list[int]) -> None:
    if len(value) != _KINDS_OF_TOKENS or min(value) < 0:
        raise ValueError(f"{attribute.name} must be {_KINDS_OF_TOKENS} numbers of at least 0, got {value!r}")


def owner_of(run: str, key: str) -> str:
    """Return the name of a run that only holders of its key can know."""
    return hashlib.sha256(f"{key}/{run}".encode()).hexdigest()[:40]


def follower_name(owner: str, task: str) -> str:
    """Return the published name of the actor that answers `FollowAgent` for one agent of an owner; see `owner_of`."""
    return f"{HOST_ACTOR}/{owner}/{task}"


@final
@attrs.frozen(kw_only=True)
class LaunchAnswer:
    """The answer to `LaunchAgent`."""

    refused: str = ""
    """The reason why the agent was not started; empty if it was."""


@final
@attrs.frozen(kw_only=True)
class LaunchAgent(Request[LaunchAnswer]):
    """An order to start an agent. The host has recorded it before it answers; an order that it has already changes nothing."""

    run: str = attrs.field(validator=_is_run)
    """Id of the run that launches it."""
    key: str = attrs.field(validator=_is_key, repr=False)
    """The secret of that run, which its later messages about the agent show too."""
    task: str = attrs.field(validator=_is_task)
    definition: dict[str, Any]
    """The definition as a JSON object, as `--agents` takes it, with its name."""
    description: str
    prompt: str
    model: str = ""
    """An alias or an id; empty for that of the definition, or of the host."""
    workspace: str = ""
    """The host's name of the folder in which it works; empty for an empty folder of its own."""


@final
@attrs.frozen(kw_only=True)
class StopAgent(Request[bool]):
    """An order to end an agent; the answer is True if the host knows it. Its end is news like any other."""

    run: str = attrs.field(validator=_is_run)
    key: str = attrs.field(validator=_is_key, repr=False)
    task: str = attrs.field(validator=_is_task)
    why: str


@final
@attrs.frozen(kw_only=True)
class ReleaseAgent(Request[bool]):
    """Notification that the run wants no more news of an agent: the host ends it if it runs, and forgets it.

    The answer is True if it knew it.
    """

    run: str = attrs.field(validator=_is_run)
    key: str = attrs.field(validator=_is_key, repr=False)
    task: str = attrs.field(validator=_is_task)


@final
@attrs.frozen(kw_only=True)
class AnswerAgent(Request[bool]):
    """An answer to a question of an agent; the reply is False if the question does not wait any more."""

    run: str = attrs.field(validator=_is_run)
    key: str = attrs.field(validator=_is_key, repr=False)
    task: str = attrs.field(validator=_is_task)
    question: str
    """Its id."""
    answer: dict[str, Any]
    """`allows`, and `input` in place of the call's own, or `message` and `interrupts`."""


@final
@attrs.frozen(kw_only=True)
class HostDescription:
    """The answer to `DescribeHost`."""

    version: str
    """Version of greenroom."""
    running: int
    """Number of agents that run."""
    max_running: int
    workspaces: list[str]
    """Names of the folders in which agents may work."""
    is_draining: bool
    """True if it starts no more agents."""


@final
@attrs.frozen(kw_only=True)
class DescribeHost(Request[HostDescription]):
    """A question for the state of a host."""


@final
@attrs.frozen(kw_only=True)
class AgentNews:
    """The answer to `FollowAgent`: the state of an agent, and a part of its output."""

    version: int
    """A number that changes with every change of the agent."""
    state: str
    """`pending`, `running`, `completed`, `failed` or `killed`."""
    offset: int
    """Place of `output` in the whole output, in bytes."""
    output: bytes
    """At most `MAX_OUTPUT_PART` bytes."""
    size: int
    """Size of the whole output, in bytes."""
    activity: str = ""
    """Its latest activity."""
    tool_uses: int = 0
    input_tokens: int = 0
    """Tokens that its latest request read."""
    output_tokens: int = 0
    """Tokens that it has written."""
    duration_ms: int = 0
    result: str = ""
    """Its last words; partial if it did not complete."""
    error: str = ""
    """Reason of a failure."""
    ended_by: str = ""
    """Requester of its end; empty if nobody requested it."""
    end_reason: str = ""
    """The requester's reason."""
    questions: list[dict[str, Any]] = attrs.field(factory=list)
    """Its questions for permission that wait for an answer: `id`, `call`, `tool`, `input`, `reason`."""
    usage: list[int] = attrs.field(factory=lambda: [0, 0, 0, 0], validator=_is_usage)
    """Tokens so far: input, output, written to the cache, read from it."""
    calls: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    """Number of its models' answers."""
    usd: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.lt(1e9)])
    """Their price, as far as the host knows the prices."""


@final
@attrs.frozen(kw_only=True)
class FollowAgent(Request[AgentNews]):
    """A question for news of an agent: the answer comes when something has changed, or after `wait_s`."""

    offset: int = attrs.field(validator=attrs.validators.ge(0))
    """Bytes of its output that the run has."""
    version: int
    """That of the latest news; any other number is answered at once."""
    wait_s: float = attrs.field(
        default=MAX_FOLLOW_S, validator=[attrs.validators.ge(0), attrs.validators.le(MAX_FOLLOW_S)]
    )


MESSAGES: Final = (
    LaunchAgent,
    LaunchAnswer,
    StopAgent,
    ReleaseAgent,
    AnswerAgent,
    DescribeHost,
    HostDescription,
    FollowAgent,
    AgentNews,
)


def host_codec() -> MessageCodec:
    """Return the codec of hosts and of those who launch agents there."""
    return MessageCodec(MESSAGES)
