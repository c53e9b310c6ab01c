"""Errors that say whose fault it is, with the facts as attributes.

`UsageError` is the caller's, `PeerError` the outside world's, `InternalError` ours. The rest tell how a piece of
work ended, and carry the errors that ended it.
"""

from __future__ import annotations

from typing import final


class GreenroomError(Exception):
    """The root of every error that greenroom raises."""


# --- the caller ------------------------------------------------------------------------------------------------


class UsageError(GreenroomError):
    """The call was wrong; the message says what, where, and what to do instead."""


@final
class Closed(UsageError):
    """What was used has been closed from this side."""


@final
class Busy(UsageError):
    """Somebody else is already waiting there; only one may."""


@final
class Stopping(UsageError):
    """A spawn came while its supervisor was stopping.

    Attributes:
        supervisor: Its path in the tree, or `root`.
    """

    def __init__(self, supervisor: str) -> None:
        super().__init__(f"supervisor {supervisor!r} is stopping and starts nothing any more")
        self.supervisor = supervisor


@final
class NameTaken(UsageError):
    """A name is registered once; it is free again when its owner is gone for good.

    Attributes:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name!r} is taken")
        self.name = name


@final
class SettingsError(UsageError):
    """A settings file or mapping holds something that cannot be used.

    Attributes:
        source: The file, or what else the settings came from.
        problems: Everything that is wrong, each with its path.
    """

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{source}: " + "; ".join(problems))
        self.source = source
        self.problems = problems


@final
class StashFull(UsageError):
    """A turn postponed its message, and as many as may wait for another state already did.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        postponed: How many messages were waiting.
    """

    def __init__(self, actor: str, postponed: int, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} has postponed {postponed} messages, and may not postpone more")
        self.actor = actor
        self.path = path
        self.postponed = postponed


@final
class AskCycle(UsageError):
    """An actor was to wait for another one that waits for it, directly or through others: no answer would ever come.

    Attributes:
        path: The actors' paths in the order in which each waits for the next; the first again at the end.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(f"this would wait for ever: {' -> '.join(path)}; answer first, or tell instead of asking")
        self.path = path


# --- the outside world -----------------------------------------------------------------------------------------


class PeerError(GreenroomError):
    """Something beyond this program failed, or ended before it answered."""


class ProviderError(PeerError):
    """A model provider refused, failed or cut the connection.

    Attributes:
        kind: What went wrong, as a word that can be branched on.
        status: The HTTP status, or None where there was none.
        retry_after_s: How long the provider asks us to wait, in seconds.
        is_retryable: Whether the same request may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        is_retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after_s = retry_after_s
        self.is_retryable = is_retryable


class JournalError(PeerError):
    """The journal cannot be written or read: where, and why.

    Attributes:
        where: The file or folder.
        why: What happened, and what can be done.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


@final
class JournalBusy(JournalError):
    """Too much waits to be written for anything new to begin; when it is on disk, it may."""


@final
class ActorEnded(PeerError):
    """The actor that was asked or watched is gone and will not answer.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        state: Its state, such as `completed`; one that drains is still `running`.
    """

    def __init__(self, actor: str, state: str, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} has ended ({state})")
        self.actor = actor
        self.path = path
        self.state = state


@final
class AskTimedOut(PeerError):
    """No answer came within the time that the asker gave.

    Attributes:
        actor: Id of the actor that was asked.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        timeout_s: The time, in seconds.
    """

    def __init__(self, actor: str, timeout_s: float, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} did not answer within {timeout_s:g} s")
        self.actor = actor
        self.path = path
        self.timeout_s = timeout_s


@final
class Undelivered(PeerError):
    """A message that needs an answer was not accepted: the mailbox was full or closed.

    Attributes:
        actor: Id of the actor that was asked.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        delivery: What a send is answered, such as `full`.
    """

    def __init__(self, actor: str, delivery: str, *, path: str = "") -> None:
        super().__init__(f"the mailbox of actor {path or actor!r} is {delivery}")
        self.actor = actor
        self.path = path
        self.delivery = delivery


# --- us --------------------------------------------------------------------------------------------------------


class InternalError(GreenroomError):
    """A promise of greenroom does not hold; please report it."""


@final
class IllegalTransition(InternalError):
    """An event arrived in a state whose row in the table does not list it.

    Attributes:
        state: The state that it was in.
        event: The event that has no place there.
    """

    def __init__(self, *, state: str, event: str) -> None:
        super().__init__(f"{event!r} is not legal in state {state!r}")
        self.state = state
        self.event = event


# --- how work ended --------------------------------------------------------------------------------------------


class WorkEnded(GreenroomError):
    """A piece of work ended without its result."""


@final
class TurnFailed(WorkEnded):
    """The turn raised; the error is the `__cause__`.

    Attributes:
        actor: The id of the actor whose turn it was.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        why: What happened.
        partial: Text that was there before the failure, if any.
    """

    def __init__(self, actor: str, why: str, *, partial: str = "", path: str = "") -> None:
        super().__init__(f"the turn of {path or actor!r} failed: {why}")
        self.actor = actor
        self.path = path
        self.why = why
        self.partial = partial


@final
class TurnKilled(WorkEnded):
    """The turn was aborted, or its actor killed, on somebody's request.

    Attributes:
        actor: The id of the actor whose turn it was.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        who: Who asked for it.
        why: Why, in the words of whoever asked.
        partial: Text that was there before, if any.
    """

    def __init__(self, actor: str, *, who: str, why: str, partial: str = "", path: str = "") -> None:
        super().__init__(f"the turn of {path or actor!r} was ended by {who}: {why}")
        self.actor = actor
        self.path = path
        self.who = who
        self.why = why
        self.partial = partial


@final
class StartFailed(WorkEnded):
    """An actor did not become ready: its start raised, was killed or took too long.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty where only the id is known.
        why: What happened.
    """

    def __init__(self, actor: str, why: str, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} did not start: {why}")
        self.actor = actor
        self.path = path
        self.why = why


@final
class SupervisorFailed(WorkEnded):
    """A supervisor restarted a child as often as it may and gave up; the last errors are the `__cause__`.

    Attributes:
        supervisor: Its path in the tree, or `root`.
        child: Path of the child that ended once too often.
        restarts: How often children were restarted within the window.
    """

    def __init__(self, supervisor: str, child: str, restarts: int) -> None:
        super().__init__(f"supervisor {supervisor!r} gave up on {child!r} after {restarts} restarts")
        self.supervisor = supervisor
        self.child = child
        self.restarts = restarts


@final
class RuntimeFailed(WorkEnded):
    """The root supervisor gave up; what made it give up is the `__cause__`, an exception group where it was several.

    Attributes:
        why: What happened.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
