"""One frame of the swarm's view: the tree of actors with their work, mail and tokens, the board, and the mail of
teammates.

Color only repeats what a word says, so a terminal without color, dark or light, shows the same. What does not fit is
counted. A picture fits the terminal as it is now; the tree gives way first, the line about keys never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from greenroom.actors import State
from greenroom.mailbox import MailboxStatistics
from greenroom.supervisor import TreeNode
from greenroom.terminal import printable, short_name

if TYPE_CHECKING:
    from greenroom.session import AgentStatus

LONG_WAIT_S: Final = 2.0
"""Seconds that a model may take before the view shows how long it has taken."""
MAIL_SHOWN: Final = 3
"""The latest messages between members that are shown."""
_OTHER_LINES: Final = 6
"""Lines of a frame that are not rows of the tree, and the one that the cursor is on."""
MAX_KEYS: Final = 200
SMALL: Final = 20
"""Lines of a terminal below which one message is enough."""
_ROOMY: Final = 100
"""Columns from which on each lane has one of its own."""
_STYLES: Final[Mapping[str, str]] = {
    "starting": "yellow",
    "working": "green",
    "idle": "",
    "ended": "",
    "failed": "bold red",
    "killed": "magenta",
}
_HIDDEN: Final = frozenset({"", "session/teams", "session/queue"})
"""Actors that only hold others or forward messages, and are left out of the picture."""


@attrs.frozen
class MailboxDepth:
    """The number of messages that wait for an actor, by lane."""

    now: int = 0
    next: int = 0
    later: int = 0

    @classmethod
    def of(cls, mailbox: MailboxStatistics) -> MailboxDepth:
        """Return what waits in a mailbox."""
        return cls(mailbox.now, mailbox.next, mailbox.later)

    @property
    def text(self) -> str:
        """All lanes in one word; `0` where nothing waits."""
        return f"{self.now}/{self.next}/{self.later}" if self.now or self.next or self.later else "0"


@attrs.frozen(kw_only=True)
class Row:
    """One actor in the tree."""

    name: str
    depth: int
    state: str
    id: str = ""
    activity: str = ""
    mail: MailboxDepth | None = None
    tokens: int | None = None


@attrs.frozen(kw_only=True)
class Frame:
    """All that one picture shows."""

    title: str
    elapsed_s: float
    rows: tuple[Row, ...]
    completed: int
    in_progress: int
    items: int
    cost: str = ""
    """The cost so far; empty if it is unknown."""
    mail: tuple[str, ...] = ()
    """The latest messages between members."""
    note: str = ""
    keys: str = ""
    """The question for the person, or the available keys; empty if no keys are read."""
    chosen: str = ""
    """Id of the actor that keys are about."""


# --- what is shown ----------------------------------------------------------------------------------------------------


def rows_of(node: TreeNode, agents: Mapping[str, AgentStatus], depth: int = 0) -> Iterator[Row]:
    """Yield the rows of an actor and of all below it; supervisors have no mail and no tokens."""
    if node.path in _HIDDEN:
        for child in node.children:
            yield from rows_of(child, agents, depth)
        return
    status = agents.get(node.id)
    yield Row(
        name=f"team {short_name(node.path)}"
        if node.path.startswith("session/teams/") and node.children
        else short_name(node.path),
        depth=depth,
        state=state_word(node),
        activity=status.activity if status and node.is_busy else "",
        id=node.id,
        mail=None if node.children else MailboxDepth.of(node.mailbox),
        tokens=status.usage.total if status else None,
    )
    for child in node.children:
        yield from rows_of(child, agents, depth + 1)


def with_wait(status: AgentStatus, waited_s: float) -> AgentStatus:
    """Return the status of an agent with the seconds that its model has let it wait, where they are worth a word."""
    if waited_s < LONG_WAIT_S or not status.activity:
        return status
    return attrs.evolve(status, activity=f"{status.activity} for {waited_s:.0f} s")


def state_word(node: TreeNode) -> str:
    """Return the state of an actor in a word."""
    match node.state:
        case State.PENDING:
            return "starting"
        case State.RUNNING:
            # A supervisor is never at rest and never at work: what it holds is.
            return "working" if _is_working(node) else "idle"
        case State.COMPLETED:
            return "ended"
        case state:
            return state.value


def _is_working(node: TreeNode) -> bool:
    return any(map(_is_working, node.children)) if node.children else node.is_busy


def fitting(rows: Sequence[Row], most: int, chosen: str = "") -> tuple[list[Row], str]:
    """Return the rows that fit, the chosen one and those at work first, and a line about the others."""
    if len(rows) <= most:
        return list(rows), ""

    def rank(at: int) -> tuple[bool, bool, int]:
        row = rows[at]
        return not chosen or row.id != chosen, row.mail is not None and row.state == "idle", at

    order = sorted(range(len(rows)), key=rank)
    kept = set(order[: max(1, most - 1)])
    others = Counter(row.state for at, row in enumerate(rows) if at not in kept)
    words = ", ".join(f"{count} {state}" for state, count in sorted(others.items()))
    return [row for at, row in enumerate(rows) if at in kept], f"and {len(rows) - len(kept)} more: {words}"


# --- how it is drawn --------------------------------------------------------------------------------------------------


def draw(frame: Frame, console: Console) -> RenderableType:
    """Return a frame as it fits the terminal now."""
    below = _below(frame, console)
    rows, others = fitting(frame.rows, max(3, console.size.height - _OTHER_LINES - len(below)), frame.chosen)
    parts: list[RenderableType] = [_head(frame, console), _table(frame, rows, console)]
    if others:
        parts.append(_line(others))
    return Group(*parts, _bar(frame, console), *below)


def _table(frame: Frame, rows: Sequence[Row], console: Console) -> Table:
    is_ascii, is_roomy = _is_ascii(console), console.size.width >= _ROOMY
    table = Table(box=None, expand=True, padding=(0, 1), pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("Actor", no_wrap=True, overflow="ellipsis", min_width=12, max_width=24)
    table.add_column("State", no_wrap=True, width=8)
    table.add_column("Doing", no_wrap=True, overflow="ellipsis", ratio=1)
    for lane in ("Now", "Next", "Later") if is_roomy else ("Mail",):
        table.add_column(lane, no_wrap=True, justify="right", width=max(5, len(lane)))
    table.add_column("Tokens", no_wrap=True, justify="right", width=7)
    mark = ">" if is_ascii else "▸"
    for lines, row in zip(_guides(rows, is_ascii=is_ascii), rows, strict=True):
        guide = lines[:-1] + mark if row.id and row.id == frame.chosen else lines
        table.add_row(
            Text(f"{guide}{row.name}"),
            Text(row.state, style=_STYLES.get(row.state, "")),
            Text(printable(row.activity)),
            *_lanes(row.mail, is_roomy=is_roomy),
            Text("" if row.tokens is None else short_number(row.tokens)),
        )
    return table


def _lanes(mail: MailboxDepth | None, *, is_roomy: bool) -> list[Text]:
    if mail is None:
        return [Text("")] * (3 if is_roomy else 1)
    if is_roomy:
        return [Text(str(count), style="bold yellow" if count else "") for count in (mail.now, mail.next, mail.later)]
    return [Text(mail.text, style="bold yellow" if mail.text != "0" else "")]


def _below(frame: Frame, console: Console) -> list[Text]:
    """Return the lines below the board: what was written, what the command says, what keys do."""
    lines = [_line(printable(text, 4 * console.size.width)) for text in frame.mail[-_mail_room(console) :]]
    if frame.note:
        lines.append(_line(frame.note, style="bold yellow"))
    if frame.keys:
        lines.append(_line(printable(frame.keys, 4 * MAX_KEYS), style="bold"))
    return lines


def _mail_room(console: Console) -> int:
    return MAIL_SHOWN if console.size.height >= SMALL else 1


def _line(text: str, *, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _head(frame: Frame, console: Console) -> Text:
    clock = " ".join(text for text in (frame.cost, short_duration(frame.elapsed_s)) if text)
    room = console.size.width - len(clock) - 1
    title = printable(frame.title, max(8, room))
    return Text(f"{title:<{max(8, room)}} {clock}", style="bold", no_wrap=True, overflow="crop")


def _bar(frame: Frame, console: Console) -> Text:
    words = f" {frame.completed} of {frame.items} items"
    if frame.in_progress:
        words += f", {frame.in_progress} in progress"
    width = min(40, max(8, console.size.width - len(words) - len("Board ")))
    done, doing = (
        round(width * part / frame.items) if frame.items else 0 for part in (frame.completed, frame.in_progress)
    )
    if frame.items and frame.completed == frame.items:
        done, doing = width, 0
    doing = min(doing, width - done)
    full, half, none = "#+." if _is_ascii(console) else "█▒░"
    return Text.assemble(
        "Board ",
        (full * done, "green"),
        (half * doing, "yellow"),
        none * (width - done - doing),
        words,
        no_wrap=True,
        overflow="crop",
    )


def _guides(rows: Sequence[Row], *, is_ascii: bool) -> list[str]:
    """Return what stands before each name: the lines of the tree."""
    between, last, through = ("|- ", "`- ", "|  ") if is_ascii else ("├─ ", "└─ ", "│  ")
    guides = []
    for at, row in enumerate(rows):
        parts = []
        for level in range(1, row.depth + 1):
            goes_on = _goes_on(rows[at + 1 :], level)
            if level == row.depth:
                parts.append(between if goes_on else last)
            else:
                parts.append(through if goes_on else "   ")
        guides.append("".join(parts))
    return guides


def _goes_on(after: Sequence[Row], level: int) -> bool:
    """Return True if another row of this level follows before its parent's part of the tree ends."""
    for row in after:
        if row.depth < level:
            return False
        if row.depth == level:
            return True
    return False


def _is_ascii(console: Console) -> bool:
    return not console.encoding.lower().startswith("utf")


def short_number(number: int) -> str:
    """Return a number in at most six characters."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size * 10:
            return f"{number // size}{letter}"
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)


def short_duration(seconds: float) -> str:
    """Return a duration as a clock shows it."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
