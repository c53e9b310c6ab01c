"""`greenroom replay` on the journals of gateways: the moment, the first difference, and from a run to its session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.cli import main
from greenroom.models import ModelRequest
from greenroom.testing import run_virtual
from tests.gateway.process.day import last_text, open_day, play
from tests.gateway.process.town import Line, Town, living, wait_quiet

SCRIPT = [Line(10, "plain", "ann", "please count two things")]


def other_play(request: ModelRequest) -> Any:
    """Answer as on any day, but for the summary of one sub-agent."""
    is_summary = "Your run has ended" in last_text(request)
    is_lines = "count the lines" in str(request.messages[0])
    return "the summary: none" if is_summary and is_lines else play(request)


async def live(town: Town, seed: int) -> None:
    async with living(town, seed=seed) as gateway:
        await wait_quiet(gateway, town, until_s=20)


def run_town(folder: Path, seed: int, **changes: Any) -> Town:
    town = attrs.evolve(open_day(folder), script=SCRIPT, **changes)
    run_virtual(live, town, seed)
    return town


@pytest.mark.promise("A28-f")
def test_gateways_are_compared_and_a_run_leads_to_its_session(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second, third = (
        run_town(tmp_path / "first", 1),
        run_town(tmp_path / "second", 2),
        run_town(tmp_path / "third", 3, play=other_play),
    )
    state, run = str(first.state), next(event["run"] for event in first.events() if event.get("ev") == "run.registered")

    assert main(["replay", state, "--diff", str(second.state)]) == 0
    assert "the same" in capfd.readouterr().out
    assert main(["replay", state, "--diff", str(third.state)]) == 1
    assert "of agent:main:subagent:#2 of agent:main:main" in capfd.readouterr().out
    assert main(["replay", state, "--at", "60"]) == 0
    assert f"  {run}: " in capfd.readouterr().out
    assert main(["replay", f"{state}/{run}", "--check"]) == 0
    assert main(["replay", f"{state}/{run}", "--diff", f"{second.state}/agent:main:main"]) == 1
