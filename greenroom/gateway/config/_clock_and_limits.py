"""Settings of commands, the clock, secrets and limits, a class for each section."""

from __future__ import annotations

from typing import Annotated, Literal, final

import attrs

from greenroom.gateway.config._values import Model, Name, PeerName, PositiveInt, Range, Text, Thinking


@final
@attrs.frozen(kw_only=True)
class CommandsConfig:
    """Commands in chats."""

    owner_allow_from: tuple[PeerName, ...] = ()
    """The owners, each as `channel:id`: their words are the user's, and they may give commands."""
    bash: bool = False
    """True if a direct message of an owner that begins with `!` is run as a command of the shell."""


@final
@attrs.frozen(kw_only=True)
class CronSchedule:
    """When a job is due: one of `at`, `everyMs` and `cron`."""

    at: str | None = None
    """A moment, such as `2026-12-24T18:00`."""
    every_ms: Annotated[int, Range(1000)] | None = None
    """Milliseconds between two times."""
    anchor: str | None = None
    """A moment that the times of `everyMs` are counted from."""
    cron: str | None = None
    """An expression of five fields."""
    tz: str = ""
    """Time zone; by default `session.timezone`."""


@final
@attrs.frozen(kw_only=True)
class DeliverTo:
    """A chat."""

    channel: Text
    """The channel."""
    to: Text
    """The chat's id."""


@final
@attrs.frozen(kw_only=True)
class CronJob:
    """Work that the clock begins."""

    id: Name
    """Its id."""
    message: Text
    """What the agent is to do."""
    schedule: CronSchedule
    """When."""
    name: str = ""
    """Its name, for people."""
    agent_id: Text | None = None
    """Its agent; by default the default one."""
    session: Text = "isolated"
    """`main`, `isolated` for a session of its own for each run, or a session key."""
    model: Model | None = None
    """The model; by default the agent's."""
    thinking: Thinking | None = None
    """How much it thinks; by default as the agent."""
    deliver: DeliverTo | Literal["last", "none"] = "none"
    """Where the result goes: a chat, the one that was used last, or nowhere."""
    delete_after_run: bool = False
    """True if a job of one time is removed afterwards."""
    enabled: bool = True
    """False to keep it without running it."""
    catch_up: Literal["once", "skip"] = "once"
    """What happens to times that passed while the gateway was down: one run for all of them, or none."""
    max_age_minutes: PositiveInt = 24 * 60
    """Age in minutes from which a time that passed is not run."""


@final
@attrs.frozen(kw_only=True)
class CronConfig:
    """Work that the clock begins."""

    enabled: bool = True
    """False to run no jobs."""
    jobs: tuple[CronJob, ...] = ()
    """Jobs."""


@final
@attrs.frozen(kw_only=True)
class SecretsConfig:
    """Secrets."""

    exec_timeout_seconds: PositiveInt = 10
    """Seconds that a program has to print a secret."""
    withhold: tuple[Text, ...] = ()
    """Variables of the environment that no command of an agent gets, beside those that are known to be secret."""


@final
@attrs.frozen(kw_only=True)
class LimitsConfig:
    """Upper limits."""

    open_sessions: PositiveInt = 200
    """Sessions in memory; the one that was idle longest is closed for another."""
    known_sessions: PositiveInt = 10_000
    """Sessions of one agent, those on disk included."""
    message_bytes: PositiveInt = 32_000
    """Bytes of a message from a channel; the rest is cut off, with a line that says so."""
    waiting_inputs: PositiveInt = 500
    """Inputs that wait for one session."""
    messages_per_minute: PositiveInt = 20
    """Messages of one chat that are accepted in a minute."""
    turns_waiting: PositiveInt = 3
    """Turns of one chat that wait for their place."""
    turns_per_minute: PositiveInt = 20
    """Turns in a minute for one chat."""
    children_per_agent: PositiveInt = 100
    """Runs of one agent that have not ended."""
    undelivered_warn: PositiveInt = 25
    """Undelivered results of a session from which it is warned about."""
    undelivered_max: PositiveInt = 50
    """Undelivered results of a session from which it starts no sub-agents."""
    due_deliveries: PositiveInt = 1000
    """Messages that wait to be sent by one account; beyond it, the account takes nothing in."""
    connections: PositiveInt = 200
    """Clients."""
    reply_bytes: PositiveInt = 64_000
    """Bytes of a reply that are sent to a chat; the rest is in the transcript."""
    idempotency_keys: PositiveInt = 10_000
    """Keys of calls that are remembered for each token."""
    kept_events: PositiveInt = 512
    """Events that are kept for a client that comes back."""
    log_bytes: PositiveInt = 50 * 2**20
    """Bytes of a log file before the next one is begun."""
    log_days: PositiveInt = 14
    """Days that log files are kept."""
