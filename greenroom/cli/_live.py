"""The live view: the tree of actors, what each does, its mail and tokens, and the board, redrawn in place.

Rule 1: everything is drawn on the Trio thread, at most 8 times a second. Rule 2: color only repeats what a word says, so
a terminal without color, dark or light, shows the same. Rule 3: what does not fit is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import attrs
import trio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from greenroom.actors import State
from greenroom.cli._reading import Reading, Waits
from greenroom.cli._view import Opening, Summary, summary_lines
from greenroom.cli._words import Narrator, printable, short_name
from greenroom.supervisor import TreeNode

if TYPE_CHECKING:
    from greenroom.session import AgentStatus, EventStream, Session
    from greenroom.teams import Item, Team

INTERVAL_S: Final = 0.125
LONG_WAIT_S: Final = 2.0
"""So long a model may take before the view counts the seconds."""
_OTHER_LINES: Final = 6
"""Lines of a frame that are not rows of the tree, and the one that the cursor is on."""
_STYLES: Final[Mapping[str, str]] = {
    "starting": "yellow",
    "working": "green",
    "idle": "",
    "ended": "",
    "failed": "bold red",
    "killed": "magenta",
}
_HIDDEN: Final = frozenset({"", "session/teams"})
"""Supervisors that only hold others: a line for each would say nothing."""


@attrs.frozen(kw_only=True)
class Row:
    """One actor in the tree."""

    name: str
    depth: int
    state: str
    activity: str = ""
    mail: int | None = None
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
    note: str = ""


# --- what is shown ----------------------------------------------------------------------------------------------------


def rows_of(node: TreeNode, agents: Mapping[str, AgentStatus], depth: int = 0) -> Iterator[Row]:
    """Yield the rows of an actor and of all below it; supervisors have no mail and no tokens."""
    if node.path in _HIDDEN:
        for child in node.children:
            yield from rows_of(child, agents, depth)
        return
    status = agents.get(node.id)
    mailbox = node.mailbox
    yield Row(
        name=f"team {short_name(node.path)}"
        if node.path.startswith("session/teams/") and node.children
        else short_name(node.path),
        depth=depth,
        state=state_word(node),
        activity=status.activity if status and node.is_busy else "",
        mail=None if node.children else mailbox.now + mailbox.next + mailbox.later,
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
            is_working = node.is_busy if not node.children else any(child.is_busy for child in node.children)
            return "working" if is_working else "idle"
        case State.COMPLETED:
            return "ended"
        case state:
            return state.value


def fitting(rows: Sequence[Row], most: int) -> tuple[list[Row], str]:
    """Return the rows that fit, those at work first, and a line about the others."""
    if len(rows) <= most:
        return list(rows), ""
    order = sorted(range(len(rows)), key=lambda at: (rows[at].mail is not None and rows[at].state == "idle", at))
    kept = set(order[: max(1, most - 1)])
    others = Counter(row.state for at, row in enumerate(rows) if at not in kept)
    words = ", ".join(f"{count} {state}" for state, count in sorted(others.items()))
    return [row for at, row in enumerate(rows) if at in kept], f"and {len(rows) - len(kept)} more: {words}"


# --- how it is drawn --------------------------------------------------------------------------------------------------


def draw(frame: Frame, console: Console) -> RenderableType:
    """Return a frame as it fits the terminal now."""
    rows, others = fitting(frame.rows, max(3, console.size.height - _OTHER_LINES))
    table = Table(box=None, expand=True, padding=(0, 1), pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("Actor", no_wrap=True, overflow="ellipsis", min_width=12, max_width=24)
    table.add_column("State", no_wrap=True, width=8)
    table.add_column("Doing", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("Mail", no_wrap=True, justify="right", width=4)
    table.add_column("Tokens", no_wrap=True, justify="right", width=7)
    for guide, row in zip(_guides(rows, is_ascii=_is_ascii(console)), rows, strict=True):
        table.add_row(
            Text(f"{guide}{row.name}"),
            Text(row.state, style=_STYLES.get(row.state, "")),
            Text(printable(row.activity)),
            Text("" if row.mail is None else str(row.mail), style="bold yellow" if row.mail else ""),
            Text("" if row.tokens is None else short_number(row.tokens)),
        )
    parts: list[RenderableType] = [_head(frame, console), table]
    if others:
        parts.append(Text(others, no_wrap=True, overflow="ellipsis"))
    parts.append(_bar(frame, console))
    if frame.note:
        parts.append(Text(frame.note, style="bold yellow", no_wrap=True, overflow="ellipsis"))
    return Group(*parts)


def _head(frame: Frame, console: Console) -> Text:
    clock = short_duration(frame.elapsed_s)
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
    """Whether another row of this level follows before its parent's part of the tree ends."""
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


# --- the view ---------------------------------------------------------------------------------------------------------


@final
class LiveView:
    """Draws a frame in place and lets news scroll by above it."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._narrator = Narrator()
        self._team: Team | None = None
        self._title = "greenroom swarm"
        self._note = ""
        self._live: Live | None = None
        self._is_dirty = True

    def begin(self, opening: Opening) -> None:
        """Print the first line, which stays."""
        self._console.print(Text(opening.text))
        self._console.print(Text(opening.hint))
        self._title = f"{printable(opening.folder)}: {opening.mates} mates and a lead"

    def show_team(self, team: Team) -> None:
        """Take the board from this team."""
        self._team = team

    def say(self, text: str) -> None:
        """Show a line below the tree."""
        self._note = printable(text)
        self._is_dirty = True
        if self._live is None:
            self._console.print(Text(self._note))

    async def watch(self, session: Session, stream: EventStream) -> None:
        """Draw until the session's events end."""
        began = trio.current_time()
        self._narrator.introduce(session.runtime.tree())
        with Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
            self._live = live
            try:
                async with trio.open_nursery() as nursery:
                    reading = Reading(stream)
                    nursery.start_soon(self._redraw, session, live, began, reading.waits)
                    await self._read(reading)
                    nursery.cancel_scope.cancel("the session has ended")
            finally:
                self._live = None

    def end(self, summary: Summary) -> None:
        """Print the last lines."""
        for line in summary_lines(summary):
            self._console.print(Text(line), soft_wrap=True)

    def leave(self) -> None:
        """Show the cursor again and end the frame."""
        if self._live is not None:
            self._live.stop()
        self._console.show_cursor()

    async def _read(self, reading: Reading) -> None:
        while (found := await reading.next()) is not None:
            event = found[2]
            self._is_dirty = True
            self._narrator.words(event)
            news = self._narrator.news(event)
            if news is not None:
                self._console.print(Text(news), no_wrap=True, overflow="ellipsis")

    async def _redraw(self, session: Session, live: Live, began: float, waits: Waits) -> None:
        second = -1
        while True:
            elapsed_s = trio.current_time() - began
            if self._is_dirty or int(elapsed_s) != second:
                self._is_dirty, second = False, int(elapsed_s)
                live.update(draw(self._frame(session, elapsed_s, waits), self._console), refresh=True)
            await trio.sleep(INTERVAL_S)

    def _frame(self, session: Session, elapsed_s: float, waits: Waits) -> Frame:
        now = session.runtime.recorder.now()
        agents = {one.id: with_wait(one, waits.waited_s(one.id, now)) for one in session.agents()}
        items: Sequence[Item] = self._team.board.items() if self._team is not None else ()
        return Frame(
            title=self._title,
            elapsed_s=elapsed_s,
            rows=tuple(rows_of(session.runtime.tree(), agents)),
            completed=sum(item.status == "completed" for item in items),
            in_progress=sum(item.status == "in_progress" for item in items),
            items=len(items),
            note=self._note,
        )
