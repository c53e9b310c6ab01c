"""The screen on a pseudo-terminal, in virtual time: every capture is what the panes give for that size and state."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.terminal import Key, Keyboard
from greenroom.terminal._keys import KeyPress
from greenroom.terminal.screen import (
    PictureSource,
    ScreenAction,
    ScreenControls,
    ScreenLook,
    ScreenLoop,
    ScreenSize,
    SwarmPicture,
    open_screen,
)
from greenroom.terminal.screen._key_table import KEY_TABLE
from greenroom.terminal.screen._layout import draw_screen
from greenroom.terminal.screen._screen_controls import ScreenMode, press
from tests.terminal.pictures import ASKING, PICTURE, RECORDED, TALKING
from tests.terminal.pseudo_terminal import PseudoTerminal, expected_cells, open_pseudo_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")

LOOK = ScreenLook()
MIDDLE = ScreenSize(width=100, height=30)
SENT: dict[KeyPress, str] = {
    Key.UP: "\x1b[A",
    Key.DOWN: "\x1b[B",
    Key.LEFT: "\x1b[D",
    Key.RIGHT: "\x1b[C",
    Key.SHIFT_LEFT: "\x1b[1;2D",
    Key.SHIFT_RIGHT: "\x1b[1;2C",
    Key.PAGE_UP: "\x1b[5~",
    Key.PAGE_DOWN: "\x1b[6~",
    Key.ENTER: "\r",
    Key.TAB: "\t",
    Key.SHIFT_TAB: "\x1b[Z",
    Key.ESCAPE: "\x1b",
    Key.BACKSPACE: "\x7f",
}
PRESSES: list[KeyPress] = [*SENT, *sorted({key for entry in KEY_TABLE for key in entry.keys if isinstance(key, str)})]
STATES: dict[str, tuple[SwarmPicture, ScreenControls]] = {
    "asking": (ASKING, ScreenControls(chosen="a2")),
    "open": (TALKING, ScreenControls(chosen="a1", opened="a1")),
    "recorded": (RECORDED, ScreenControls(mode=ScreenMode.PAST)),
}
FIRST: dict[str, str] = {
    "plain": "",
    "writing": "m",
    "searching": "/",
    "asked": "x",
    "quitting": "q",
    "help": "?",
    "events": "\t\t",
}


@attrs.define
class Shown:
    """A run whose picture a test changes."""

    now: SwarmPicture = PICTURE
    version: int = 0
    acted: list[ScreenAction] = attrs.field(factory=list)

    def picture(self, controls: ScreenControls, size: ScreenSize) -> SwarmPicture:
        return self.now


@asynccontextmanager
async def shown_on(terminal: PseudoTerminal, shown: Shown, controls: ScreenControls) -> AsyncIterator[ScreenLoop]:
    with open_screen(terminal.theirs, LOOK) as screen:
        source = PictureSource(shown.picture, lambda: shown.version)
        loop = ScreenLoop(screen, Keyboard(terminal.theirs), source, shown.acted.append, controls)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(loop.run)
            yield loop
            nursery.cancel_scope.cancel()


@pytest.mark.promise("S-resize")
async def test_after_thirty_resizes_the_terminal_shows_what_the_panes_give(autojump_clock: MockClock) -> None:
    chosen, shown = random.Random(7), Shown()
    with open_pseudo_terminal() as terminal:
        terminal.resize(MIDDLE)
        async with shown_on(terminal, shown, ScreenControls()) as loop:
            for number in range(30):
                size = ScreenSize(width=chosen.randint(20, 200), height=chosen.randint(5, 60))
                shown.now = attrs.evolve(chosen.choice([PICTURE, ASKING, TALKING, RECORDED]), elapsed_s=float(number))
                shown.version = number
                terminal.resize(size)
                terminal.type(chosen.choice(["\x1b[B", "\r", "\t", "\x1b", "", *"m/x?qX"]))
                await terminal.settle()

                lines = draw_screen(shown.now, loop.controls, size, LOOK)
                assert terminal.cells() == expected_cells(lines, size, LOOK), size


@pytest.mark.promise("S-keys")
@pytest.mark.parametrize("state", STATES)
async def test_every_key_in_every_state_does_on_a_terminal_what_its_table_says(
    state: str, autojump_clock: MockClock
) -> None:
    picture, start = STATES[state]
    shown = Shown(picture)
    with open_pseudo_terminal() as terminal:
        terminal.resize(MIDDLE)
        async with shown_on(terminal, shown, start) as loop:
            for first in FIRST.values():
                before = start
                for letter in first:
                    before, _ = press(before, Key.TAB if letter == "\t" else letter, picture)
                for key in PRESSES:
                    loop.controls = before
                    shown.acted.clear()
                    terminal.type(SENT.get(key, str(key)))
                    await trio.sleep(0.3)
                    terminal.feed()

                    after, action = press(before, key, picture)
                    assert (loop.controls, shown.acted) == (after, [] if action is None else [action]), (first, key)
            await terminal.settle()
            lines = draw_screen(picture, loop.controls, MIDDLE, LOOK)
            assert terminal.cells() == expected_cells(lines, MIDDLE, LOOK)


async def test_a_mouse_and_input_that_is_no_key_and_a_redraw(autojump_clock: MockClock) -> None:
    shown = Shown()
    with open_pseudo_terminal() as terminal:
        terminal.resize(MIDDLE)
        async with shown_on(terminal, shown, ScreenControls()) as loop:
            await terminal.settle()
            terminal.type("\x1b[<0;3;5M")
            await terminal.settle()
            assert loop.controls.chosen == "a1"
            terminal.type("\x1b[200~\x00\x1b[99;9X")
            await terminal.settle()
            assert loop.controls == ScreenControls(chosen="a1")
            terminal.overwrite("\x1b[5;1Hsomething else wrote this")
            terminal.type("\x0c")
            await terminal.settle()
            assert terminal.cells() == expected_cells(draw_screen(PICTURE, loop.controls, MIDDLE, LOOK), MIDDLE, LOOK)


async def test_a_sequence_that_comes_in_two_pieces_is_one_key(autojump_clock: MockClock) -> None:
    with open_pseudo_terminal() as terminal:
        async with shown_on(terminal, Shown(), ScreenControls()) as loop:
            terminal.type("\x1b[")
            await terminal.settle()
            terminal.type("B")
            await terminal.settle()

            assert loop.controls.chosen == "a1"


@pytest.mark.promise("S-screen")
async def test_a_terminal_that_takes_nothing_holds_up_nothing(autojump_clock: MockClock) -> None:
    """A person has stopped it with Ctrl+S; later it shows the latest picture, and not all that were missed."""
    shown = Shown()
    with open_pseudo_terminal() as terminal:
        terminal.resize(MIDDLE)
        async with shown_on(terminal, shown, ScreenControls()) as loop:
            for number in range(100):
                now = (ASKING, PICTURE)[number % 2]
                shown.version, shown.now = number, attrs.evolve(now, title=f"number {number}", elapsed_s=number)
                await trio.sleep(0.5)
            assert 0 < len(loop._screen._pending) < 20_000, "a picture, not a hundred"
            await terminal.settle()

            assert terminal.cells() == expected_cells(draw_screen(shown.now, loop.controls, MIDDLE, LOOK), MIDDLE, LOOK)


@pytest.mark.promise("S-screen")
async def test_a_terminal_that_goes_away_ends_the_loop_and_nothing_else(autojump_clock: MockClock) -> None:
    with open_pseudo_terminal() as terminal, open_screen(terminal.theirs, LOOK) as screen:
        source = PictureSource(Shown().picture, lambda: 0)
        loop = ScreenLoop(screen, Keyboard(terminal.theirs), source, lambda _: None, ScreenControls())
        os.close(terminal.end)
        with trio.fail_after(30):
            await loop.run()

        assert screen.is_gone
