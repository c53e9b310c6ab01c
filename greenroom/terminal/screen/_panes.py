"""The panes of the screen: agents, board, events and one agent's conversation, each a block of lines of a given size.

Rule 1: a pane is a function of frozen values and a size; it fills its block exactly. Rule 2: what does not fit is counted
or cut with a sign; nothing is lost without a word. This module must not depend on the clock, the disk, Trio or the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, final

import attrs
from rich.segment import Segment

from greenroom.core.texts import printable_text
from greenroom.terminal.screen._cells import (
    PLAIN,
    ScreenLine,
    bold_line,
    cell,
    cut,
    filled,
    heading,
    padded,
    reversed_line,
)
from greenroom.terminal.screen._figures import short_duration
from greenroom.terminal.screen._picture import (
    SAMPLES,
    AgentRow,
    BoardCard,
    BoardColumn,
    LaneUse,
    SwarmNote,
    SwarmPicture,
    TalkKind,
    TalkPart,
)
from greenroom.terminal.screen._screen_controls import Pane, ScreenControls
from greenroom.terminal.screen._screen_look import BARS, NOTES, STATES, ScreenLook

_ACTIVE: Final = (LaneUse.TOOL, LaneUse.MODEL, LaneUse.WAITING)
MAX_TALK_LINES: Final = 400
"""Lines of one part of a conversation that are shown."""


@final
@attrs.frozen(kw_only=True)
class PaneArea:
    """The size of a pane, and how it is drawn."""

    width: int
    height: int
    look: ScreenLook
    controls: ScreenControls
    talk_of: str = ""
    """Id of the agent whose conversation is shown."""

    def heading(self, pane: Pane, text: str, more: str = "") -> ScreenLine:
        """Return the line above the pane."""
        return heading(text, self.width, self.look, is_focused=self.controls.pane is pane, more=more)

    def block(self, head: ScreenLine, lines: Sequence[ScreenLine]) -> list[ScreenLine]:
        """Return the whole pane."""
        return padded([head, *lines], self.width, self.height)


# --- agents -----------------------------------------------------------------------------------------------------------


def agents_shown(picture: SwarmPicture, controls: ScreenControls, room: int) -> list[AgentRow]:
    """Return the agents that fit: the chosen one, and those at work before those at rest, in their order."""
    targets = controls.targets(picture)
    if len(targets) <= room:
        return targets
    chosen = controls.target(picture)

    def rank(at: int) -> tuple[bool, bool, bool, int]:
        agent = targets[at]
        return chosen is not None and agent.id != chosen.id, not agent.flashes, agent.state != "working", at

    kept = set(sorted(range(len(targets)), key=rank)[: max(1, room - 1)])
    return [agent for at, agent in enumerate(targets) if at in kept]


def agents_pane(picture: SwarmPicture, area: PaneArea) -> list[ScreenLine]:
    """Return the tree of agents: name, state, last minute, what it does now."""
    look, controls = area.look, area.controls
    room = max(1, area.height - 1)
    shown, target = agents_shown(picture, controls, room), controls.target(picture)
    legend = ", ".join(f"{look.sign(*BARS[use])} {use}" for use in _ACTIVE)
    lines = []
    for agent in shown:
        line = _agent_line(agent, area)
        if target is not None and agent.id == target.id:
            line = reversed_line(line) if controls.pane is Pane.AGENTS else bold_line(line)
        lines.append(line)
    hidden = len(controls.targets(picture)) - len(shown)
    if hidden:
        lines.append([cell(f"  and {hidden} more", area.width, look, style="gray")])
    working = sum(agent.state == "working" for agent in picture.agents)
    return area.block(area.heading(Pane.AGENTS, f"Agents {working}/{len(picture.agents)} at work", legend), lines)


def _agent_line(agent: AgentRow, area: PaneArea) -> ScreenLine:
    look, width = area.look, area.width
    name_width = 12 if width < 100 else 16
    bars = 12 if width < 70 else 20 if width < 90 else 30 if width < 130 else 60
    color = agent.color or "bold"
    name = "  " * min(agent.depth, 3) + agent.name
    state = (
        f"bold reverse {STATES.get(agent.state, '')}"
        if agent.flashes and look.has_motion
        else STATES.get(agent.state, "")
    )
    line = [
        Segment(look.sign("▌", "|") if agent.color else " ", look.style(color)),
        cell(name, name_width, look, style=color),
        Segment(" ", PLAIN),
        cell(agent.state, 9, look, style=state),
        *_bars(agent, bars, look),
        Segment(" ", PLAIN),
    ]
    left = width - sum(segment.cell_length for segment in line)
    mail = f" {agent.unread} {'message' if agent.unread == 1 else 'messages'}" if agent.unread and left > 40 else ""
    item = f"#{agent.item} " if agent.item else ""
    style = "yellow" if agent.use is LaneUse.WAITING else ""
    return [
        *line,
        Segment(item, look.style("bold")),
        cell(agent.doing, max(0, left - len(item) - len(mail)), look, style=style),
        Segment(mail, look.style("bold yellow")),
    ]


def _bars(agent: AgentRow, width: int, look: ScreenLook) -> Iterator[Segment]:
    samples = ((LaneUse.DOWN,) * SAMPLES + agent.lane)[-SAMPLES:]
    each = SAMPLES // width
    for at in range(0, each * width, each):
        group = samples[at : at + each]
        use = next((use for use in _ACTIVE if use in group), group[-1])
        style = "gray" if use is LaneUse.IDLE else "yellow" if use is LaneUse.WAITING else agent.color
        yield Segment(look.sign(*BARS[use]), look.style(style))


# --- board ------------------------------------------------------------------------------------------------------------


def board_pane(picture: SwarmPicture, area: PaneArea) -> list[ScreenLine]:
    """Return the board: its items in three columns, the latest moves first where items are done."""
    look, controls = area.look, area.controls
    colors = {agent.name: agent.color for agent in picture.agents}
    widths = _thirds(area.width)
    columns = []
    for column, width in zip(BoardColumn, widths, strict=True):
        cards = _sorted_cards(picture, column)
        fitting = [card for card in cards if controls.fits(f"{card.id} {card.subject} {card.owner}")]
        skipped = min(controls.by(Pane.BOARD), max(0, len(fitting) - (area.height - 2)))
        head = filled([Segment(f" {column} {len(cards)}", look.style("bold"))], width)
        shown = [_card_line(card, width, look, colors) for card in islice(fitting, skipped, skipped + area.height)]
        more = len(fitting) - skipped - (area.height - 2)
        if more > 0:
            shown[area.height - 3 :] = [[cell(f" and {more + 1} more", width, look, style="gray")]]
        columns.append(padded([head, *shown], width, area.height - 1))
    done = sum(card.column is BoardColumn.DONE for card in picture.cards)
    head = area.heading(Pane.BOARD, f"Board {done}/{len(picture.cards)} done")
    return [head, *([segment for part in parts for segment in part] for parts in zip(*columns, strict=True))]


def _sorted_cards(picture: SwarmPicture, column: BoardColumn) -> list[BoardCard]:
    cards = [card for card in picture.cards if card.column is column]
    if column is BoardColumn.DONE:
        return sorted(cards, key=lambda card: -card.moved_s)
    if column is BoardColumn.OPEN:  # what came back is handed out before what nobody had
        return sorted(cards, key=lambda card: not card.returns)
    return cards


def _thirds(width: int) -> tuple[int, int, int]:
    third = width // 3
    return third, third, width - 2 * third


def _card_line(card: BoardCard, width: int, look: ScreenLook, colors: Mapping[str, str]) -> ScreenLine:
    color = colors.get(card.owner, "")
    style = color
    if card.flashes:
        style = f"bold reverse {color or 'orange'}" if look.has_motion else f"bold {color or 'orange'}"
    elif card.column is BoardColumn.OPEN:
        style = "bold orange" if card.returns else ""
    back = look.sign("↩", "<") if card.returns and card.column is not BoardColumn.DONE else " "
    owner = f" {card.owner}" if card.owner and width > 30 else ""
    return [
        Segment(back, look.style("bold orange")),
        cell(f"{card.id} {card.subject}", width - 2 - len(owner), look, style=style),
        Segment(owner, look.style(color)),
        Segment(" ", PLAIN),
    ]


# --- events -----------------------------------------------------------------------------------------------------------


def events_pane(picture: SwarmPicture, area: PaneArea) -> list[ScreenLine]:
    """Return the latest events that matter, the last one at the bottom."""
    controls = area.controls
    colors = {agent.name: agent.color for agent in picture.agents}
    notes = [note for note in picture.notes if controls.fits(f"{note.who} {note.text}")]
    room = max(0, area.height - 1)
    back = min(controls.by(Pane.EVENTS), max(0, len(notes) - room))
    shown = notes[max(0, len(notes) - back - room) : len(notes) - back]
    more = f"{back} later" if back else ""
    return area.block(
        area.heading(Pane.EVENTS, "Events", more), [_note_line(note, area.width, area.look, colors) for note in shown]
    )


def _note_line(note: SwarmNote, width: int, look: ScreenLook, colors: Mapping[str, str]) -> ScreenLine:
    sign, plain, style = NOTES[note.kind]
    style = style or colors.get(note.who, "")
    flash = "reverse " if note.flashes and look.has_motion else ""
    clock = f"{short_duration(note.t_s):>5} "
    text = cut(note.text, max(0, width - len(clock) - 2), look)
    return [
        Segment(clock, look.style("gray")),
        Segment(look.sign(sign, plain) + " ", look.style(style)),
        Segment(text, look.style(flash + style)),
    ]


# --- one agent's conversation -------------------------------------------------------------------------------------------

_TALK: Final[Mapping[TalkKind, tuple[str, str, str]]] = {
    TalkKind.PROMPT: ("❯", ">", "bold"),
    TalkKind.ANSWER: ("●", "*", ""),
    TalkKind.CALL: ("▸", "=", "cyan"),
    TalkKind.RESULT: ("└", "`", "gray"),
    TalkKind.ERROR: ("✗", "x", "red"),
    TalkKind.NOTICE: ("·", ".", "gray"),
}


def talk_pane(picture: SwarmPicture, area: PaneArea) -> list[ScreenLine]:
    """Return the conversation of the agent that is open, its end at the bottom."""
    controls, look = area.controls, area.look
    agent = picture.agent(area.talk_of)
    name = agent.name if agent is not None else "an agent that has ended"
    lines = [line for part in picture.talk for line in _talk_lines(part, area.width, look)]
    if agent is not None and agent.doing:
        lines.append([cell(f" {look.sign('…', '~')} {agent.doing}", area.width, look, style=agent.color or "bold")])
    room = max(0, area.height - 1)
    back = min(controls.by(Pane.TALK), max(0, len(lines) - room))
    shown = lines[max(0, len(lines) - back - room) : len(lines) - back]
    if not lines:
        shown = [[cell(" nothing was said yet", area.width, look, style="gray")]]
    more = f"{back} lines later" if back else "Esc closes" if controls.opened else "Enter keeps it open"
    return area.block(area.heading(Pane.TALK, f"Conversation of {name}", more), shown)


def _talk_lines(part: TalkPart, width: int, look: ScreenLook) -> Iterator[ScreenLine]:
    sign, plain, style = _TALK[part.kind]
    text = f"{part.title}: {part.text}" if part.title and part.kind is TalkKind.PROMPT else part.text
    if part.kind is TalkKind.CALL:
        text = f"{part.title} {part.text}".rstrip()
    most = 3 if part.kind in {TalkKind.RESULT, TalkKind.CALL, TalkKind.ERROR} else MAX_TALK_LINES
    lines = list(islice(_wrapped(printable_text(text.expandtabs(4)), max(10, width - 3)), most + 1))
    for at, line in enumerate(lines[:most]):
        lead = f" {look.sign(sign, plain)} " if at == 0 else "   "
        tail = look.sign(" …", " ...") if at == most - 1 and len(lines) > most else ""
        shown = "" if style == "bold" and at else style  # only the first line of a prompt stands out
        yield [Segment(lead, look.style(style)), cell(cut(line, width - 5, look) + tail, width - 3, look, style=shown)]


def _wrapped(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, width, drop_whitespace=True, break_on_hyphens=False) or [""]
