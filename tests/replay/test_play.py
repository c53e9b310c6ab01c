"""The screen of a recorded run on a pseudo-terminal, in virtual time; and what is printed without a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.cli import main
from greenroom.replay import watch_run
from greenroom.replay._play import show_run
from greenroom.replay._played_run import PlayedRun
from greenroom.terminal import Keyboard
from greenroom.terminal.screen import ScreenLook, ScreenSize, open_screen
from tests.replay.recorded import record
from tests.terminal.pseudo_terminal import PseudoTerminal, open_pseudo_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")


def text_of(terminal: PseudoTerminal) -> list[str]:
    return ["".join(cell.data for cell in line).rstrip() for line in terminal.cells()]


async def test_a_run_is_played_by_keys_on_terminals_of_any_size(tmp_path: Path, autojump_clock: MockClock) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    journal, text = record(folder)
    run = PlayedRun(journal, is_followed=False)
    with open_pseudo_terminal() as terminal, open_screen(terminal.theirs, ScreenLook()) as screen:
        terminal.resize(ScreenSize(width=20, height=5))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(show_run, run, screen, Keyboard(terminal.theirs))
            await terminal.settle()
            assert "Too small" in " ".join(text_of(terminal))
            terminal.resize(ScreenSize(width=110, height=30))
            for keys, event in [("\x1b[C", 1), ("g100\r", 100), ("\x1b[D", 99), ("gend\r", len(text.entries))]:
                terminal.type(keys)
                await terminal.settle()
                assert f"event {event}/{len(text.entries)}" in text_of(terminal)[-2]
            terminal.type("gnowhere\r")
            await terminal.settle()
            assert "expected an event" in text_of(terminal)[0]
            terminal.type("gstart\r")
            terminal.type("+++++++ ")
            await terminal.settle()
            assert run.head.count > 0
            shutil.rmtree(folder)
            terminal.type("g50\r")
            await terminal.settle()
            await trio.sleep(2)
            assert "vanished" in text_of(terminal)[0]
            terminal.type("q")
    run.close()


async def test_a_terminal_that_goes_away_ends_the_program(tmp_path: Path, autojump_clock: MockClock) -> None:
    journal, _ = record(tmp_path)
    run = PlayedRun(journal, is_followed=True)
    with open_pseudo_terminal() as terminal, open_screen(terminal.theirs, ScreenLook()) as screen:
        os.close(terminal.end)
        with trio.fail_after(30):
            await show_run(run, screen, Keyboard(terminal.theirs))
    run.close()


def test_without_a_terminal_watch_prints_what_matters_until_the_run_ends(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal, text = record(tmp_path)

    assert watch_run(str(journal), runs=None) == 0

    lines = capfd.readouterr().out.splitlines()
    assert any("crashed" in line for line in lines)
    assert len(lines) < 60
    assert lines[-1] == f"broken off after event {len(text.entries)}"


def test_play_without_a_terminal_and_what_does_not_go_with_it_are_refused_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal, _ = record(tmp_path)
    for more in ([], ["--json"], ["--check"], ["--export", "chrome"]):
        assert main(["replay", str(journal), "--play", *more]) == 2
        assert capfd.readouterr().err.count("\n") == 1
