"""Effective values of a configuration, each with its origin, secrets hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, final

import attrs

from greenroom.core.sources import dotted
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._files import Place
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.config._values import Expanded, Secret

HIDDEN: Final = "***"
DEFAULT: Final = "default"
_PRIVATE: Final = frozenset({"env", "options"})
"""Keys of objects whose values may be secrets, though nobody says so."""


@final
@attrs.frozen
class EffectiveValue:
    """A value, and who said it."""

    path: str
    """Its path."""
    value: Any
    """The value, as JSON; secrets, and values of variables for commands, are `***`."""
    origin: str
    """The name of a file, or `default`."""


def effective_values(reading: ConfigReading) -> tuple[EffectiveValue, ...]:
    """Return the value of every setting, in the order of the sections; none if there is no configuration."""
    if reading.config is None:
        return ()
    return tuple(_walk(reading.config, (), reading.said, is_private=False))


def _walk(value: Any, place: Place, said: Mapping[Place, str], *, is_private: bool) -> Iterator[EffectiveValue]:
    match value:
        case GatewayConfig() | _ if attrs.has(type(value)) and not isinstance(value, Secret):
            for field in attrs.fields(type(value)):
                key = key_of(field.name)
                yield from _walk(
                    getattr(value, field.name), (*place, key), said, is_private=is_private or key in _PRIVATE
                )
        case Mapping() if value:
            for name, each in value.items():
                yield from _walk(each, (*place, name), said, is_private=is_private)
        case tuple() if any(attrs.has(type(each)) for each in value):
            for at, each in enumerate(value):
                yield from _walk(each, (*place, at), said, is_private=is_private)
        case _:
            yield EffectiveValue(dotted(place), HIDDEN if is_private and value else _plain(value), _origin(place, said))


def _plain(value: Any) -> Any:
    match value:
        case Secret():
            return HIDDEN if value.kind == "text" else value.place
        case Expanded():
            return value.written
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case Decimal():
            return str(value)
    return value


def _origin(place: Place, said: Mapping[Place, str]) -> str:
    """Return who said a value: the file of its own path, or of the short form of the object that it is part of."""
    if place in said:
        return said[place]
    above = place[:-1]
    is_short = above in said and not any(known[:-1] == above for known in said)
    return said[above] if is_short and above else DEFAULT
