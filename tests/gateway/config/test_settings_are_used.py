"""Each setting is used by something, or whoever writes it is told that it has no effect."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import attrs
import pytest

import greenroom.gateway
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._foreign_keys import IDLE_KEYS
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._problems import Severity
from greenroom.gateway.config._reader import read_config

BY_NAME: Final[dict[tuple[str, ...], str]] = {
    **{("channels", name): "ChannelsConfig.accounts" for name in ("irc", "matrix", "plugins", "telegram")},
    **{("tools", "byOrigin", name): "the tool policy computes the name" for name in ("group", "people")},
}
"""Settings that are read in another way than as an attribute, and how."""


def config_classes(kind: Any) -> Iterator[type[Any]]:
    """Yield the classes of a configuration's objects in an annotation."""
    if isinstance(kind, type) and attrs.has(kind):
        yield kind
    for each in get_args(kind):
        yield from config_classes(each)


def settings_below(kind: type[Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of each setting, with the name of its field."""
    hints = typing.get_type_hints(kind)
    for field in attrs.fields(kind):
        path = (*place, key_of(field.name))
        yield path, field.name
        for each in config_classes(hints[field.name]):
            if get_origin(hints[field.name]) is not Mapping and each is not kind:
                yield from settings_below(each, path)


def idle(path: tuple[str, ...]) -> bool:
    return any(path[:end] in IDLE_KEYS for end in range(1, len(path) + 1))


def test_each_setting_is_read_or_said_to_have_no_effect() -> None:
    root = Path(greenroom.gateway.__file__).parent
    sources = {path: path.read_text() for path in root.rglob("*.py") if path.parent.name != "config"}
    read = {name for text in sources.values() for name in re.findall(r"\.(\w+)\b", text)}
    settings = [each for each in settings_below(GatewayConfig) if each[0] not in BY_NAME and not idle(each[0])]

    assert len(settings) > 150
    assert [path for path, name in settings if name not in read] == []


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ('{agents: {defaults: {heartbeat: {every: "30m"}}}}', "agents.defaults.heartbeat"),
        ('{agents: {list: [{id: "a", heartbeat: {every: "1h", target: "none"}}]}}', "agents.list[0].heartbeat"),
        ('{channels: {telegram: {botToken: "t", accounts: {b: {botToken: "t"}}}}}', "channels.telegram"),
        ("{limits: {keptEvents: 10, connections: 3}}", "limits.keptEvents"),
        ("{limits: {idempotencyKeys: 10}}", "limits.idempotencyKeys"),
        ("{session: {agentToAgent: {maxPingPongTurns: 2}}}", "session.agentToAgent"),
    ],
)
def test_a_setting_without_effect_is_named(written: str, path: str, tmp_path: Path) -> None:
    place = tmp_path / "gateway.json5"
    place.write_text(written)
    reading = read_config(place, {})

    assert reading.config is not None
    told = [problem for problem in reading.problems if "has no effect here" in problem.text]
    assert [(problem.path, problem.severity) for problem in told] == [(path, Severity.WARNING)]


def test_settings_that_nobody_writes_are_not_named(tmp_path: Path) -> None:
    place = tmp_path / "gateway.json5"
    place.write_text("{limits: {waitingInputs: 5, dueDeliveries: 7}, session: {maintenance: {pruneAfter: '1d'}}}")

    assert read_config(place, {}).problems == ()
