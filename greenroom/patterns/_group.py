"""A named set of actors: who is in, and word of who comes and goes (OTP's `pg`, Akka's receptionist).

Rule 1: whoever is gone for good is no member; nobody has to leave. Rule 2: every listener hears of every change once, in
the order of the changes, and after the set has changed. Rule 3: what one listener raises keeps nothing from the others.
Must not know: what the actors do.
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
    """A member came or went."""

    group: str
    """The name of the group."""
    ref: Ref[M]
    has_joined: bool
    down: Down | None = None
    """How it ended, if that is why it left."""


Listener: TypeAlias = Callable[[GroupChanged[M]], object]


@final
class Group(Generic[M]):
    """A set of actors that take the same messages.

        reviewers: Group[Review] = Group("reviewers")
        reviewers.join(ref)
        reviewers.listen(ctx.ref.tell, until=ctx.ref)

    Everything happens in the caller's step: nothing waits, and no message is sent.
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
        """How many members there are."""
        return len(self._members)

    def __contains__(self, ref: object) -> bool:
        """Whether an actor is a member."""
        return ref in self._members

    def members(self) -> list[Ref[M]]:
        """Return the members, in the order in which they joined."""
        return list(self._members)

    def join(self, ref: Ref[M]) -> bool:
        """Let an actor be a member until it leaves or is gone for good; False if it was one, or is gone.

        Raises:
            Exception: What a listener raised, once all of them have heard.
        """
        if ref in self._members or ref.is_gone:
            return False
        self._members[ref] = ref.watch(functools.partial(self._gone, ref))
        self._tell(GroupChanged(group=self.name, ref=ref, has_joined=True))
        return True

    def leave(self, ref: Ref[M]) -> bool:
        """Let an actor be no member any more; False if it was none.

        Raises:
            Exception: What a listener raised, once all of them have heard.
        """
        watch = self._members.pop(ref, None)
        if watch is None:
            return False
        watch.cancel()
        self._tell(GroupChanged(group=self.name, ref=ref, has_joined=False))
        return True

    def listen(self, listener: Listener[M], *, until: Ref[Any] | None = None) -> Callable[[], None]:
        """Call `listener` with every change from now on; returns the function that ends that.

        It runs in the step of the change and may only flag, wake and send: `ref.tell` makes each change a message. What
        it raises leaves `join` or `leave`; at the end of a member it is on record as `watch.failed`.

        Args:
            listener: Called with each `GroupChanged`.
            until: An actor with whose end for good the listening ends too.
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
        """Tell everybody; a change that a listener makes waits until all have heard of this one."""
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
                        except Exception as error:  # noqa: BLE001 - raised below, when the others have heard
                            errors.append(error)
        finally:
            self._is_telling = False
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup(f"listeners of the group {self.name!r} failed", errors)
