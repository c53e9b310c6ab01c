"""The secrets of a configuration, and where they stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from greenroom.gateway.config._files import Place
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._values import Secret


def placed_secrets(value: Any, place: Place = ()) -> Iterator[tuple[Place, Secret]]:
    """Yield all secrets of a configuration, each with its path."""
    match value:
        case Secret():
            yield place, value
        case tuple():
            for at, each in enumerate(value):
                yield from placed_secrets(each, (*place, at))
        case Mapping():
            for name, each in value.items():
                yield from placed_secrets(each, (*place, name))
        case _ if attrs.has(type(value)):
            for field in attrs.fields(type(value)):
                yield from placed_secrets(getattr(value, field.name), (*place, key_of(field.name)))
