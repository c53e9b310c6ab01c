"""The meaning of keys while a swarm runs: a pure function from controls and a key to new controls and an action.

What ends something asks first, and only `y` says yes. While a message is written every letter is a letter. A key that means
nothing here changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

import attrs

from greenroom.terminal import Key, Press


@final
@attrs.frozen
class Target:
    """An agent that can be chosen."""

    id: str
    name: str
    is_mate: bool
    """True if it can be killed; the lead ends with the swarm."""


@final
@attrs.frozen
class KeyQuestion:
    """A call that somebody has to decide about."""

    id: str
    text: str
    """The agent that asks, and its request."""


@final
@attrs.frozen
class Interrupt:
    """End the current work of an agent, and nothing else."""

    target: Target


@final
@attrs.frozen
class Kill:
    """End a teammate."""

    target: Target


@final
@attrs.frozen
class KillAll:
    """End all teammates and all background tasks."""


@final
@attrs.frozen
class Tell:
    """Send an agent a message."""

    target: Target
    text: str


@final
@attrs.frozen
class Settle:
    """Answer a question."""

    question: KeyQuestion
    is_allowed: bool


Action: TypeAlias = Interrupt | Kill | KillAll | Tell | Settle

MAX_TYPED: Final = 2_000
"""Characters of a message; what is typed beyond is not taken."""


@final
@attrs.frozen
class Controls:
    """The chosen agent, and the message or confirmation in progress."""

    chosen: str = ""
    """Id of the agent that keys are about; empty: the first one."""
    typing: Target | None = None
    """The recipient of the message that is being typed."""
    text: str = ""
    """That message, so far."""
    doubtful: Kill | KillAll | None = None
    """The action that waits for a `y`."""

    def target(self, targets: Sequence[Target]) -> Target | None:
        """Return the agent that keys are about; the first where the chosen one is gone."""
        return next((target for target in targets if target.id == self.chosen), targets[0] if targets else None)

    def line(self, targets: Sequence[Target], question: KeyQuestion | None) -> str:
        """Return the line below the tree: what is asked, or which keys there are."""
        if self.typing is not None:
            return f"to {self.typing.name}: {self.text}_   (enter sends, escape leaves)"
        if isinstance(self.doubtful, Kill):
            return f"kill {self.doubtful.target.name}? y kills, any other key does not"
        if self.doubtful is not None:
            return "kill all mates and what runs in the background? y kills, any other key does not"
        if question is not None:
            return f"{question.text}   y allows it, n refuses it"
        target = self.target(targets)
        if target is None:
            return ""
        own = f"{target.name}: m message, i interrupt" + (", k kill" if target.is_mate else "")
        return f"{own} | K kill all | up, down | ctrl+c stop"


def press(
    controls: Controls, key: Press, targets: Sequence[Target], question: KeyQuestion | None = None
) -> tuple[Controls, Action | None]:
    """Return what a key changes, and what is to be done.

    Args:
        controls: As they are.
        key: What was pressed.
        targets: The agents that there are, in the order in which they are shown.
        question: The one that waits longest.
    """
    if controls.typing is not None:
        return _type(controls, key)
    if controls.doubtful is not None:
        return attrs.evolve(controls, doubtful=None), controls.doubtful if key == "y" else None
    target = controls.target(targets)
    match key:
        case "y" | "n" if question is not None:
            return controls, Settle(question, is_allowed=key == "y")
        case "K" if any(target.is_mate for target in targets):
            return attrs.evolve(controls, doubtful=KillAll()), None
        case Key.UP | Key.DOWN if target is not None:
            step = -1 if key is Key.UP else 1
            at = (targets.index(target) + step) % len(targets)
            return attrs.evolve(controls, chosen=targets[at].id), None
        case "i" if target is not None:
            return controls, Interrupt(target)
        case "k" if target is not None and target.is_mate:
            return attrs.evolve(controls, doubtful=Kill(target)), None
        case "m" if target is not None:
            return attrs.evolve(controls, typing=target, text=""), None
    return controls, None


def _type(controls: Controls, key: Press) -> tuple[Controls, Action | None]:
    target = controls.typing
    assert target is not None
    match key:
        case Key.ESCAPE:
            return attrs.evolve(controls, typing=None, text=""), None
        case Key.ENTER:
            text = controls.text.strip()
            return attrs.evolve(controls, typing=None, text=""), Tell(target, text) if text else None
        case Key.BACKSPACE:
            return attrs.evolve(controls, text=controls.text[:-1]), None
        case str() if key.isprintable():
            return attrs.evolve(controls, text=(controls.text + key)[:MAX_TYPED]), None
    return controls, None
