"""The loop of a screen: draws pictures as they change, and passes on what keys ask for.

It draws at most 8 times a second by default, once a second where there is to be no motion, and at once after a key or a change of
size. Nothing here knows what a picture is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs
import trio

from greenroom.terminal._keys import Key, Keyboard, MousePress
from greenroom.terminal.screen._layout import ScreenSize, draw_screen, point_at
from greenroom.terminal.screen._picture import SwarmPicture
from greenroom.terminal.screen._screen_controls import ScreenAction, ScreenControls, press
from greenroom.terminal.screen._terminal_screen import TerminalScreen

INTERVAL_S: Final = 0.125
CALM_S: Final = 1.0
"""Seconds between two pictures where there is to be no motion."""


@final
@attrs.frozen
class PictureSource:
    """The run that a screen shows, live or recorded."""

    picture: Callable[[ScreenControls, ScreenSize], SwarmPicture]
    """Returns the picture now, with the conversation that the controls have open."""
    version: Callable[[], object]
    """Returns a value that is another one after every change of the picture; the time alone may change without it."""


@final
class ScreenLoop:
    """The screen of one run.

    Args:
        screen: Where it is drawn.
        keyboard: The keys of the same terminal.
        source: What is drawn.
        act: Does what a key asks for.
        controls: Those at the beginning.
        interval_s: Seconds between two pictures at least.
    """

    def __init__(
        self,
        screen: TerminalScreen,
        keyboard: Keyboard,
        source: PictureSource,
        act: Callable[[ScreenAction], None],
        controls: ScreenControls,
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self.controls = controls
        self._screen = screen
        self._keyboard = keyboard
        self._source = source
        self._act = act
        self._interval_s = interval_s
        self._is_due = True
        self._wake = trio.Event()

    async def run(self) -> None:
        """Draw and obey until the terminal goes away; cancelled, it ends at once."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._obey, name="greenroom keys")
            await self._redraw()
            nursery.cancel_scope.cancel("the terminal has gone")

    async def _redraw(self) -> None:
        interval_s = self._interval_s if self._screen.look.has_motion else CALM_S
        version: object = None
        second, drawn_s = -1, -CALM_S
        while not self._screen.is_gone:
            now_s = trio.current_time()
            is_news = self._source.version() != version and now_s - drawn_s >= interval_s
            if self._is_due or is_news or int(now_s) != second or self._screen.was_resized:
                shown = self._source.version()
                if self.draw():
                    self._is_due, version, second, drawn_s = False, shown, int(now_s), now_s
            with trio.move_on_after(self._interval_s):
                await self._wake.wait()
            self._wake = trio.Event()

    def draw(self) -> bool:
        """Draw the picture now; return False if the terminal is busy with the one before."""
        size = self._screen.size
        picture = self._source.picture(self.controls, size)
        return self._screen.show(draw_screen(picture, self.controls, size, self._screen.look), size)

    async def _obey(self) -> None:
        while pressed := await self._keyboard.read():
            for key in pressed:
                size = self._screen.size
                picture = self._source.picture(self.controls, size)
                if key is Key.REDRAW:
                    self._screen.redraw()
                    continue
                if isinstance(key, MousePress):
                    point = point_at(key, picture, self.controls, size)
                    if point is not None:
                        self.controls, _ = press(self.controls, point, picture)
                    continue
                self.controls, action = press(self.controls, key, picture)
                if action is not None:
                    self._act(action)
            self._is_due = True
            self._wake.set()
