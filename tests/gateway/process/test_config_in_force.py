"""Reload of a configuration: whole or not at all, by a changed file or on request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._config_in_force import ConfigInForce, ReloadResult, config_digest, texts_of_secrets
from greenroom.testing import virtual_ports

GOOD = "{agents: {defaults: {model: 'opus'}}, gateway: {port: 1}}"
OTHER = "{agents: {defaults: {model: 'haiku'}}, gateway: {port: 2}}"
BAD = "{agents: {defaults: {modell: 'haiku'}}}"


class Place:
    """A configuration file with what is told about it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "gateway.json5"
        self.write(GOOD)
        self.results: list[ReloadResult] = []
        self.changes: list[tuple[Any, Any]] = []
        self.config = ConfigInForce(
            read_config(self.file, {}), ports=virtual_ports(), environ={}, on_result=self.take_result
        )
        self.config.subscribe(self.take_change)

    def write(self, text: str) -> None:
        new = self.file.with_name("new")
        new.write_text(text)
        os.replace(new, self.file)  # noqa: PTH105 - as editors do

    async def take_result(self, result: ReloadResult) -> None:
        self.results.append(result)

    async def take_change(self, former: GatewayConfig, present: GatewayConfig) -> None:
        assert self.config() is present
        self.changes.append((former.gateway.port, present.gateway.port))


@pytest.mark.promise("A22-d")
async def test_broken_file_changes_nothing_and_is_reported_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    place = Place(tmp_path)
    before = place.config()
    place.write(BAD)

    result = await place.config.reload()
    await place.config.reload()

    assert result.is_refused
    assert place.config() is before
    assert place.changes == []
    assert [str(problem) for problem in place.config.problems] == [
        "gateway.json5: agents.defaults.modell: unknown key; did you mean model?"
    ]
    assert place.results == [result]
    assert place.file.read_text() == BAD


@pytest.mark.promise("A22-e")
async def test_changed_file_is_in_force_and_says_what_needs_a_start(tmp_path: Path, autojump_clock: MockClock) -> None:
    """GW-01: a reload exchanges one reading for another; no part is stopped for it."""
    place = Place(tmp_path)
    place.write(OTHER)

    result = await place.config.reload()

    assert (result.is_changed, result.is_refused, result.needs_start) == (True, False, ("gateway.port",))
    assert place.changes == [(1, 2)]
    assert not (await place.config.reload()).is_changed
    assert place.results == [result]


@pytest.mark.promise("A22-d")
async def test_repaired_file_is_reported_although_it_is_as_before(tmp_path: Path, autojump_clock: MockClock) -> None:
    place = Place(tmp_path)
    for text in (BAD, GOOD):
        place.write(text)
        await place.config.reload()

    assert [(each.is_refused, each.is_changed) for each in place.results] == [(True, False), (False, False)]
    assert place.config.problems == ()


@pytest.mark.promise("A22-e")
async def test_watcher_reloads_a_file_that_was_changed(tmp_path: Path, autojump_clock: MockClock) -> None:
    place = Place(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.config.watch)
        await trio.sleep(10)
        assert place.results == []
        place.write(OTHER)
        await trio.sleep(10)
        assert place.changes == [(1, 2)]
        place.file.unlink()
        await trio.sleep(10)
        assert place.config().gateway.port == 2
        assert place.results[-1].is_refused
        place.write(GOOD)
        await trio.sleep(10)
        assert place.config().gateway.port == 1
        nursery.cancel_scope.cancel()


def test_digest_is_of_values_and_of_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "gateway.json5"
    digests, reading = [], read_config(file, {})
    for text in (
        "{gateway: {port: 1}}",
        "{gateway: {port: 0x1}} // the same",
        "{gateway: {port: 2}}",
        "{gateway: {port: 2, auth: {tokens: [{name: 'a', token: 'one-secret-1'}]}}}",
        "{gateway: {port: 2, auth: {tokens: [{name: 'a', token: 'two-secret-2'}]}}}",
    ):
        file.write_text(text)
        reading = read_config(file, {})
        digests.append(config_digest(reading))
    assert reading.config is not None
    assert texts_of_secrets(reading.config) == ("two-secret-2",)
    one, same, two, secret, other = digests
    assert one == same
    assert len({one, two, secret}) == 3
    assert secret == other
