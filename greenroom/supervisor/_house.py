"""What all supervisors of one runtime share, and the class behind what they are to spawn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final, get_type_hints

import attrs

from greenroom.actors import Behavior, Dispatcher, Surroundings
from greenroom.core import Ports, UsageError


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
