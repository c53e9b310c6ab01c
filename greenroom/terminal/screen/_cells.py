"""Lines of a screen: text with styles, cut and filled to a width in cells; one character may take two.

Text from elsewhere becomes one line without control characters first, so that none of it moves the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from greenroom.core.texts import printable_text
from greenroom.terminal.screen._screen_look import ScreenLook

ScreenLine: TypeAlias = list[Segment]
PLAIN = Style()


def cut(text: str, width: int, look: ScreenLook) -> str:
    """Return a text as one line of at most `width` cells; a cut one ends with a sign that says so."""
    line = printable_text(" ".join(text.expandtabs(4).splitlines())[: 4 * max(width, 1)])
    if not look.has_unicode:
        line = line.replace("…", "...").encode("ascii", "replace").decode("ascii")
    if cell_len(line) <= width:
        return line
    mark = look.sign("…", ".")
    return set_cell_size(line, width - 1).rstrip() + mark if width > 1 else set_cell_size(line, max(width, 0))


def cell(text: str, width: int, look: ScreenLook, *, style: str = "", to_right: bool = False) -> Segment:
    """Return a text of exactly `width` cells."""
    words = cut(text, width, look)
    fill = " " * (width - cell_len(words))
    return Segment(fill + words if to_right else words + fill, look.style(style))


def filled(line: Iterable[Segment], width: int) -> ScreenLine:
    """Return a line of exactly `width` cells."""
    return list(Segment.adjust_line_length(list(line), width, style=PLAIN))


def padded(lines: Sequence[ScreenLine], width: int, height: int) -> list[ScreenLine]:
    """Return exactly `height` lines of exactly `width` cells."""
    shown = [filled(line, width) for line in lines[:height]]
    return [*shown, *([Segment(" " * width, PLAIN)] for _ in range(height - len(shown)))]


def beside(left: Sequence[ScreenLine], right: Sequence[ScreenLine], look: ScreenLook) -> list[ScreenLine]:
    """Return two blocks of the same height side by side, with a line between them."""
    bar = Segment(look.sign("│", "|"), look.style("gray"))
    return [[*one, bar, *other] for one, other in zip(left, right, strict=True)]


def reversed_line(line: ScreenLine) -> ScreenLine:
    """Return a line as one reversed bar; its first character keeps its color."""
    mark = Style(bold=True, reverse=True)
    return [line[0], *(Segment(text, mark) for text, _, _ in line[1:])]


def bold_line(line: ScreenLine) -> ScreenLine:
    """Return a line in bold letters."""
    mark = Style(bold=True)
    return [Segment(text, (style or PLAIN) + mark) for text, style, _ in line]


def heading(text: str, width: int, look: ScreenLook, *, is_focused: bool, more: str = "") -> ScreenLine:
    """Return the line above a pane: its name, and what else there is to say on the right."""
    name = Segment(f" {cut(text, width - 4, look)} ", look.style("bold reverse" if is_focused else "bold"))
    rest = width - name.cell_length
    words = f" {cut(more, rest - 3, look)} " if more and rest > 6 else ""
    line = look.sign("─", "-") * (rest - cell_len(words))
    return filled([name, Segment(line, look.style("gray")), Segment(words, look.style("gray"))], width)


def encoded(line: ScreenLine, look: ScreenLook) -> str:
    """Return a line as a terminal gets it."""
    return "".join(
        style.render(text, color_system=look.system) if style else text for text, style, _ in Segment.simplify(line)
    )
