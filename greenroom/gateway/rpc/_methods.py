"""The table of methods: for each, its scope, its parameters, and what it does.

The answer to `connect`, the reference page and the tests are made from this table. Handlers are added by the program that runs the gateway:

    methods = bind({"health": health, "sessions.list": sessions_list, ...})

Rule 1: a method exists once, here. Rule 2: one that changes something takes a key, so it can be called again after any break.

Must not know: connections, tokens, what the handlers do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias, final
from uuid import UUID, uuid5

import attrs

from greenroom.core import UsageError
from greenroom.gateway.rpc import _params as params
from greenroom.gateway.rpc._scopes import Grant, RpcScope

CALL_S: Final = 30.0
"""Default time for an answer, in seconds."""
_NAMESPACE: Final = UUID("4e0f7c1e-5b0c-4d2e-9c57-3f1f0d1b7a10")


class Reach(StrEnum):
    """The way in which a method is held to the sessions of a token that is good for some only."""

    SESSION = "session"
    """Its `sessionKey` has to be one of them."""
    FILTERED = "filtered"
    """Its answer holds nothing about others: the handler asks `RpcCall.reaches`."""
    GATEWAY = "gateway"
    """It is about more than a session, so such a token cannot call it."""


@final
@attrs.frozen(kw_only=True)
class RpcCall:
    """One call, for its handler."""

    method: str
    grant: Grant
    connection: str
    """Id of the connection."""
    key: str = ""
    """The idempotency key; empty for a method that only looks."""

    @property
    def id(self) -> str:
        """A UUID that the same call has again after any break: for the item or the run that it makes."""
        return str(uuid5(_NAMESPACE, f"{self.grant.account}\n{self.key}"))

    def reaches(self, session: str) -> bool:
        """True if the caller may know of a session."""
        return self.grant.reaches(session)


Answer: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[RpcCall, Any], Awaitable[Answer]]
"""Takes the call and an object of the method's parameter class; its answer is a JSON object. It may raise `RpcError`."""


@final
@attrs.frozen(kw_only=True)
class MethodSpec:
    """A method without its handler."""

    name: str
    scope: RpcScope
    params: type[Any]
    about: str
    """Its purpose, for the page."""
    reach: Reach = Reach.GATEWAY
    timeout_s: float = CALL_S
    """Time for an answer, in seconds. What changes something goes on after that."""
    works_when_shut: bool = False
    """True if it is done also while nothing can be recorded: it ends something, or lets it go on."""

    @property
    def is_changing(self) -> bool:
        """True if it changes something: then a key is required, and the answer is kept for the same call again."""
        return issubclass(self.params, params.ChangeParams)


@final
@attrs.frozen(kw_only=True)
class Method:
    """A method with its handler."""

    spec: MethodSpec
    handler: Handler


_R, _W, _AP, _AD = RpcScope.READ, RpcScope.WRITE, RpcScope.APPROVE, RpcScope.ADMIN
_ON, _OF = Reach.SESSION, Reach.FILTERED


def _spec(
    name: str, scope: RpcScope, kind: type[Any], about: str, reach: Reach = Reach.GATEWAY, **more: Any
) -> MethodSpec:
    return MethodSpec(name=name, scope=scope, params=kind, about=about, reach=reach, **more)


METHODS: Final = (
    _spec("health", _R, params.NoParams, "The state of each part, with figures and limits."),
    _spec("status", _R, params.NoParams, "The gateway in a few lines: version, since when, sessions, channels."),
    _spec("channels.status", _R, params.NoParams, "The accounts of channels: state, last contact, last error."),
    _spec("agents.list", _R, params.NoParams, "The agents.", _OF),
    _spec("agent", _W, params.AgentParams, "Begin a run; the answer comes once it is on record.", _ON),
    _spec("agent.wait", _R, params.AgentWaitParams, "Wait for the end of a run; it only looks.", _OF, timeout_s=660.0),
    _spec("chat.send", _W, params.ChatSendParams, "Say something in a session, as a person.", _ON),
    _spec(
        "chat.abort",
        _W,
        params.ChatAbortParams,
        "End the turn of a session, or a message that waits; its sub-agents go on.",
        _ON,
        works_when_shut=True,
    ),
    _spec("chat.history", _R, params.HistoryParams, "A conversation, with the id of its session.", _ON),
    _spec("sessions.history", _R, params.HistoryParams, "The same as `chat.history`.", _ON),
    _spec("sessions.list", _R, params.SessionsListParams, "Sessions.", _OF),
    _spec("sessions.resolve", _R, params.SessionsResolveParams, "The key and id of one session.", _OF),
    _spec(
        "sessions.send",
        _W,
        params.SessionsSendParams,
        "Say something in a session, and wait for the reply.",
        _ON,
        timeout_s=86_430.0,
    ),
    _spec("sessions.spawn", _W, params.SessionsSpawnParams, "Start a sub-agent of a session.", _ON),
    _spec("sessions.patch", _W, params.SessionsPatchParams, "ChangeParams settings of a session.", _ON),
    _spec("sessions.reset", _W, params.SessionChange, "Begin the conversation of a session anew.", _ON, timeout_s=90.0),
    _spec("sessions.delete", _AD, params.SessionChange, "Close and archive a session.", _ON, timeout_s=90.0),
    _spec("subagents.list", _R, params.SubagentsListParams, "The sub-agents of a session.", _ON),
    _spec("subagents.info", _R, params.SubagentParams, "One sub-agent, with times and result.", _ON),
    _spec("subagents.log", _R, params.SubagentsLogParams, "The last messages of a sub-agent.", _ON),
    _spec(
        "subagents.send",
        _W,
        params.SubagentsSendParams,
        "Say something to a sub-agent, and wait 30 s.",
        _ON,
        timeout_s=60.0,
    ),
    _spec(
        "subagents.stop",
        _W,
        params.SubagentsStopParams,
        "Stop sub-agents, with all that they have started.",
        _ON,
        works_when_shut=True,
    ),
    _spec("deliveries.list", _R, params.DeliveriesListParams, "Messages that wait to be sent.", _OF),
    _spec("deliveries.retry", _W, params.DeliveryChange, "Send a blocked message again."),
    _spec("deliveries.dismiss", _W, params.DeliveryChange, "Give a blocked message up."),
    _spec("send", _W, params.SendParams, "Send a message to a chat, without a run."),
    _spec("approvals.list", _R, params.NoParams, "Calls that wait for an answer.", _OF),
    _spec(
        "approvals.resolve",
        _AP,
        params.ApprovalsResolveParams,
        "Answer such a question; the first answer counts.",
        works_when_shut=True,
    ),
    _spec("pairing.list", _AD, params.NoParams, "People who are paired, or asked to be."),
    _spec("pairing.approve", _AD, params.PairingCodeParams, "Pair somebody."),
    _spec("pairing.reject", _AD, params.PairingCodeParams, "Refuse somebody."),
    _spec("pairing.remove", _AD, params.PairingRemoveParams, "End a pairing."),
    _spec("cron.list", _R, params.NoParams, "The jobs of the clock."),
    _spec("cron.add", _W, params.CronJobParams, "Add a job."),
    _spec("cron.update", _W, params.CronJobParams, "Replace a job."),
    _spec("cron.remove", _W, params.JobChange, "Remove a job."),
    _spec("cron.run", _W, params.JobChange, "Run a job now."),
    _spec("cron.runs", _R, params.CronRunsParams, "The last runs of a job."),
    _spec("config.get", _AD, params.NoParams, "The values in force, with their origin; secrets as `***`."),
    _spec("config.check", _AD, params.NoParams, "The problems of the configuration file as it is now."),
    _spec("config.reload", _AD, params.PlainChange, "Read the configuration file again."),
    _spec("gateway.stop", _AD, params.StopParams, "Stop the gateway in order.", works_when_shut=True),
)
"""The methods whose handlers are given."""
OWN_METHODS: Final = (
    _spec("events.subscribe", _R, params.SubscribeParams, "Choose events.", _OF),
    _spec("events.unsubscribe", _R, params.UnsubscribeParams, "Choose no longer.", _OF),
    _spec(
        "gateway.open", _AD, params.OpenPageParams, "A one-time code for a page in a browser; it is good for a minute."
    ),
)
"""The methods that the protocol answers itself."""
EVENTS: Final[Mapping[str, str]] = {
    "agent": "A run: `runId`, `sessionKey`, `phase` (`accepted`, `queued`, `start`, `tool`, `end`), and what belongs to it; `requester` for a sub-agent's.",
    "chat": "A message: `runId`, `sessionKey`, `state` (`delta`, `final`, `aborted`, `error`), `message`. A `delta` has the text that "
    "comes next, and with `at` its place: the number of characters of the turn before it. `final` has the whole last text.",
    "session": "A row of `sessions.list` that has changed.",
    "delivery": "A delivery that has changed.",
    "approval": "A question about a call, or its answer. Scope `approve`.",
    "pairing": "Somebody asked to be paired, or was. Scope `admin`.",
    "channel": "An account of a channel that has changed.",
    "cron": "A job, or a run of it, that has changed.",
    "health": "The state of a part that has changed.",
    "gap": "Events that this connection lost, because it took them too slowly: `events` and `sessionKeys` (`null` for any) say what to "
    "read anew. Nothing else is ever lost.",
    "shutdown": "The gateway stops: `reason`, `isRestart`.",
    "tick": "Every 15 s, if nothing else was sent.",
}
"""Events. `gap`, `shutdown` and `tick` need no subscription."""
EVENT_SCOPES: Final[Mapping[str, RpcScope]] = {"approval": RpcScope.APPROVE, "pairing": RpcScope.ADMIN}
"""The scope that an event needs, if it is not `read`."""


def bind(handlers: Mapping[str, Handler], specs: Iterable[MethodSpec] = METHODS) -> tuple[Method, ...]:
    """Return the methods with their handlers.

    Args:
        handlers: A handler for each method of the table, by name.
        specs: The table.

    Raises:
        UsageError: A method has no handler, or a handler no method.
    """
    known = {spec.name: spec for spec in specs}
    missing, unknown = known.keys() - handlers.keys(), handlers.keys() - known.keys()
    if missing:
        raise UsageError(f"no handler was given for: {', '.join(sorted(missing))}")
    if unknown:
        raise UsageError(f"the table has no such method: {', '.join(sorted(unknown))}")
    return tuple(Method(spec=spec, handler=handlers[name]) for name, spec in known.items())
