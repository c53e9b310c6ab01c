"""The panes of the screen, drawn at many sizes and in many looks."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color

from greenroom.terminal import Key
from greenroom.terminal._keys import KeyPress
from greenroom.terminal.screen import ScreenControls, ScreenLook, ScreenSize, SwarmPicture, TalkPart, look_of
from greenroom.terminal.screen._cells import encoded
from greenroom.terminal.screen._figures import plural, short_duration, short_number, survived_words
from greenroom.terminal.screen._layout import draw_screen
from greenroom.terminal.screen._picture import AgentRow, RunTotals, SurvivedFaults, TalkKind
from greenroom.terminal.screen._screen_controls import ScreenMode, press
from greenroom.terminal.screen._screen_look import PALETTE
from tests.terminal.pictures import ASKED, ASKING, EVERY, MATES, PICTURE, RECORDED, TALKING

LOOK = ScreenLook()
LOOKS = (LOOK, ScreenLook(colors=16), ScreenLook(colors=0, has_unicode=False, has_motion=False))
SMALL, LARGE = ScreenSize(width=80, height=24), ScreenSize(width=160, height=50)
KEYS: list[KeyPress] = [Key.ENTER, Key.TAB, Key.DOWN, Key.UP, Key.PAGE_UP, *"?xm/geq"]


def text_of(
    picture: SwarmPicture, size: ScreenSize = SMALL, *, keys: tuple[KeyPress, ...] = (), look: ScreenLook = LOOK
) -> list[str]:
    """Return the screen without styles, after these keys."""
    controls = ScreenControls()
    for key in keys:
        controls, _ = press(controls, key, picture)
    return ["".join(segment.text for segment in line) for line in draw_screen(picture, controls, size, look)]


@given(
    st.sampled_from(list(EVERY.values())),
    st.integers(1, 220),
    st.integers(1, 70),
    st.lists(st.sampled_from(KEYS), max_size=6),
    st.sampled_from(LOOKS),
    st.sampled_from(ScreenMode),
)
def test_a_screen_is_exactly_as_large_as_its_terminal(
    picture: SwarmPicture, width: int, height: int, keys: list[KeyPress], look: ScreenLook, mode: ScreenMode
) -> None:
    controls = ScreenControls(mode=mode)
    for key in keys:
        controls, _ = press(controls, key, picture)

    drawn = draw_screen(picture, controls, ScreenSize(width=width, height=height), look)

    assert len(drawn) == height
    assert {sum(segment.cell_length for segment in line) for line in drawn} == {width}
    assert all(look.has_unicode or "".join(segment.text for segment in line).isascii() for line in drawn)


def test_what_matters_is_on_a_small_screen() -> None:
    shown = "\n".join(text_of(PICTURE))

    for words in ("shop: 4 teammates", "$0.42", "running", "1:23", "1 of 29 items", "mate-4", "killed", "open 25"):
        assert words in shown
    assert "survived 4 refusals, 2 crashes, 1 hang; nothing lost" in shown
    assert "item 2 back from mate-4, taken by mate-2; nothing lost" in shown
    assert "? keys" in text_of(PICTURE)[-1]


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_address_of_the_page_stays_below_the_title(size: ScreenSize) -> None:
    address = "http://127.0.0.1:8420/#token=" + "a" * 32
    plain, paged = text_of(PICTURE, size), text_of(attrs.evolve(PICTURE, page=address), size)

    assert (plain[0], len(plain)) == (paged[0], len(paged))
    assert paged[1].strip() == f"page: {address}"


def test_what_was_survived_is_shortened_before_the_word_about_loss() -> None:
    many = attrs.evolve(PICTURE, totals=RunTotals(survived=SurvivedFaults(refusals=5, cuts=15, crashes=2, hangs=1)))
    assert text_of(many)[1].endswith(" 23 faults; nothing lost ")
    assert text_of(attrs.evolve(many, lost=("7", "9")))[1].endswith(" 23 faults; lost: item 7, 9 ")
    assert "5 refusals, 15 cut answers, 2 crashes, 1 hang; nothing lost" in text_of(many, LARGE)[1]


@pytest.mark.promise("S-question")
def test_a_question_is_shown_as_far_as_three_lines_hold_it() -> None:
    words = "wants to use Bash: " + " ".join(f"word{number}" for number in range(60))
    picture = attrs.evolve(ASKING, questions=(attrs.evolve(ASKED, text=words), *ASKING.questions[1:]))

    shown = text_of(picture)
    assert " ".join(shown[2].split()).startswith("? mate-1 wants to use Bash: word0")
    assert [line.startswith("   ") for line in shown[3:5]] == [True, True]
    assert shown[4].rstrip().endswith(" ...")
    assert "and 1 more" in shown[5]
    assert "Agents" in shown[6]
    assert "word59" in " ".join(text_of(picture, ScreenSize(width=200, height=50))[2:6])


@pytest.mark.promise("S-question")
def test_while_something_else_is_asked_the_letters_are_not_offered_twice() -> None:
    assert "y allows" not in " ".join(text_of(ASKING, keys=("q",)))
    assert "y allows" not in " ".join(text_of(ASKING, keys=("m",)))
    assert "item 1 goes to another" in text_of(PICTURE, keys=("j", "x"))[-1]
    assert text_of(attrs.evolve(PICTURE, agents=(attrs.evolve(MATES[0], item=""),)), keys=("x",))[-1].startswith(
        " Kill mate-1? y kills it, any other key does not"
    )


@pytest.mark.promise("S-question")
def test_a_question_is_on_top_at_any_size() -> None:
    for size in (SMALL, LARGE):
        assert text_of(ASKING, size)[2].startswith(" ? mate-1 wants to use Bash: make")
        assert "y allows, n refuses" in text_of(ASKING, size)[2]
    assert text_of(ASKING, ScreenSize(width=40, height=5))[0].startswith(" ? mate-1 wants")


def test_below_sixty_columns_a_line_says_so_and_an_answer_can_be_given() -> None:
    small = ScreenSize(width=20, height=5)
    assert " ".join(" ".join(text_of(PICTURE, small)).split()) == "Too small: 20x5, at least 60x12. The swarm goes on."
    assert text_of(PICTURE, small, keys=("q",))[0].startswith(" Stop the swarm?")


def test_a_conversation_is_opened_and_on_a_large_screen_always_shown() -> None:
    assert "Conversation" not in "\n".join(text_of(TALKING))
    opened = "\n".join(text_of(TALKING, keys=(Key.ENTER,)))
    assert "Conversation of lead" in opened
    assert "Task #1 is yours: Read src" in opened
    assert "Read src/a.py" in opened
    assert "2  line …" in opened
    large = "\n".join(text_of(TALKING, LARGE, keys=(Key.DOWN,)))
    assert "Conversation of mate-1" in large
    assert "Board 1/29 done" in large


def test_a_search_leaves_what_holds_its_words() -> None:
    shown = text_of(PICTURE, keys=("/", *"mate-2", Key.ENTER))

    assert not any("mate-3" in line for line in shown)
    assert any("filter: mate-2" in line for line in shown)


def test_the_time_line_of_a_recorded_run_marks_failures() -> None:
    line = text_of(RECORDED)[-2]

    assert line.startswith(" ▶2x 0:30/1:23 event 120/543 ")
    assert line.count("✗") == 2
    assert line.count("●") == 1


def test_without_color_the_selection_is_still_seen() -> None:
    plain = ScreenLook(colors=0)
    lines = [encoded(line, plain) for line in draw_screen(PICTURE, ScreenControls(), SMALL, plain)]

    assert sum("\x1b[1;7m" in line for line in lines) >= 2


def test_what_does_not_fit_is_counted_and_what_works_is_shown_first() -> None:
    crowd = tuple(
        AgentRow(id=f"b{number}", name=f"extra-{number}", state="working" if number == 90 else "idle")
        for number in range(100)
    )
    shown = text_of(attrs.evolve(PICTURE, agents=(*PICTURE.agents, *crowd)))

    assert any("extra-90" in line for line in shown)
    assert any(line.startswith("  and 99 more") for line in shown)


def test_color_only_repeats_what_words_say() -> None:
    for controls in (ScreenControls(), ScreenControls(is_help=True)):
        plain, colored = (
            draw_screen(PICTURE, controls, SMALL, attrs.evolve(LOOK, colors=colors)) for colors in (0, 256)
        )
        assert ["".join(part.text for part in line) for line in plain] == [
            "".join(part.text for part in line) for line in colored
        ]
        assert not any("38;5" in encoded(line, attrs.evolve(LOOK, colors=0)) for line in plain)
        # No backgrounds: they vanish on one of light and dark.
        assert not any("48;5" in encoded(line, LOOK) for line in colored)


@pytest.mark.parametrize("name", PALETTE)
def test_colors_are_readable_on_white_and_on_black(name: str) -> None:
    """At least 3:1, the ratio that WCAG 2 wants of large text and of marks."""
    parts = [part / 255 for part in Color.from_ansi(PALETTE[name][0]).get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert 1.05 / (light + 0.05) >= 3
    assert (light + 0.05) / 0.05 >= 3


@pytest.mark.parametrize(
    ("environ", "colors"),
    [
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, 256),
        ({"TERM": "linux"}, 16),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, 0),
        ({"TERM": "vt100"}, 0),
    ],
)
def test_the_look_is_that_of_the_terminal(environ: dict[str, str], colors: int) -> None:
    assert look_of(environ).colors == colors
    assert look_of(environ).has_motion
    assert not look_of({"GREENROOM_REDUCED_MOTION": "1"}).has_motion
    assert not look_of(environ, encoding="ascii").has_unicode


def test_without_motion_nothing_is_reversed_but_the_selection() -> None:
    calm = draw_screen(PICTURE, ScreenControls(), SMALL, attrs.evolve(LOOK, has_motion=False))
    marked = [line for line in calm if any(part.style is not None and part.style.reverse for part in line)]

    assert len(marked) == 2  # the name of the pane, and the selected agent


def test_text_from_files_and_models_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J[bold]x[/bold]\r\n\x9b1;1H"
    agent = attrs.evolve(PICTURE.agents[1], doing=evil, name=evil)
    talk = (TalkPart(kind=TalkKind.RESULT, text=evil, title=evil),)
    picture = attrs.evolve(PICTURE, title=evil, agents=(agent,), talk=talk)

    drawn = "".join(text_of(picture, LARGE, keys=(Key.ENTER,)))

    assert "\x1b" not in drawn
    assert "\x9b" not in drawn
    assert "[bold]x[/bold]" in drawn


def test_figures_are_short() -> None:
    assert [short_number(n) for n in (0, 999, 1_000, 9_999, 31_234, 5_200_000, 12_000_000_000)] == [
        *("0", "999", "1.0k", "10.0k", "31k", "5.2M", "12G"),
    ]
    assert [short_duration(s) for s in (0, 59.9, 83, 3_661)] == ["0:00", "0:59", "1:23", "1:01:01"]
    assert [plural(1, "crash"), plural(2, "crash"), plural(2, "hang")] == ["1 crash", "2 crashes", "2 hangs"]
    assert survived_words(SurvivedFaults()) == ""
