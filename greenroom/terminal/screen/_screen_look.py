"""The look of a screen: colors, signs and motion, as the terminal and the person have them.

Rule 1: color only repeats what a word or a sign says. Rule 2: where the terminal has 256 colors, each color is readable on
white and on black, so nobody has to be asked which of them it is; where it has 16, they are those of its own theme. There
are no backgrounds but the reversed line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import attrs
from rich.color import ColorSystem
from rich.style import Style

from greenroom.terminal.screen._picture import LaneUse, NoteKind

PALETTE: Final[Mapping[str, tuple[int, str]]] = {
    "blue": (32, "blue"),
    "green": (28, "green"),
    "yellow": (136, "yellow"),
    "purple": (134, "magenta"),
    "orange": (166, "bright_red"),
    "pink": (169, "bright_magenta"),
    "cyan": (30, "cyan"),
    "red": (160, "red"),
    "gray": (243, "bright_black"),
}
"""For the names that teams assign: the number among 256 colors, and the name among 16."""

STATES: Final[Mapping[str, str]] = {
    "starting": "yellow",
    "working": "green",
    "idle": "gray",
    "ended": "gray",
    "failed": "bold red",
    "killed": "bold purple",
    "running": "green",
    "stopping": "yellow",
    "done": "green",
    "incomplete": "bold yellow",
    "stopped": "bold yellow",
}
"""Styles of states of agents and of the whole."""

NOTES: Final[Mapping[NoteKind, tuple[str, str, str]]] = {
    NoteKind.FINDING: ("★", "*", ""),
    NoteKind.DONE: ("✓", "+", ""),
    NoteKind.BACK: ("↩", "<", "bold orange"),
    NoteKind.TAKEN: ("↪", ">", "bold green"),
    NoteKind.MAIL: ("→", "-", ""),
    NoteKind.SPOKE: ("»", '"', "bold"),
    NoteKind.RETRY: ("↻", "~", "yellow"),
    NoteKind.HANG: ("✗", "x", "bold orange"),
    NoteKind.CRASH: ("✗", "x", "bold red"),
    NoteKind.KILL: ("✗", "x", "bold purple"),
    NoteKind.RESTART: ("↻", "~", "bold green"),
    NoteKind.QUESTION: ("?", "?", "bold yellow"),
    NoteKind.NOTICE: ("·", ".", "bold"),
}
"""Sign, sign in plain letters, and style of each kind of note; without a style it has the color of its agent."""

BARS: Final[Mapping[LaneUse, tuple[str, str]]] = {
    LaneUse.TOOL: ("█", "#"),
    LaneUse.MODEL: ("▅", "="),
    LaneUse.WAITING: ("▂", "-"),
    LaneUse.IDLE: ("·", "."),
    LaneUse.DOWN: (" ", " "),
}
"""Sign of each activity, and the same in plain letters."""


@final
@attrs.frozen(kw_only=True)
class ScreenLook:
    """Colors, signs and motion."""

    colors: int = 256
    """256, 16, or 0 for none."""
    has_unicode: bool = True
    has_motion: bool = True
    """False: nothing flashes, and the screen is drawn once a second."""

    @property
    def system(self) -> ColorSystem:
        """The colors as rich names them; without colors, lines are still bold or reversed."""
        return ColorSystem.EIGHT_BIT if self.colors > 16 else ColorSystem.STANDARD

    def style(self, words: str) -> Style:
        """Return the style for words such as `bold red`; names of colors are those of the palette."""
        kinds = {word: True for word in words.split() if word not in PALETTE}
        name = next((word for word in words.split() if word in PALETTE), "")
        number, plain = PALETTE.get(name, (0, ""))
        color = plain if self.colors == 16 else f"color({number})"
        return Style.parse(" ".join([*kinds, color] if name and self.colors else [*kinds]) or "none")

    def styled(self, text: str, words: str) -> str:
        """Return a text as a terminal gets it, in the style for words such as `bold red`."""
        return self.style(words).render(text, color_system=self.system) if words else text

    def sign(self, unicode: str, plain: str) -> str:
        """Return a sign as the terminal can show it."""
        return unicode if self.has_unicode else plain


def look_of(environ: Mapping[str, str], *, encoding: str = "utf-8", is_terminal: bool = True) -> ScreenLook:
    """Return the look that the environment asks for.

    Args:
        environ: `NO_COLOR`, `TERM`, `COLORTERM` and `GREENROOM_REDUCED_MOTION` are read.
        encoding: That of the output.
        is_terminal: False: no colors.
    """
    term = environ.get("TERM", "")
    is_rich = "256" in term or "COLORTERM" in environ or term in {"xterm-kitty", "alacritty", "foot"}
    has_color = is_terminal and not environ.get("NO_COLOR") and term not in {"dumb", "vt100", "vt102", "vt220"}
    return ScreenLook(
        colors=(256 if is_rich else 16) if has_color else 0,
        has_unicode=encoding.lower().replace("-", "").startswith("utf"),
        has_motion=not environ.get("GREENROOM_REDUCED_MOTION"),
    )
