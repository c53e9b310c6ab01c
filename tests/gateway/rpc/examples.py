"""Right parameters for each method, and every way to spoil one field of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from greenroom.gateway.config._keys import key_of
from greenroom.gateway.rpc._connect import ConnectParams
from greenroom.gateway.rpc._methods import METHODS, OWN_METHODS

_VALUES: Final[dict[str, Any]] = {
    "decision": "once",
    "events": ["chat"],
    "job": {"id": "j", "message": "m", "schedule": {"cron": "0 9 * * *"}},
    "minProtocol": 1,
    "maxProtocol": 1,
    "client": {"id": "test", "version": "1"},
    "auth": {"token": "t"},
}
KINDS: Final[dict[str, type[Any]]] = {spec.name: spec.params for spec in (*METHODS, *OWN_METHODS)}
WITH_CONNECT: Final[dict[str, type[Any]]] = KINDS | {"connect": ConnectParams}


def right_params(kind: type[Any]) -> dict[str, Any]:
    """Return parameters with the required fields only."""
    return {name: _VALUES.get(name, "x") for name in _required(kind)}


def _required(kind: type[Any]) -> list[str]:
    return [key_of(field.name) for field in attrs.fields(kind) if field.default is attrs.NOTHING]


def spoilt(kind: type[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield parameters of which one field is wrong, with its path."""
    right = right_params(kind)
    yield "surplus", right | {"surplus": 1}
    for name in _required(kind):
        yield name, {key: value for key, value in right.items() if key != name}
    for field in attrs.fields(kind):
        name = key_of(field.name)
        yield name, right | {name: {"wrong": [1]}}
        if name in _VALUES and isinstance(_VALUES[name], dict):
            yield f"{name}.surplus", right | {name: _VALUES[name] | {"surplus": 1}}
