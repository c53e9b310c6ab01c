"""Runs over fake keepers: from the spawn to the text in the chat."""

from __future__ import annotations

from trio.testing import MockClock

from tests.gateway.runs.fakes import MAIN, open_fake_gateway, settle


async def test_a_spawned_run_is_announced_once(autojump_clock: MockClock) -> None:
    async def summary(session: str, text: str) -> str:
        return "42 files"

    async with open_fake_gateway(aside=summary) as gateway:
        run = await gateway.spawn(label="files")
        await settle(gateway, run)

        assert gateway.shown() == [("files", "Status: success")]
        assert "Result: 42 files" in gateway.channel.texts[0]
        assert gateway.registry.completions[run].delivery.state == "delivered"
        assert "42 files" in gateway.keepers.store.texts[str(MAIN)][0]
