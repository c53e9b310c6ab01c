"""The programs `greenroom replay --play` and `greenroom watch`: a screen for a run that is not this process's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import trio

from greenroom.core import UsageError, calm_collector
from greenroom.gateway.record import events_of, find_journal
from greenroom.replay._played_run import PlayedRun
from greenroom.terminal import (
    Keyboard,
    Ladder,
    can_draw,
    climbing,
    drop_output,
    flush_output,
    for_reader,
    open_keyboard,
    printable,
)
from greenroom.terminal.screen import (
    PictureSource,
    ScreenControls,
    ScreenLoop,
    ScreenMode,
    SwarmStory,
    TerminalScreen,
    look_of,
    open_screen,
    short_duration,
)
from greenroom.trace import follow, runs_folder

INTERVAL_S: Final = 0.05
"""Seconds between two pictures at least: what another process does is seen within a tenth of a second."""


def play_run(run: str, *, runs: Path | None, at: str = "") -> None:
    """Show a run on the screen, at any of its moments, until somebody leaves.

    Args:
        run: As for `greenroom replay`.
        runs: The folder of the runs; None for the project's.
        at: The moment to begin at, as behind `g`; empty for the beginning.

    Raises:
        UsageError: The run does not exist, there is no terminal, or there is no such moment.
        JournalError: The journal cannot be read.
    """
    journal = find_journal(run, runs_folder(runs))
    with open_keyboard() as keyboard:
        if keyboard is None or not can_draw():
            raise UsageError("--play needs a terminal whose cursor can be moved; without --play a run is printed")
        _show(PlayedRun(journal, is_followed=False), keyboard, at)


def watch_run(run: str, *, runs: Path | None) -> int:
    """Show a run of another process until somebody leaves; without a terminal, print its events until it ends.

    Args:
        run: As for `greenroom replay`.
        runs: The folder of the runs; None for the project's.

    Returns:
        The exit code.

    Raises:
        UsageError: The run does not exist.
        JournalError: The journal cannot be read.
    """
    journal = find_journal(run, runs_folder(runs))
    with open_keyboard() as keyboard:
        if keyboard is not None and can_draw():
            return _show(PlayedRun(journal, is_followed=True), keyboard, "")
    return _print_lines(journal)


def _show(run: PlayedRun, keyboard: Keyboard, at: str) -> int:
    try:
        with calm_collector():  # a full look at a long run takes longer than a picture
            return trio.run(_open, run, keyboard, at)
    finally:
        run.close()


async def _open(run: PlayedRun, keyboard: Keyboard, at: str) -> int:
    if at:
        while run.index.grow():
            await trio.lowlevel.checkpoint()
        wrong = run.head.go_to(at)
        if wrong:
            raise UsageError(f"--at {at}: {wrong}")
    ladder = Ladder(_say_nothing)
    look = look_of(os.environ, encoding=sys.stdout.encoding)
    async with climbing(ladder):
        with ladder.stop_scope, open_screen(keyboard.descriptor, look) as screen:
            await show_run(run, screen, keyboard)
    return ladder.exit_code or 0


async def show_run(run: PlayedRun, screen: TerminalScreen, keyboard: Keyboard) -> None:
    """Show a run until somebody leaves, or the terminal goes away; cancelled, it ends at once."""
    loop = ScreenLoop(
        screen,
        keyboard,
        PictureSource(run.picture, run.version),
        run.act,
        ScreenControls(mode=ScreenMode.PAST),
        interval_s=INTERVAL_S,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.read_on, name="greenroom reading")
        nursery.start_soon(_end_with, loop, nursery, name="greenroom screen")
        await run.wait_quit()
        nursery.cancel_scope.cancel("somebody has left")


async def _end_with(loop: ScreenLoop, nursery: trio.Nursery) -> None:
    await loop.run()
    nursery.cancel_scope.cancel("the terminal has gone")


def _say_nothing(_: str) -> None:
    """A signal ends the screen, which is seen."""


def _print_lines(journal: Path) -> int:
    """Print a line for each event that matters to people, as the screen shows them."""
    story, follower = SwarmStory(), follow(journal, events_of(journal))
    try:
        for entry in follower:
            made = story.notes_made
            story.take(entry.seq, entry.t, entry.event)
            for note in story.notes_since(made):
                print(for_reader(f"{short_duration(note.t_s):>5}  {printable(note.text)}"), flush=True)
        print(for_reader(f"{follower.state.replace('_', ' ')} after event {follower.seq}"))
        flush_output()
    except BrokenPipeError:  # the reader has seen enough
        drop_output()
    finally:
        follower.close()
    return 0
