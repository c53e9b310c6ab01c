"""Ctrl+C once, twice, three times, and a kill that nobody can handle: the run folder replays after each."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
import trio

from greenroom.terminal._signal_ladder import Ladder, climbing
from tests.terminal.swarms import read_until, replay, rest_of, swarm

THINKING = '"ev":"model.begin"'
WORKING = '"ev":"mate.woke"'


def lead_of(lines: list[str]) -> str:
    """Return the actor of the lead, which the first event about an agent names."""
    return str(next(event["actor"] for event in map(json.loads, lines) if event["ev"] == "agent.defined"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_stops_and_what_runs_may_end(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=0.5) as process:
        lead = lead_of(read_until(process.stdout, WORKING))
        process.send_signal(number)
        out, returned = rest_of(process)

    assert returned == code
    assert f"{number.name}: stopping; repeat to kill what runs" in out
    assert re.search(rf'"actor":"{lead}".*"ev":"actor\.end".*"state":"completed"', out)
    assert '"ev":"session.end","state":"killed"' in out
    assert '"ev":"swarm.end","state":"stopped"' in out
    checked = replay(tmp_path, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_second_signal_kills_turns_that_take_long(tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=600) as process:
        lead = lead_of(read_until(process.stdout, THINKING))
        process.send_signal(signal.SIGINT)
        read_until(process.stdout, "SIGINT: stopping")
        process.send_signal(signal.SIGINT)
        out, returned = rest_of(process)

    assert returned == 130
    assert "SIGINT: killing what runs; repeat to exit immediately" in out
    assert re.search(rf'"actor":"{lead}".*"ev":"turn\.end".*"state":"killed"', out)
    assert replay(tmp_path, "--check").returncode == 0


def test_three_signals_leave_a_run_that_replays(tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=600) as process:
        read_until(process.stdout, THINKING)
        for pattern in ("SIGINT: stopping", "SIGINT: killing"):
            process.send_signal(signal.SIGINT)
            read_until(process.stdout, pattern)
        process.send_signal(signal.SIGINT)
        _, returned = rest_of(process)

    assert returned == 130
    assert replay(tmp_path, "--check").returncode == 0


def test_a_kill_in_the_middle_leaves_a_run_that_replays_and_says_what_was_open(tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=0.5) as process:
        read_until(process.stdout, WORKING)
        process.kill()
        process.wait(timeout=30)

    checked = replay(tmp_path, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "open" in checked.stdout
    assert replay(tmp_path).returncode == 0


# --- the ladder -------------------------------------------------------------------------------------------------------


async def test_the_ladder_stops_then_kills_then_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """RC-18."""
    said: list[str] = []
    done: list[str] = []
    ladder = Ladder(said.append)
    ladder.kill = lambda _: done.append("killed")
    ladder.leave = lambda: done.append("left")
    monkeypatch.setattr(os, "_exit", lambda code: done.append(f"exit {code}"))

    with trio.fail_after(30):
        async with climbing(ladder):
            with ladder.stop_scope:
                os.kill(os.getpid(), signal.SIGINT)
                await trio.sleep_forever()
            assert (ladder.exit_code, done) == (130, [])
            ladder.climb(signal.SIGTERM)
            assert done == ["killed"]
            ladder.climb(signal.SIGTERM)

    assert done == ["killed", "left", "exit 143"]
    assert ladder.exit_code == 130
    assert [text.partition(":")[0] for text in said] == ["SIGINT", "SIGTERM"]
