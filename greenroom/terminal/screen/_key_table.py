"""The table of keys, as `?` shows it and the documentation lists it."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.terminal._keys import Key, KeyPress
from greenroom.terminal.screen._screen_controls import ScreenMode


@final
@attrs.frozen(kw_only=True)
class KeyEntry:
    """Keys that do the same."""

    keys: tuple[KeyPress, ...]
    shown: str
    """The keys, as people know them."""
    does: str
    short: str = ""
    """In a word, for the line below the panes; empty: not there."""
    modes: tuple[ScreenMode, ...] = (ScreenMode.LIVE, ScreenMode.PAST)
    signs: str = ""
    """The keys in the line below the panes, where the terminal shows such signs; empty: as people know them."""


_LIVE: Final = (ScreenMode.LIVE,)
_PAST: Final = (ScreenMode.PAST,)
KEY_TABLE: Final = (
    KeyEntry(keys=("y", "n"), shown="y, n", does="allow or refuse the call that waits for you", modes=_LIVE),
    KeyEntry(
        keys=(Key.UP, Key.DOWN, "k", "j"),
        shown="arrows, j, k",
        does="select an agent; scroll in the other panes",
        short="select",
    ),
    KeyEntry(keys=(Key.PAGE_UP, Key.PAGE_DOWN), shown="page keys", does="the same, ten lines at a time"),
    KeyEntry(keys=(Key.ENTER,), shown="Enter", does="open the agent's conversation", short="open"),
    KeyEntry(keys=("m",), shown="m", does="write the agent a message", short="message", modes=_LIVE),
    KeyEntry(keys=("i",), shown="i", does="interrupt what the agent does", short="interrupt", modes=_LIVE),
    KeyEntry(
        keys=("x",), shown="x", does="kill the teammate (asks); its item goes to another", short="kill", modes=_LIVE
    ),
    KeyEntry(keys=("X",), shown="X", does="kill all teammates and what runs in the background (asks)", modes=_LIVE),
    KeyEntry(keys=(" ",), shown="Space", does="play, or stand still", short="play", modes=_PAST),
    KeyEntry(
        keys=(Key.LEFT, Key.RIGHT),
        shown="left, right",
        does="one event back or on",
        short="event",
        modes=_PAST,
        signs="← →",
    ),
    KeyEntry(
        keys=(Key.SHIFT_LEFT, Key.SHIFT_RIGHT),
        shown="Shift left, right",
        does="to the failure before, to the next one",
        short="failure",
        modes=_PAST,
        signs="Shift ← →",
    ),
    KeyEntry(
        keys=("g",), shown="g", does="go to an event, a time (8.0s), `end` or `failure`", short="go to", modes=_PAST
    ),
    KeyEntry(keys=("q",), shown="q", does="stop the swarm in order (asks)", short="quit", modes=_LIVE),
    KeyEntry(keys=("q",), shown="q", does="leave", short="quit", modes=_PAST),
    KeyEntry(keys=("+", "-"), shown="+, -", does="play faster or slower", short="speed", modes=_PAST),
    KeyEntry(keys=(Key.TAB, Key.SHIFT_TAB), shown="Tab", does="go to the next pane", short="pane"),
    KeyEntry(keys=(Key.ESCAPE,), shown="Esc", does="end the search, close the conversation, leave a question"),
    KeyEntry(keys=("/",), shown="/", does="search: show only what holds a text", short="search"),
    KeyEntry(keys=("?",), shown="?", does="show or hide these keys", short="keys"),
)


def keys_of(mode: ScreenMode) -> list[KeyEntry]:
    """Return the keys of a kind of run."""
    return [entry for entry in KEY_TABLE if mode in entry.modes]
