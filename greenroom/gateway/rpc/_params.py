"""The parameters of methods, a class for each; keys are in camel case, as in the configuration.

Every method that changes something has an `idempotencyKey`. `MethodTable` says which class belongs to which method.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._clock_and_limits import CronJob
from greenroom.gateway.config._values import Count, Name, Range, Shaped, Text, Thinking

MAX_KEY: Final = 128
IdempotencyKey: TypeAlias = Annotated[
    str, Shaped(rf"(?s)[^\x00-\x1f\x7f]{{1,{MAX_KEY}}}", in_words=f"a text of 1 to {MAX_KEY} characters")
]
Limit: TypeAlias = Annotated[int, Range(1, 1_000)]
Seconds: TypeAlias = Annotated[float, Range(0, 86_400)]
QueueMode: TypeAlias = Literal["steer", "followup", "collect", "steer-backlog", "interrupt"]


@final
@attrs.frozen(kw_only=True)
class NoParams:
    """Nothing."""


@attrs.frozen(kw_only=True)
class ChangeParams:
    """Parameters of a method that changes something."""

    idempotency_key: IdempotencyKey
    """Made by the caller for each change that it wants: the same call again with the same key changes nothing more, and has the same
    answer, for a day.
    """


@final
@attrs.frozen(kw_only=True)
class PlainChange(ChangeParams):
    """Nothing but the key."""


# --- agents and chats -------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class AgentParams(ChangeParams):
    """A run."""

    message: Text
    """The question or task."""
    agent_id: Text | None = None
    """The agent, whose main session is used; by default the default one."""
    session_key: Text | None = None
    """The session; it wins over `agentId`."""
    to: Text | None = None
    """A chat of `channel`, whose session is used."""
    channel: Text | None = None
    """The channel of `to`."""
    deliver: bool = False
    """True if the reply is sent to the chat of the session, too."""
    thinking: Thinking | None = None
    """The level of thinking; by default as configured."""
    model: Text | None = None
    """The model; by default as configured."""
    timeout_seconds: Seconds = 0
    """Working time after which the run is ended; 0 for none."""


@final
@attrs.frozen(kw_only=True)
class AgentWaitParams:
    """A wait for a run; it only looks."""

    run_id: Text
    """The run."""
    timeout_ms: Annotated[int, Range(0, 600_000)] = 30_000
    """Time to wait; then the status is `pending`."""


@final
@attrs.frozen(kw_only=True)
class ChatSendParams(ChangeParams):
    """A message of a person, from a client."""

    session_key: Text
    """The session."""
    message: Text
    """The text."""
    queue: QueueMode | None = None
    """Its effect on a running turn; by default what is configured."""


@final
@attrs.frozen(kw_only=True)
class ChatAbortParams(ChangeParams):
    """An end for a turn, or for a message that waits."""

    session_key: Text
    """The session."""
    run_id: Text | None = None
    """The run; by default the one that runs."""


@final
@attrs.frozen(kw_only=True)
class HistoryParams:
    """A part of a conversation."""

    session_key: Text
    """The session: its key, or its id."""
    limit: Limit = 50
    """Messages at most, the newest ones."""
    before: Count | None = None
    """Where the part before begins: `nextOffset` of the last answer."""
    include_tools: bool = False
    """True with results of tools."""


# --- sessions ---------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class SessionsListParams:
    """A choice of sessions."""

    kinds: tuple[Text, ...] | None = None
    """Only these kinds: `main`, `group`, `cron`, `hook`, `other`."""
    limit: Limit = 100
    """Sessions at most, those used last."""
    active_minutes: Annotated[int, Range(1)] | None = None
    """Only those used in the last minutes."""
    message_limit: Count = 0
    """Messages of each, at most 20."""


@final
@attrs.frozen(kw_only=True)
class SessionsResolveParams:
    """One session, by what is known of it."""

    session_key: Text | None = None
    """Its key."""
    session_id: Text | None = None
    """Its id."""
    label: Text | None = None
    """Its label."""
    agent_id: Text | None = None
    """The agent of the label."""


@final
@attrs.frozen(kw_only=True)
class SessionsSendParams(ChangeParams):
    """A message to a session, with the reply."""

    message: Text
    """The text."""
    session_key: Text | None = None
    """The session."""
    label: Text | None = None
    """Its label, instead of the key."""
    agent_id: Text | None = None
    """The agent of the label."""
    timeout_seconds: Seconds = 30
    """Time to wait for the reply; 0 for none."""


@final
@attrs.frozen(kw_only=True)
class SessionsSpawnParams(ChangeParams):
    """A sub-agent."""

    session_key: Text
    """The session that it announces its result to."""
    task: Text
    """The work order."""
    label: Text | None = None
    """Its name, for people."""
    agent_id: Text | None = None
    """The agent that does it; by default that of the session."""
    model: Text | None = None
    """The model; by default as configured."""
    thinking: Thinking | None = None
    """The level of thinking; by default as configured."""
    run_timeout_seconds: Seconds = 0
    """Working time after which it is ended; 0 for none."""
    cleanup: Literal["delete", "keep"] = "keep"
    """Whether its session is archived at once."""


@final
@attrs.frozen(kw_only=True)
class SessionsPatchParams(ChangeParams):
    """Settings of a session; they count from its next turn. What is left out stays; an empty text means the default again."""

    session_key: Text
    """The session."""
    label: str | None = None
    """Its name."""
    model: str | None = None
    """The model."""
    thinking: Literal[Thinking, ""] | None = None
    """The level of thinking."""
    queue: Literal[QueueMode, ""] | None = None
    """The effect of a message on a running turn."""
    send_policy: Literal["allow", "deny", ""] | None = None
    """Whether replies are sent to its chat."""
    permission_mode: str | None = None
    """The permission mode."""


@final
@attrs.frozen(kw_only=True)
class SessionChange(ChangeParams):
    """A change of one session."""

    session_key: Text
    """The session."""


# --- sub-agents, deliveries, messages ---------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class SubagentsListParams:
    """The sub-agents of a session."""

    session_key: Text
    """The session that started them."""


@final
@attrs.frozen(kw_only=True)
class SubagentParams:
    """One sub-agent of a session."""

    session_key: Text
    """The session that started it."""
    target: Text
    """Its number in the list, `last`, the beginning of its run's id, or its session key."""


@final
@attrs.frozen(kw_only=True)
class SubagentsLogParams:
    """The last messages of a sub-agent."""

    session_key: Text
    """The session that started it."""
    target: Text
    """As for `subagents.info`."""
    limit: Limit = 20
    """Messages at most, the newest ones; at most 200."""
    tools: bool = False
    """True with results of tools."""


@final
@attrs.frozen(kw_only=True)
class SubagentsSendParams(ChangeParams):
    """A message to a sub-agent."""

    session_key: Text
    """The session that started it."""
    target: Text
    """As for `subagents.info`."""
    message: Text
    """The text."""


@final
@attrs.frozen(kw_only=True)
class SubagentsStopParams(ChangeParams):
    """An end for sub-agents."""

    session_key: Text
    """The session that started them."""
    target: Text = "all"
    """As for `subagents.info`; by default all, with the turn of the session."""


@final
@attrs.frozen(kw_only=True)
class DeliveriesListParams:
    """A choice of deliveries."""

    state: Literal["due", "blocked", "open"] = "open"
    """Those that are due, those that are blocked, or both."""
    limit: Limit = 100
    """Deliveries at most, the newest ones."""


@final
@attrs.frozen(kw_only=True)
class DeliveryChange(ChangeParams):
    """A decision about a blocked delivery."""

    delivery_id: Text
    """The delivery."""


@final
@attrs.frozen(kw_only=True)
class SendParams(ChangeParams):
    """A message to a chat, without a run."""

    channel: Text
    """The channel."""
    to: Text
    """The chat's id."""
    message: Text
    """The text."""
    account_id: Text | None = None
    """The account; by default `default`."""
    thread_id: Text | None = None
    """The thread in the chat."""


# --- approvals, pairing, clock ----------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class ApprovalsResolveParams(ChangeParams):
    """The answer to a question about a call."""

    approval_id: Text
    """The question."""
    decision: Literal["once", "always", "deny"]
    """The answer; the first one counts."""


@final
@attrs.frozen(kw_only=True)
class PairingCodeParams(ChangeParams):
    """A decision about somebody who asked to be paired."""

    channel: Text
    """The channel."""
    code: Text
    """The code that the person was sent."""
    account_id: Text | None = None
    """The account; by default `default`."""


@final
@attrs.frozen(kw_only=True)
class PairingRemoveParams(ChangeParams):
    """The end of a pairing."""

    channel: Text
    """The channel."""
    sender: Text
    """The person's id."""
    account_id: Text | None = None
    """The account; by default `default`."""


@final
@attrs.frozen(kw_only=True)
class CronJobParams(ChangeParams):
    """A job, whole: an update replaces the one with its id."""

    job: CronJob
    """The job."""


@final
@attrs.frozen(kw_only=True)
class JobChange(ChangeParams):
    """Something done to a job."""

    job_id: Name
    """The job."""


@final
@attrs.frozen(kw_only=True)
class CronRunsParams:
    """The runs of a job."""

    job_id: Name
    """The job."""
    limit: Limit = 20
    """Runs at most, the newest ones."""


# --- the gateway ------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class OpenPageParams:
    """The page."""

    admin: bool = False
    """True if it may also do what needs the scope `admin`, such as pairing people."""


@attrs.frozen(kw_only=True)
class StopParams(ChangeParams):
    """The end of the gateway."""

    reason: str = ""
    """Why, for the record."""


EventName: TypeAlias = Literal[
    "agent", "chat", "session", "delivery", "approval", "pairing", "channel", "cron", "health"
]


@final
@attrs.frozen(kw_only=True)
class SubscribeParams:
    """A choice of events, beside those that were chosen before."""

    events: tuple[EventName, ...]
    """The events."""
    session_keys: tuple[Text, ...] | None = None
    """Only those of these sessions; by default of all."""
    level: Literal["all", "lifecycle"] = "all"
    """`lifecycle` for beginnings and ends without the text in between."""


@final
@attrs.frozen(kw_only=True)
class UnsubscribeParams:
    """Events that are no longer wanted."""

    events: tuple[EventName, ...]
    """The events."""
    session_keys: tuple[Text, ...] | None = None
    """Only those of these sessions, of sessions that were named; by default all."""
