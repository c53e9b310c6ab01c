"""What all supervisors of one runtime share, the class behind what they are to spawn, and the wait for its start."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, final, get_type_hints

import attrs
import trio

from greenroom.actors import Behavior, Cell, Dispatcher, Surroundings, current_of, text_of
from greenroom.core import Cause, Ports, StartFailed, UsageError


def always_open() -> None:
    """Let everything begin: nothing is kept on disk."""


@final
@attrs.frozen(kw_only=True)
class House:
    """What all supervisors of one runtime share."""

    ports: Ports
    shared: Surroundings
    dispatcher: Dispatcher
    check_open: Callable[[], None] = always_open
    """Raises when nothing new may begin, because it could not be put on record."""


def behavior_class_of(factory: Callable[..., Behavior[Any]]) -> type[Behavior[Any]]:
    """Find the class behind a factory; its attributes say how the actor is run."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    if inspect.iscoroutinefunction(factory):
        raise UsageError(
            f"a factory returns a Behavior at once, and {factory!r} is async; wait in its on_start instead"
        )
    if isinstance(factory, type) and issubclass(factory, Behavior):
        return factory
    try:
        returns = get_type_hints(factory).get("return")
    except (TypeError, NameError):  # not a function, or an annotation that names something local
        returns = None
    if isinstance(returns, type) and issubclass(returns, Behavior):
        return returns
    if not callable(factory):
        raise UsageError(f"a factory is a Behavior class or something that makes one, not {factory!r}")
    raise UsageError(
        f"{factory!r} does not say which Behavior it makes; give the class and its arguments: spawn(MyBehavior, 1, 2)"
    )


async def wait_started(cell: Cell[Any]) -> None:
    """Return when an actor is ready; cancelled, it ends the actor first, so that its name can be taken again at once.

    Raises:
        StartFailed: It ended instead; the error is the `__cause__`.
    """
    try:
        await cell.wait_ready()
    except BaseException:
        current = current_of(cell.shared)
        who = current.id if current is not None else "host"
        cell.forswear()
        cell.request_kill(Cause(who, "whoever spawned it was cancelled before it was ready"))
        with trio.move_on_after(2 * cell.kill_grace_s, shield=True):
            await cell.wait_gone()
        raise
    if not cell.was_ready:
        cause = cell.down.cause if cell.down is not None else None
        why = text_of(cell.failure) if cell.failure else (cause.why if cause else "it ended before it was ready")
        raise StartFailed(cell.id, why, path=cell.path) from cell.failure
