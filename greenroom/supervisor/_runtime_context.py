"""Resources shared by the supervisors of a runtime; helpers for spawning."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, final, get_type_hints

import attrs
import trio

from greenroom.actors import ActorContext, Behavior, Cell, Directory, Dispatcher, text_of
from greenroom.core import NameTaken, PeerError, StartFailed, UsageError
from greenroom.core.ports import Ports

_log: Final = logging.getLogger("greenroom")


def always_open() -> None:
    """Do nothing: the default check, for runtimes without a journal."""


@final
@attrs.frozen(kw_only=True)
class RuntimeContext(ActorContext):
    """Resources shared by the supervisors and actors of a runtime."""

    ports: Ports
    dispatcher: Dispatcher
    check_open: Callable[[], None] = always_open
    """Raises if nothing new may start, because it could not be recorded."""


def behavior_class_of(factory: Callable[..., Behavior[Any]]) -> type[Behavior[Any]]:
    """Return the behavior class that a factory creates; its attributes decide how the actor is run."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    if isinstance(factory, type) and issubclass(factory, Behavior):
        return factory
    if inspect.iscoroutinefunction(factory):
        raise UsageError(
            f"factory must be a plain function, got the async function {factory!r}; wait in on_start instead"
        )
    try:
        returns = get_type_hints(factory).get("return")
    except (TypeError, NameError):  # not a function, or an annotation that names something local
        returns = None
    if isinstance(returns, type) and issubclass(returns, Behavior):
        return returns
    if not callable(factory):
        raise UsageError(f"factory must be a Behavior class or a callable that returns a Behavior, got {factory!r}")
    raise UsageError(
        f"cannot determine the Behavior class that {factory!r} returns; pass the class and its arguments: "
        "spawn(MyBehavior, 1, 2)"
    )


def check_free(directory: Directory[Cell[Any]], path: str, as_id: str | None) -> None:
    """Raise an error if a living actor has this path, or this id."""
    if directory.find(path) is not None:
        raise NameTaken(path)
    living = next((cell for cell in directory.living() if cell.id == as_id), None) if as_id is not None else None
    if living is not None:
        raise UsageError(
            f"as_id must not be the id of a living actor, got {as_id!r} of {living.path}; wait for its end first"
        )


def log_failure(cell: Cell[Any], error: BaseException) -> None:
    """Log the error that ended an actor; without our traceback if an external service is at fault."""
    text, stack = (f": {text_of(error)}", None) if isinstance(error, PeerError) else ("", error)
    _log.error("actor %s failed%s", cell.path or cell.id, text, exc_info=stack)


async def wait_started(cell: Cell[Any]) -> None:
    """Wait until an actor is ready. If cancelled, kill the actor first, so that its name is free again.

    Raises:
        StartFailed: It ended before it was ready; the error is the `__cause__`.
    """
    try:
        await cell.wait_ready()
    except BaseException:
        cell.cancel_restart()
        cell.request_kill(cell.cause("the spawner was cancelled before the actor was ready"))
        with trio.move_on_after(2 * cell.spec.kill_grace_s, shield=True):
            await cell.wait_gone()
        raise
    if not cell.was_ready:
        cause = cell.down.cause if cell.down is not None else None
        why = text_of(cell.failure) if cell.failure else (cause.why if cause else "it ended before it was ready")
        raise StartFailed(cell.id, why, path=cell.path) from cell.failure
