"""Keys on the screen of a swarm, as a function; and the sequences in which a terminal sends them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.terminal import Key, Press
from greenroom.terminal._keys import KeyPress, MousePress, keys_in
from greenroom.terminal.screen import (
    Interrupt,
    Kill,
    KillAll,
    Quit,
    ScreenAction,
    ScreenControls,
    ScreenSize,
    Settle,
    SwarmPicture,
    Tell,
)
from greenroom.terminal.screen._key_table import KEY_TABLE, keys_of
from greenroom.terminal.screen._layout import point_at
from greenroom.terminal.screen._screen_controls import (
    ChangeSpeed,
    GoTo,
    Pane,
    PanePoint,
    ScreenMode,
    StepEvents,
    StepFailure,
    TogglePlay,
    press,
)
from tests.terminal.pictures import ASKED, ASKING, EVERY, LEAD, MATES, PICTURE, RECORDED

KEYS: list[KeyPress] = [
    *Key,
    *(key for entry in KEY_TABLE for key in entry.keys if isinstance(key, str)),
    "Z",
    "\u00e9",
]
PAST = ScreenControls(mode=ScreenMode.PAST)
presses = st.lists(
    st.one_of(st.sampled_from(KEYS), st.sampled_from([PanePoint(pane, "a1") for pane in Pane])), max_size=12
)


def after(
    keys: Sequence[KeyPress | PanePoint], picture: SwarmPicture = PICTURE, controls: ScreenControls | None = None
) -> tuple[ScreenControls, list[ScreenAction]]:
    """Press keys one after the other."""
    controls, actions = controls or ScreenControls(), []
    for key in keys:
        controls, action = press(controls, key, picture)
        if action is not None:
            actions.append(action)
    return controls, actions


@pytest.mark.promise("S-keys")
@given(presses, st.sampled_from(list(EVERY.values())), st.sampled_from(ScreenMode))
def test_nothing_ends_unasked_and_no_letter_of_a_text_acts(
    keys: list[KeyPress | PanePoint], picture: SwarmPicture, mode: ScreenMode
) -> None:
    controls = ScreenControls(mode=mode)
    for key in keys:
        before = controls
        controls, action = press(before, key, picture)
        if isinstance(action, Kill | KillAll) or (isinstance(action, Quit) and mode is ScreenMode.LIVE):
            assert before.doubtful == action
            assert key == "y"
        if isinstance(action, Kill):
            assert action.target.is_teammate
            assert action.target.is_there
        if before.entry is not None:
            assert action is None or key is Key.ENTER
        if isinstance(action, Settle):
            assert picture.questions
        if mode is ScreenMode.PAST:
            assert not isinstance(action, Kill | KillAll | Tell | Settle | Interrupt)
        else:
            assert not isinstance(action, StepEvents | StepFailure | TogglePlay | ChangeSpeed | GoTo)


def test_up_and_down_go_round_and_a_chosen_one_that_is_gone_is_the_first_again() -> None:
    controls, _ = after([Key.DOWN, "j"])

    assert controls.target(PICTURE) == MATES[1]
    assert after(["k"] * 3, controls=controls)[0].target(PICTURE) == PICTURE.agents[-1]
    assert controls.target(attrs.evolve(PICTURE, agents=(LEAD, MATES[0]))) == LEAD
    assert controls.target(EVERY["empty"]) is None


@pytest.mark.promise("S-keys")
@pytest.mark.parametrize(
    ("keys", "actions"),
    [
        ([Key.DOWN, "i"], [Interrupt(MATES[0])]),
        (["i"], [Interrupt(LEAD)]),
        ([Key.DOWN, "x", "y"], [Kill(MATES[0])]),
        (["x", "y"], []),  # the lead ends with the swarm
        ([Key.UP, "x", "y"], []),  # that one has ended
        (["X", "y"], [KillAll()]),
        (["X", Key.ESCAPE, "y"], []),
        (["q", "y"], [Quit()]),
        (["q", "q", "y"], []),
        ([Key.DOWN, "m", *"look", Key.BACKSPACE, "p", Key.ENTER], [Tell(MATES[0], "loop")]),
        (["m", *"xiXq?", Key.ESCAPE, Key.ENTER], []),
        (["m", " ", Key.ENTER], []),
        (["?", "x", "i", "?", "i"], [Interrupt(LEAD)]),
        (["/", *"mate-2", Key.ENTER, "i"], [Interrupt(MATES[1])]),
        (["g", " ", Key.LEFT], []),
    ],
)
def test_keys_of_a_live_run(keys: list[KeyPress], actions: list[ScreenAction]) -> None:
    assert after(keys)[1] == actions


@pytest.mark.promise("S-keys")
@pytest.mark.parametrize(
    ("keys", "actions"),
    [
        ([Key.LEFT, Key.RIGHT], [StepEvents(-1), StepEvents(1)]),
        ([Key.SHIFT_LEFT, Key.SHIFT_RIGHT], [StepFailure(-1), StepFailure(1)]),
        ([" ", "+", "-"], [TogglePlay(), ChangeSpeed(1), ChangeSpeed(-1)]),
        (["g", *"8.0s", Key.ENTER], [GoTo("8.0s")]),
        (["g", Key.ENTER], []),
        (["x", "y", "m", "i", "X"], []),
        (["q"], [Quit()]),
    ],
)
def test_keys_of_a_recorded_run(keys: list[KeyPress], actions: list[ScreenAction]) -> None:
    assert after(keys, RECORDED, PAST)[1] == actions


def test_a_question_is_answered_by_a_letter_and_by_nothing_else() -> None:
    assert after(["y"], ASKING)[1] == [Settle(ASKED, is_allowed=True)]
    assert after(["n"], ASKING)[1] == [Settle(ASKED, is_allowed=False)]
    assert after([Key.ENTER, Key.ESCAPE, " "], ASKING)[1] == []
    assert after(["m", "y", Key.ENTER], ASKING)[1] == [Tell(LEAD, "y")]
    assert after(["y", "n"])[1] == []


def test_panes_are_reached_scrolled_opened_and_closed() -> None:
    assert [after([Key.TAB] * count)[0].pane for count in range(4)] == ["agents", "board", "events", "agents"]
    opened, _ = after([Key.DOWN, Key.ENTER, Key.SHIFT_TAB, Key.UP])
    assert (opened.opened, opened.pane, opened.by(Pane.TALK)) == ("a1", Pane.TALK, 1)
    assert after([Key.PAGE_DOWN], controls=opened)[0].by(Pane.TALK) == 0
    closed, _ = after([Key.ESCAPE], controls=opened)
    assert (closed.opened, closed.pane) == ("", Pane.AGENTS)
    followed, _ = after([Key.ENTER, Key.DOWN])
    assert followed.opened == "a1"


def test_escape_ends_a_search_before_it_closes_a_conversation() -> None:
    controls, _ = after([Key.ENTER, "/", *"tests", Key.ENTER, Key.ESCAPE])

    assert (controls.search, controls.opened) == ("", "a0")


@pytest.mark.parametrize("page", ["", "http://127.0.0.1:8420/#token=a"])
def test_a_click_selects_and_a_second_one_opens(page: str) -> None:
    size, picture, lines = ScreenSize(width=160, height=40), attrs.evolve(PICTURE, page=page), bool(page)

    def click(controls: ScreenControls, x: int, y: int, wheel: int = 0) -> ScreenControls:
        point = point_at(MousePress(x, y + lines, wheel), picture, controls, size)
        return controls if point is None else press(controls, point, PICTURE)[0]

    once = click(ScreenControls(), 3, 4)
    assert (once.chosen, once.opened) == ("a1", "")
    assert click(once, 3, 4).opened == "a1"
    assert click(once, 120, 5).pane is Pane.BOARD
    assert click(once, 120, 5, 1).by(Pane.BOARD) == 3
    assert click(once, 3, 0) == once
    assert point_at(MousePress(1, 1), PICTURE, once, ScreenSize(width=20, height=5)) is None


def test_the_table_of_keys_is_that_of_the_program() -> None:
    """Every key of the table does something somewhere, and no other letter does."""
    for mode in ScreenMode:
        listed = {key for entry in keys_of(mode) for key in entry.keys}
        start = ScreenControls(mode=mode, chosen="a1", scrolled=dict.fromkeys(Pane, 1), search="a")
        picture = attrs.evolve(ASKING, time=RECORDED.time)
        acting = {key for key in [*Key, *map(chr, range(32, 127))] if press(start, key, picture) != (start, None)}
        assert acting == listed


@pytest.mark.promise("S-keys")
def test_the_manual_lists_the_keys_that_the_screen_shows() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/keys.md").read_text(encoding="utf-8")

    for entry in KEY_TABLE:
        assert f"| `{entry.shown}` | {entry.does} |" in page


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("a\x1b[Ab", ["a", Key.UP, "b"]),
        ("\x1bOB", [Key.DOWN]),
        ("\x1b", [Key.ESCAPE]),
        ("\x1b[1;5C\x1b[200~x", ["x"]),
        ("\x1b[1;2D\x1b[5~\t\x1b[Z\x0c", [Key.SHIFT_LEFT, Key.PAGE_UP, Key.TAB, Key.SHIFT_TAB, Key.REDRAW]),
        ("\x1b[<0;3;5M\x1b[<0;3;5m\x1b[<64;1;1M\x1b[<2;1;1M", [MousePress(2, 4), MousePress(0, 0, -1)]),
        ("\r\x7f\x00", [Key.ENTER, Key.BACKSPACE]),
        ("\u00e9", ["\u00e9"]),
    ],
)
def test_what_a_terminal_sends(sent: str, keys: list[Press]) -> None:
    assert list(keys_in(sent)) == keys
