"""A named set of actors with notification of changes (OTP's `pg`, Akka's receptionist).

Terminated actors leave by themselves. Every listener gets every change once, in order, after the set has changed; an
error in one listener does not affect the others.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar, final

import attrs

from greenroom.actors import Down, Ref, Subscription

M = TypeVar("M")


@final
@attrs.frozen(kw_only=True)
class GroupChanged(Generic[M]):
    """A member joined or left."""

    group: str
    """The name of the group."""
    ref: Ref[M]
    has_joined: bool
    down: Down | None = None
    """The end of the actor, if that is why it left."""


Listener: TypeAlias = Callable[[GroupChanged[M]], object]


@final
class Group(Generic[M]):
    """A set of actors that accept the same messages.

        reviewers: Group[Review] = Group("reviewers")
        reviewers.join(ref)
        reviewers.listen(ctx.ref.tell, until=ctx.ref)

    All calls run in the caller's step: none waits, and no message is sent.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._members: dict[Ref[M], Subscription] = {}
        self._listeners: dict[object, Listener[M]] = {}
        self._changes: deque[GroupChanged[M]] = deque()
        self._is_telling = False

    def __repr__(self) -> str:
        return f"<Group {self.name!r}: {len(self._members)} members>"

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    def __contains__(self, ref: object) -> bool:
        """Return True if an actor is a member."""
        return ref in self._members

    def members(self) -> list[Ref[M]]:
        """Return the members, in the order in which they joined."""
        return list(self._members)

    def join(self, ref: Ref[M]) -> bool:
        """Add an actor until it leaves or terminates; return False if it is a member already, or has terminated.

        Raises:
            Exception: The error of a listener, after all of them have been called.
        """
        if ref in self._members or ref.is_gone:
            return False
        self._members[ref] = ref.watch(functools.partial(self._gone, ref))
        self._tell(GroupChanged(group=self.name, ref=ref, has_joined=True))
        return True

    def leave(self, ref: Ref[M]) -> bool:
        """Remove an actor; return False if it was not a member.

        Raises:
            Exception: The error of a listener, after all of them have been called.
        """
        watch = self._members.pop(ref, None)
        if watch is None:
            return False
        watch.cancel()
        self._tell(GroupChanged(group=self.name, ref=ref, has_joined=False))
        return True

    def listen(self, listener: Listener[M], *, until: Ref[Any] | None = None) -> Callable[[], None]:
        """Call `listener` with every change from now on; return a function that unsubscribes it.

        The listener runs in the step of the change and may only flag, wake and send: `ref.tell` makes each change a
        message. Its errors leave `join` or `leave`; at the end of a member they are recorded as `watch.failed`.

        Args:
            listener: Called with each `GroupChanged`.
            until: An actor whose termination also unsubscribes the listener.
        """
        key = object()
        self._listeners[key] = listener
        watch = until.watch(lambda _: self._forget(key)) if until is not None else None

        def stop() -> None:
            self._forget(key)
            if watch is not None:
                watch.cancel()

        return stop

    def _forget(self, key: object) -> None:
        self._listeners.pop(key, None)

    def _gone(self, ref: Ref[M], down: Down) -> None:
        del self._members[ref]
        self._tell(GroupChanged(group=self.name, ref=ref, has_joined=False, down=down))

    def _tell(self, change: GroupChanged[M]) -> None:
        """Notify all listeners; a change made by a listener waits until all have been notified of this one."""
        self._changes.append(change)
        if self._is_telling:
            return
        self._is_telling = True
        errors: list[Exception] = []
        try:
            while self._changes:
                change = self._changes.popleft()
                for key, listener in list(self._listeners.items()):
                    if key in self._listeners:
                        try:
                            listener(change)
                        except Exception as error:  # noqa: BLE001 - raised below, after the others have been called
                            errors.append(error)
        finally:
            self._is_telling = False
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup(f"listeners of the group {self.name!r} failed", errors)
