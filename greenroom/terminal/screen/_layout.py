"""The whole screen: a function from a picture, controls, a size and a look to the lines of a terminal.

Rule 1: there are exactly as many lines as the terminal has, each exactly as wide. Rule 2: what waits for a person is on
top at any size; the line about keys is at the bottom. This module must not depend on the clock, the disk, Trio or the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, final

import attrs
from rich.segment import Segment

from greenroom.core.texts import printable_text
from greenroom.terminal._keys import MousePress
from greenroom.terminal.screen._cells import PLAIN, ScreenLine, beside, cell, cut, filled, heading, padded
from greenroom.terminal.screen._figures import cost_words, short_duration, survived_words
from greenroom.terminal.screen._key_table import keys_of
from greenroom.terminal.screen._panes import PaneArea, agents_pane, agents_shown, board_pane, events_pane, talk_pane
from greenroom.terminal.screen._picture import BoardColumn, SwarmPicture, TimePosition
from greenroom.terminal.screen._screen_controls import (
    Kill,
    KillAll,
    Pane,
    PanePoint,
    ScreenControls,
    ScreenMode,
    TextEntry,
)
from greenroom.terminal.screen._screen_look import STATES, ScreenLook

MIN_WIDTH: Final = 60
MIN_HEIGHT: Final = 12
"""Size below which one line says that there is too little room."""
WIDE: Final = 120
"""Columns from which on there are panes side by side."""
TALL: Final = 30
"""Lines from which on a wide screen has both the board and a conversation."""
MAX_QUESTION_LINES: Final = 3
"""Lines that the first question takes at most."""
_ANSWER_KEYS: Final = "  y allows, n refuses "
_PANES: Final = {Pane.AGENTS: agents_pane, Pane.BOARD: board_pane, Pane.EVENTS: events_pane, Pane.TALK: talk_pane}


@final
@attrs.frozen
class PlacedPane:
    """A pane and its place on the screen, in cells from the upper left corner."""

    pane: Pane
    x: int
    y: int
    width: int
    height: int


@final
@attrs.frozen(kw_only=True)
class ScreenSize:
    """The size of a terminal."""

    width: int
    height: int


def draw_screen(
    picture: SwarmPicture, controls: ScreenControls, size: ScreenSize, look: ScreenLook
) -> list[ScreenLine]:
    """Return the lines of a terminal of this size."""
    width, height = size.width, size.height
    top = _head(picture, width, look) if _has_room(size) else _too_small(size, look)
    questions, foot = _questions(picture, controls, width, look), _foot(controls, width, look)
    if not _has_room(size):
        # The person's lines come first: what is asked and what is written.
        is_busy = controls.entry is not None or controls.doubtful is not None
        lines = [*questions, *([foot] if is_busy else []), *top]
        return padded(lines, width, height)
    if controls.is_help:
        body = _help(controls.mode, width, height - len(top) - len(questions) - 1, look)
        return [*top, *questions, *body, foot]
    line: list[ScreenLine] = [_time_line(picture.time, width, look)] if picture.time is not None else []
    body = _body(picture, controls, size, look)
    return [*top, *questions, *body, *line, foot]


def point_at(mouse: MousePress, picture: SwarmPicture, controls: ScreenControls, size: ScreenSize) -> PanePoint | None:
    """Return the pane and the agent at a place of the screen; None for a place outside of the panes."""
    if not _has_room(size) or controls.is_help:
        return None
    for each in _places(picture, controls, size):
        if each.x <= mouse.x < each.x + each.width and each.y <= mouse.y < each.y + each.height:
            row = mouse.y - each.y - 1
            agents = agents_shown(picture, controls, each.height - 1) if each.pane is Pane.AGENTS else []
            return PanePoint(each.pane, agents[row].id if 0 <= row < len(agents) else "", mouse.wheel)
    return None


def _has_room(size: ScreenSize) -> bool:
    return size.width >= MIN_WIDTH and size.height >= MIN_HEIGHT


# --- where the panes are --------------------------------------------------------------------------------------------------


def _places(picture: SwarmPicture, controls: ScreenControls, size: ScreenSize) -> list[PlacedPane]:
    """Return the panes that there is room for, from top to bottom and from left to right."""
    top = 2 + bool(picture.page) + len(_question_rows(picture, size.width))
    height = size.height - top - 1 - (picture.time is not None)
    agents = len(controls.targets(picture)) + 1
    if size.width < WIDE:
        return _below_each_other(picture, controls, top, size.width, height, agents)
    left = size.width * 11 // 20
    upper = min(agents, max(4, height * 3 // 5))
    places = [
        PlacedPane(Pane.AGENTS, 0, top, left, upper),
        PlacedPane(Pane.EVENTS, 0, top + upper, left, height - upper),
    ]
    x, right = left + 1, size.width - left - 1
    if not talk_shown(picture, controls, size):
        return [*places, PlacedPane(Pane.BOARD, x, top, right, height)]
    board = height * 2 // 5 if size.height >= TALL else 0
    if board:
        places.append(PlacedPane(Pane.BOARD, x, top, right, board))
    return [*places, PlacedPane(Pane.TALK, x, top + board, right, height - board)]


def talk_shown(picture: SwarmPicture, controls: ScreenControls, size: ScreenSize) -> str:
    """Return the id of the agent whose conversation is shown: the open one, or the chosen one where there is much room."""
    if controls.opened or size.width < WIDE or size.height < TALL:
        return controls.opened
    target = controls.target(picture)
    return target.id if target is not None else ""


def _below_each_other(
    picture: SwarmPicture, controls: ScreenControls, top: int, width: int, height: int, agents: int
) -> list[PlacedPane]:
    upper = min(agents, max(4, height * 2 // 5))
    rest = height - upper
    if controls.opened:
        names = [(Pane.TALK, rest)]
    else:
        columns = [sum(card.column is column for card in picture.cards) for column in BoardColumn]
        board = min(max(columns) + 2, max(4, rest // 2))
        if rest >= 8:
            names = [(Pane.BOARD, board), (Pane.EVENTS, rest - board)]
        else:
            names = [(Pane.BOARD if controls.pane is Pane.BOARD else Pane.EVENTS, rest)]
    places, y = [PlacedPane(Pane.AGENTS, 0, top, width, upper)], top + upper
    for pane, lines in names:
        places.append(PlacedPane(pane, 0, y, width, lines))
        y += lines
    return places


def _body(picture: SwarmPicture, controls: ScreenControls, size: ScreenSize, look: ScreenLook) -> list[ScreenLine]:
    columns: dict[int, list[ScreenLine]] = {}
    talk = talk_shown(picture, controls, size)
    for each in _places(picture, controls, size):
        area = PaneArea(width=each.width, height=each.height, look=look, controls=controls, talk_of=talk)
        columns.setdefault(each.x, []).extend(_PANES[each.pane](picture, area))
    left, *right = columns.values()
    return beside(left, right[0], look) if right else left


# --- above and below them -------------------------------------------------------------------------------------------------


def _head(picture: SwarmPicture, width: int, look: ScreenLook) -> list[ScreenLine]:
    clock = f" {short_duration(picture.elapsed_s)} "
    cost = cost_words(picture.totals)
    state = f" {picture.state} "
    right = [
        Segment(f" {cost} " if cost else "", look.style("")),
        Segment(state, look.style(f"bold {STATES.get(picture.state, 'red')}")),
        Segment(clock, look.style("bold")),
    ]
    room = width - sum(segment.cell_length for segment in right)
    page = [[cell(f" page: {picture.page}", width, look)]] if picture.page else []
    return [[cell(f" {picture.title}", room, look, style="bold"), *right], *page, _progress(picture, width, look)]


def _progress(picture: SwarmPicture, width: int, look: ScreenLook) -> ScreenLine:
    counts = {column: sum(card.column is column for card in picture.cards) for column in BoardColumn}
    done, doing, items = counts[BoardColumn.DONE], counts[BoardColumn.IN_PROGRESS], len(picture.cards)
    words = f" {done} of {items} items" if items else " no items on the board yet"
    survived = survived_words(picture.totals.survived)
    most = width - len(words) - 9
    fate = f"lost: item {', '.join(picture.lost)}" if picture.lost else "nothing lost"
    faults = attrs.astuple(picture.totals.survived)[:-2]  # restarts and returned items are no faults
    many = f"{sum(faults)} faults; {fate} "
    forms = (f"survived {survived}; {fate} ", f"{survived}; {fate} ", f"survived {many}", many, f"{fate} ")
    lost = next((f" {form}" for form in forms if len(form) < most), "") if survived else ""
    room = max(8, min(40, width - len(words) - len(lost) - 1))
    full = room * done // items if items else 0
    half = min(room - full, -(-room * doing // items)) if items else 0
    line = [
        Segment(" ", PLAIN),
        Segment(look.sign("█", "#") * full, look.style("green")),
        Segment(look.sign("▒", "+") * half, look.style("yellow")),
        Segment(look.sign("░", ".") * (room - full - half), look.style("gray")),
        Segment(words, PLAIN),
    ]
    left = width - sum(segment.cell_length for segment in line)
    return [*line, cell(lost, left, look, style="bold orange", to_right=True)]


def _questions(picture: SwarmPicture, controls: ScreenControls, width: int, look: ScreenLook) -> list[ScreenLine]:
    """Return the lines about calls that wait for a person; only the first can be answered."""
    style, lines = look.style("bold reverse yellow"), []
    for at, row in enumerate(_question_rows(picture, width)):
        # While something else is asked or written, these letters belong to that.
        can_answer = controls.mode is ScreenMode.LIVE and controls.doubtful is None and controls.entry is None
        keys = _ANSWER_KEYS if at == 0 and can_answer else ""
        text = cell(row, max(0, width - len(keys)), look, style="bold reverse yellow")
        lines.append(filled([text, Segment(keys, style)], width))
    return lines


def _question_rows(picture: SwarmPicture, width: int) -> list[str]:
    """Return the words about calls that wait for a person: of the first as much as fits on some lines, then of one more."""
    if not picture.questions:
        return []
    room = max(20, width - len(_ANSWER_KEYS))
    most = room * (MAX_QUESTION_LINES + 1)  # a call may hold a whole file
    first, *others = (f" ? {printable_text(f'{each.who} {each.text[:most]}')}" for each in picture.questions)
    rows = textwrap.wrap(first, room, subsequent_indent="   ", drop_whitespace=False)
    shown = [first] if width < MIN_WIDTH else rows[:MAX_QUESTION_LINES]
    if len(rows) > len(shown):
        shown[-1] = f"{shown[-1][: room - 4]} ..."
    if others:
        more = f"  and {len(others) - 1} more" if len(others) > 1 else ""
        shown.append(f"{others[0][: max(0, width - len(more) - 1)]}{more}")
    return shown


def _foot(controls: ScreenControls, width: int, look: ScreenLook) -> ScreenLine:
    """Return the last line: what is asked or written, else the keys."""
    if controls.entry is not None:
        return _entry(controls, width, look)
    if controls.doubtful is not None:
        return [cell(f" {_doubt(controls)}", width, look, style="bold reverse red")]
    left = f" filter: {controls.search}  " if controls.search else ""
    line, room = [Segment(cut(left, width, look), look.style("bold yellow"))], width - len(left) - 8
    for entry in keys_of(controls.mode):
        if not entry.short or entry.does.startswith("show or hide"):
            continue
        key = entry.shown.split(", ")[0] if entry.short == "select" else look.sign(entry.signs, "") or entry.shown
        if len(key) + len(entry.short) + 3 > room:
            continue  # a shorter one may still fit
        line += [Segment(f" {key}", look.style("bold cyan")), Segment(f" {entry.short} ", PLAIN)]
        room -= len(key) + len(entry.short) + 3
    line += [Segment(" ?", look.style("bold cyan")), Segment(" keys", PLAIN)]
    return filled(line, width)


def _doubt(controls: ScreenControls) -> str:
    match controls.doubtful:
        case Kill(target=target):
            item = f"; item {target.item} goes to another" if target.item else ""
            return f"Kill {target.name}? y kills it{item}, any other key does not"
        case KillAll():
            return "Kill all teammates and what runs in the background? y kills, any other key does not"
    return "Stop the swarm? y stops it in order, it can be resumed; any other key does not"


def _entry(controls: ScreenControls, width: int, look: ScreenLook) -> ScreenLine:
    name = controls.recipient.name if controls.recipient is not None else ""
    heads = {TextEntry.MESSAGE: f" to {name}: ", TextEntry.SEARCH: " search: ", TextEntry.GO_TO: " go to: "}
    assert controls.entry is not None
    head, keys = heads[controls.entry], "  Enter, Esc "
    room = max(1, width - len(head) - len(keys) - 1)
    tail = controls.text[-room:]  # the end is where somebody writes
    return filled(
        [
            Segment(cut(head, width, look), look.style("bold yellow")),
            Segment(cut(tail, room, look), PLAIN),
            Segment(" ", look.style("reverse")),
            Segment(keys, look.style("gray")),
        ],
        width,
    )


def _time_line(time: TimePosition, width: int, look: ScreenLook) -> ScreenLine:
    state = f"{time.speed:g}x" if time.speed else look.sign("‖", "||")
    sign = look.sign("▶", ">") if time.speed else ""
    end = "now" if time.is_growing else short_duration(time.end_s)
    left = f" {sign}{state} {short_duration(time.t_s)}/{end} event {time.event}/{time.events} "
    room = max(5, width - len(left) - 1)

    def place(t_s: float) -> int:
        return min(room - 1, max(0, int(t_s / time.end_s * room))) if time.end_s > 0 else 0

    failures, here = {place(t_s) for t_s in time.failures}, place(time.t_s)
    line: ScreenLine = [Segment(left, look.style("bold"))]
    for at in range(room):
        if at == here:
            line.append(Segment(look.sign("●", "O"), look.style("bold cyan")))
        elif at in failures:
            line.append(Segment(look.sign("✗", "x"), look.style("bold red")))
        else:
            line.append(Segment(look.sign("─", "-"), look.style("cyan" if at < here else "gray")))
    return filled(line, width)


def _help(mode: ScreenMode, width: int, height: int, look: ScreenLook) -> list[ScreenLine]:
    """Return the keys, in as many columns as they need."""
    entries = keys_of(mode)
    lines: list[ScreenLine] = [
        [Segment(f"  {entry.shown:<18}", look.style("bold cyan")), Segment(cut(entry.does, width - 22, look), PLAIN)]
        for entry in entries
    ]
    legend = "  The last minute of an agent: " + ", ".join(
        f"{look.sign(sign, plain)} {name}"
        for sign, plain, name in (
            ("█", "#", "a tool"),
            ("▅", "=", "the model"),
            ("▂", "-", "waiting"),
            ("·", ".", "idle"),
        )
    )
    lines += [[], [Segment(cut(legend, width, look), PLAIN)]]
    head = heading("Keys", width, look, is_focused=True, more="? closes")
    return padded([head, *lines], width, height)


def _too_small(size: ScreenSize, look: ScreenLook) -> list[ScreenLine]:
    words = f"Too small: {size.width}x{size.height}, at least {MIN_WIDTH}x{MIN_HEIGHT}. The swarm goes on."
    return [[Segment(cut(line, size.width, look), look.style("bold"))] for line in _words(words, size.width)]


def _words(text: str, width: int) -> Sequence[str]:
    return textwrap.wrap(text, max(1, width))
