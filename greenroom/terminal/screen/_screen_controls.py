"""The meaning of keys on the screen of a swarm: a pure function from controls, a key and a picture to controls and an action.

Rule 1: what ends something asks first, and only `y` says yes. Rule 2: while a text is written every letter is a letter.
Rule 3: a key that means nothing here changes nothing. This module must not depend on the clock, Trio or the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, final

import attrs

from greenroom.terminal._keys import Key, KeyPress
from greenroom.terminal.screen._picture import AgentRow, OpenQuestion, SwarmPicture


class Pane(StrEnum):
    """A part of the screen that keys can be about."""

    AGENTS = "agents"
    BOARD = "board"
    EVENTS = "events"
    TALK = "conversation"


class TextEntry(StrEnum):
    """Kind of the text that is being written."""

    MESSAGE = "message"
    SEARCH = "search"
    GO_TO = "go to"


class ScreenMode(StrEnum):
    """Kind of the run that is shown."""

    LIVE = "live"
    """A run of this process: keys act on its agents."""
    PAST = "past"
    """A recorded run, or one of another process: keys move in time."""


@final
@attrs.frozen
class Interrupt:
    """End the current work of an agent, and nothing else."""

    target: AgentRow


@final
@attrs.frozen
class Kill:
    """End a teammate."""

    target: AgentRow


@final
@attrs.frozen
class KillAll:
    """End all teammates and all background tasks."""


@final
@attrs.frozen
class Quit:
    """Stop the run in order; leave a recorded one."""


@final
@attrs.frozen
class Tell:
    """Send an agent a message."""

    target: AgentRow
    text: str


@final
@attrs.frozen
class Settle:
    """Answer a question."""

    question: OpenQuestion
    is_allowed: bool


@final
@attrs.frozen
class StepEvents:
    """Move by a number of events; negative: back."""

    count: int


@final
@attrs.frozen
class StepFailure:
    """Move to the next failure, or with -1 to the one before."""

    direction: int


@final
@attrs.frozen
class TogglePlay:
    """Let the time go on, or stand still."""


@final
@attrs.frozen
class ChangeSpeed:
    """Play faster, or with -1 slower."""

    direction: int


@final
@attrs.frozen
class GoTo:
    """Move to a moment that somebody wrote: an event, a time, `end`, `failure`."""

    text: str


Doubtful: TypeAlias = Kill | KillAll | Quit
ScreenAction: TypeAlias = (
    Doubtful | Interrupt | Tell | Settle | StepEvents | StepFailure | TogglePlay | ChangeSpeed | GoTo
)

MAX_TYPED: Final = 2_000
"""Characters of a text; what is typed beyond is not taken."""
PAGE: Final = 10
"""Lines that a page key moves by."""


@final
@attrs.frozen
class PanePoint:
    """A place of the screen that the mouse was used on."""

    pane: Pane
    agent: str = ""
    """Id of the agent that is shown there; empty for none."""
    wheel: int = 0
    """1 where the wheel was turned down, -1 where it was turned up, 0 for a click."""


@final
@attrs.frozen(kw_only=True)
class ScreenControls:
    """What is chosen, open and being written."""

    mode: ScreenMode = ScreenMode.LIVE
    chosen: str = ""
    """Id of the agent that keys are about; empty: the first one."""
    opened: str = ""
    """Id of the agent whose conversation is open; empty for none."""
    pane: Pane = Pane.AGENTS
    """The pane that arrows are about."""
    scrolled: Mapping[Pane, int] = attrs.field(factory=dict)
    """Lines that a pane is moved: from its beginning for the board, back from its end for the others."""
    entry: TextEntry | None = None
    """The kind of text that is being written; None for none."""
    recipient: AgentRow | None = None
    """The recipient of the message that is being written."""
    text: str = ""
    """The text so far."""
    search: str = ""
    """Only what holds this is shown; empty for all."""
    doubtful: Doubtful | None = None
    """The action that waits for a `y`."""
    is_help: bool = False
    """True while the keys are explained."""

    def targets(self, picture: SwarmPicture) -> list[AgentRow]:
        """Return the agents that are shown."""
        return [agent for agent in picture.agents if self.fits(f"{agent.name} {agent.doing}")]

    def target(self, picture: SwarmPicture) -> AgentRow | None:
        """Return the agent that keys are about; the first where the chosen one is not there."""
        targets = self.targets(picture)
        return next((target for target in targets if target.id == self.chosen), targets[0] if targets else None)

    def fits(self, text: str) -> bool:
        """Return True if a text is shown although something is searched for."""
        return not self.search or self.search.lower() in text.lower()

    def by(self, pane: Pane) -> int:
        """Return the lines that a pane is moved."""
        return self.scrolled.get(pane, 0)


Answered: TypeAlias = tuple[ScreenControls, ScreenAction | None]


def press(controls: ScreenControls, key: KeyPress | PanePoint, picture: SwarmPicture) -> Answered:
    """Return what a key changes, and what is to be done.

    Args:
        controls: As they are.
        key: What was pressed.
        picture: The picture that is shown.
    """
    if controls.entry is not None:
        return _write(controls, key) if not isinstance(key, PanePoint) else (controls, None)
    if controls.doubtful is not None:
        return attrs.evolve(controls, doubtful=None), controls.doubtful if key == "y" else None
    if isinstance(key, PanePoint):
        return _point(controls, key), None
    if controls.is_help:
        return (
            (attrs.evolve(controls, is_help=False), None)
            if key in {"?", "q", Key.ESCAPE, Key.ENTER}
            else (controls, None)
        )
    changed = _move(controls, key, picture)
    if changed is not None:
        return changed, None
    return (_act if controls.mode is ScreenMode.LIVE else _travel)(controls, key, picture)


def _move(controls: ScreenControls, key: KeyPress, picture: SwarmPicture) -> ScreenControls | None:
    """Return the controls after a key that moves or opens something; None for a key that does not."""
    match key:
        case Key.UP | "k":
            return _step(controls, -1, picture)
        case Key.DOWN | "j":
            return _step(controls, 1, picture)
        case Key.PAGE_UP:
            return _step(controls, -PAGE, picture)
        case Key.PAGE_DOWN:
            return _step(controls, PAGE, picture)
        case Key.TAB | Key.SHIFT_TAB:
            panes = [pane for pane in Pane if pane is not Pane.TALK or controls.opened or controls.pane is Pane.TALK]
            at = panes.index(controls.pane) + (1 if key is Key.TAB else -1)
            return attrs.evolve(controls, pane=panes[at % len(panes)])
        case Key.ENTER:
            target = controls.target(picture)
            return controls if target is None else _open(controls, target.id)
        case Key.ESCAPE:
            if controls.search:
                return attrs.evolve(controls, search="")
            return _close(controls)
        case "?":
            return attrs.evolve(controls, is_help=True)
        case "/":
            return attrs.evolve(controls, entry=TextEntry.SEARCH, text=controls.search)
    return None


def _act(controls: ScreenControls, key: KeyPress, picture: SwarmPicture) -> Answered:
    """Answer a key that acts on a live run."""
    target = controls.target(picture)
    match key:
        case "y" | "n" if picture.questions:
            return controls, Settle(picture.questions[0], is_allowed=key == "y")
        case "q":
            return attrs.evolve(controls, doubtful=Quit()), None
        case "X" if any(agent.is_teammate and agent.is_there for agent in picture.agents):
            return attrs.evolve(controls, doubtful=KillAll()), None
        case "x" if target is not None and target.is_teammate and target.is_there:
            return attrs.evolve(controls, doubtful=Kill(target)), None
        case "i" if target is not None and target.is_there:
            return controls, Interrupt(target)
        case "m" if target is not None and target.is_there:
            return attrs.evolve(controls, entry=TextEntry.MESSAGE, recipient=target, text=""), None
    return controls, None


_TRAVELS: Final[Mapping[KeyPress, ScreenAction]] = {
    Key.LEFT: StepEvents(-1),
    Key.RIGHT: StepEvents(1),
    Key.SHIFT_LEFT: StepFailure(-1),
    Key.SHIFT_RIGHT: StepFailure(1),
    " ": TogglePlay(),
    "+": ChangeSpeed(1),
    "-": ChangeSpeed(-1),
    "q": Quit(),  # nothing ends by it
}


def _travel(controls: ScreenControls, key: KeyPress, _: SwarmPicture) -> Answered:
    """Answer a key that moves in time."""
    if key == "g":
        return attrs.evolve(controls, entry=TextEntry.GO_TO, text=""), None
    return controls, _TRAVELS.get(key)


def _step(controls: ScreenControls, count: int, picture: SwarmPicture) -> ScreenControls:
    if controls.pane is not Pane.AGENTS:
        back = -count if controls.pane is not Pane.BOARD else count  # the others stand at their end
        return _scroll(controls, controls.pane, back)
    targets, target = controls.targets(picture), controls.target(picture)
    if target is None:
        return controls
    at = targets.index(target) + count
    at = at % len(targets) if abs(count) == 1 else min(max(at, 0), len(targets) - 1)
    chosen = targets[at].id
    if controls.opened:
        return _open(controls, chosen)
    return attrs.evolve(controls, chosen=chosen)


def _scroll(controls: ScreenControls, pane: Pane, count: int) -> ScreenControls:
    return attrs.evolve(controls, scrolled={**controls.scrolled, pane: max(0, controls.by(pane) + count)})


def _open(controls: ScreenControls, agent: str) -> ScreenControls:
    return attrs.evolve(controls, chosen=agent, opened=agent, scrolled={**controls.scrolled, Pane.TALK: 0})


def _close(controls: ScreenControls) -> ScreenControls:
    pane = Pane.AGENTS if controls.pane is Pane.TALK else controls.pane
    return attrs.evolve(controls, opened="", pane=pane)


def _point(controls: ScreenControls, hit: PanePoint) -> ScreenControls:
    if hit.wheel:
        return _scroll(controls, hit.pane, hit.wheel * (3 if hit.pane is Pane.BOARD else -3))
    controls = attrs.evolve(controls, pane=hit.pane)
    if not hit.agent:
        return controls
    if hit.agent == controls.chosen or controls.opened:
        return _open(controls, hit.agent)
    return attrs.evolve(controls, chosen=hit.agent)


def _write(controls: ScreenControls, key: KeyPress) -> Answered:
    entry = controls.entry
    assert entry is not None
    done = attrs.evolve(controls, entry=None, recipient=None, text="")
    match key:
        case Key.ESCAPE:
            return done, None
        case Key.ENTER:
            return _WRITTEN[entry](controls, done)
        case Key.BACKSPACE:
            return attrs.evolve(controls, text=controls.text[:-1]), None
        case str() if key.isprintable():
            return attrs.evolve(controls, text=(controls.text + key)[:MAX_TYPED]), None
    return controls, None


def _send(controls: ScreenControls, done: ScreenControls) -> Answered:
    text, recipient = controls.text.strip(), controls.recipient
    return done, Tell(recipient, text) if text and recipient is not None else None


def _search(controls: ScreenControls, done: ScreenControls) -> Answered:
    return attrs.evolve(done, search=controls.text.strip(), scrolled={}), None


def _go_to(controls: ScreenControls, done: ScreenControls) -> Answered:
    text = controls.text.strip()
    return done, GoTo(text) if text else None


_WRITTEN: Final[Mapping[TextEntry, Callable[[ScreenControls, ScreenControls], Answered]]] = {
    TextEntry.MESSAGE: _send,
    TextEntry.SEARCH: _search,
    TextEntry.GO_TO: _go_to,
}
