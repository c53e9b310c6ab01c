"""Forks, later requests, wakes by notices, messages and resumed sessions read from the prompt cache all that was sent before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.subagents.caching import FORKS, measure


@pytest.mark.slow
async def test_forks_and_later_requests_read_what_was_sent_before(tmp_path: Path) -> None:
    """Behaviours (1), line 8: of ten forks of 200 messages all but the first read at least 99 % of their input."""
    phases = await measure(tmp_path)

    first, *others = [fork for fork in phases.forks if fork.is_first]
    assert len(others) == FORKS - 1
    assert first.share > 0.9, "the parent's own prefix is there before any fork"
    assert min(other.share for other in others) >= 0.99
    assert len(phases.woken) >= 3, "main has heard of its forks"
    for phase in (phases.forks, phases.woken, phases.message, phases.resumed):
        later = [one for one in phase if not one.is_first]
        assert later
        assert min(one.reread for one in later) >= 0.99
    assert {one.agent for one in phases.resumed} == {"main", "0"}, "a fork was resumed from its transcript"
    assert min(one.share for one in (*phases.message, *phases.resumed)) >= 0.99
