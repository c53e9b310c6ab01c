"""Errors by who is responsible, with the facts as attributes.

`UsageError` is the caller's mistake, `PeerError` the outside world's, `InternalError` a bug in greenroom. `WorkEnded`
and its subclasses report how a piece of work ended and carry the errors that ended it.
"""

from __future__ import annotations

from typing import final


class GreenroomError(Exception):
    """Root of all errors raised by greenroom."""


# --- the caller ------------------------------------------------------------------------------------------------


class UsageError(GreenroomError):
    """The call was wrong; the message says what, where, and what to do instead."""


@final
class Closed(UsageError):
    """The object has already been closed."""


@final
class Busy(UsageError):
    """Another task is already waiting."""


@final
class Stopping(UsageError):
    """A child cannot be spawned because its supervisor is stopping.

    Attributes:
        supervisor: Path of the supervisor in the tree, or `root`.
    """

    def __init__(self, supervisor: str) -> None:
        super().__init__(f"cannot spawn: supervisor {supervisor!r} is stopping")
        self.supervisor = supervisor


@final
class NameTaken(UsageError):
    """The name is already registered; it becomes free when its owner has terminated permanently.

    Attributes:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name!r} is already taken")
        self.name = name


@final
class SettingsError(UsageError):
    """A settings file or mapping holds values that cannot be used.

    Attributes:
        source: The file or other origin of the settings.
        problems: All problems, each with its path.
    """

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{source}: " + "; ".join(problems))
        self.source = source
        self.problems = problems


@final
class StashFull(UsageError):
    """The actor already has as many postponed messages as `stash_capacity` allows.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        postponed: Number of messages that were already postponed.
    """

    def __init__(self, actor: str, postponed: int, *, path: str = "") -> None:
        super().__init__(
            f"cannot postpone: actor {path or actor!r} already has {postponed} postponed messages (stash_capacity)"
        )
        self.actor = actor
        self.path = path
        self.postponed = postponed


@final
class AskCycle(UsageError):
    """The ask would deadlock: the target is (transitively) waiting for the caller.

    Attributes:
        path: Paths of the actors in the order in which each waits for the next; the first again at the end.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(f"ask would deadlock: {' -> '.join(path)}; reply first, or use tell()")
        self.path = path


# --- the outside world -----------------------------------------------------------------------------------------


class PeerError(GreenroomError):
    """Something outside this program failed, or ended before it answered."""


class ProviderError(PeerError):
    """A model provider refused, failed or cut the connection.

    Attributes:
        kind: Kind of failure, a word to branch on.
        status: The HTTP status, or None if there was none.
        retry_after_s: Delay that the provider asks for before a retry, in seconds.
        is_retryable: True if the same request may succeed later.
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
    """The journal cannot be written or read.

    Attributes:
        where: The file or folder.
        why: The reason, and what can be done.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


@final
class JournalBusy(JournalError):
    """The journal has too many unwritten events to start new work; retry once they are on disk."""


@final
class ActorEnded(PeerError):
    """The actor that was asked or watched has ended and will not answer.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        state: Its state, such as `completed`; a draining actor is still `running`.
    """

    def __init__(self, actor: str, state: str, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} has ended ({state})")
        self.actor = actor
        self.path = path
        self.state = state


@final
class AskTimedOut(PeerError):
    """The ask was not answered within its timeout.

    Attributes:
        actor: Id of the actor that was asked.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        timeout_s: The timeout, in seconds.
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
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        delivery: The result of the send, such as `full`.
    """

    def __init__(self, actor: str, delivery: str, *, path: str = "") -> None:
        super().__init__(f"the mailbox of actor {path or actor!r} is {delivery}")
        self.actor = actor
        self.path = path
        self.delivery = delivery


# --- us --------------------------------------------------------------------------------------------------------


class InternalError(GreenroomError):
    """An invariant of greenroom is broken; please report it."""


@final
class IllegalTransition(InternalError):
    """An event arrived in a state whose row in the table does not list it.

    Attributes:
        state: The state of the machine.
        event: The event that is not allowed in it.
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
        actor: Id of the actor whose turn it was.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        why: The reason.
        partial: Text produced before the failure, if any.
    """

    def __init__(self, actor: str, why: str, *, partial: str = "", path: str = "") -> None:
        super().__init__(f"the turn of {path or actor!r} failed: {why}")
        self.actor = actor
        self.path = path
        self.why = why
        self.partial = partial


@final
class TurnKilled(WorkEnded):
    """The turn was aborted, or its actor killed, on request.

    Attributes:
        actor: Id of the actor whose turn it was.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        who: The requester.
        why: The reason that the requester gave.
        partial: Text produced before the end, if any.
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
    """An actor did not become ready: its start raised, was killed or timed out.

    Attributes:
        actor: Id of the actor.
        path: Its readable path in the tree, which ends with its name; empty if only the id is known.
        why: The reason.
    """

    def __init__(self, actor: str, why: str, *, path: str = "") -> None:
        super().__init__(f"actor {path or actor!r} did not start: {why}")
        self.actor = actor
        self.path = path
        self.why = why


@final
class SupervisorFailed(WorkEnded):
    """A supervisor used up its restart budget and gave up; the last errors are the `__cause__`.

    Attributes:
        supervisor: Path of the supervisor in the tree, or `root`.
        child: Path of the child whose failure exceeded the budget.
        restarts: Number of restarts within the window.
    """

    def __init__(self, supervisor: str, child: str, restarts: int) -> None:
        super().__init__(f"supervisor {supervisor!r} gave up on {child!r} after {restarts} restarts")
        self.supervisor = supervisor
        self.child = child
        self.restarts = restarts


@final
class RuntimeFailed(WorkEnded):
    """The root supervisor gave up; the `__cause__` is the reason, an exception group if there were several.

    Attributes:
        why: The reason.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
