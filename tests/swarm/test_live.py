"""The live view, drawn to a recorded console."""

from __future__ import annotations

import io
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from greenroom.cli import main
from greenroom.swarm import _swarm as swarm_module
from greenroom.swarm._frame import Frame, MailboxDepth, Row, draw, fitting, short_duration, short_number
from greenroom.swarm._live_view import LiveView
from greenroom.swarm._view import Summary, SwarmOpening, View
from tests.swarm.small_repo import make_small_repo

ROWS = (
    Row(name="session", depth=0, state="working"),
    Row(name="lead", depth=1, state="idle", mail=MailboxDepth(later=2), tokens=31_234),
    Row(name="team swarm", depth=1, state="working"),
    Row(name="board", depth=2, state="idle", mail=MailboxDepth()),
    Row(
        name="mate-1",
        depth=2,
        state="working",
        activity="Read src/" + "very/" * 20 + "deep.py",
        mail=MailboxDepth(),
        tokens=0,
    ),
    Row(name="mate-2", depth=2, state="failed", mail=MailboxDepth(), tokens=999),
)
FRAME = Frame(
    title="/home/ada/shop: 2 mates and a lead", elapsed_s=83.2, rows=ROWS, completed=3, in_progress=1, items=12
)


def console(*, width: int = 80, height: int = 24, color: bool = False, encoding: str = "utf-8") -> Console:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Console(
        file=stream,
        width=width,
        height=height,
        force_terminal=True,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )


def lines(frame: Frame, target: Console) -> list[str]:
    with target.capture() as captured:
        target.print(draw(frame, target))
    return captured.get().rstrip("\n").split("\n")


def test_a_frame_fits_eighty_columns() -> None:
    drawn = lines(FRAME, console())

    assert [line.rstrip() for line in drawn] == [
        "/home/ada/shop: 2 mates and a lead                                          1:23",
        "Actor          State     Doing                                     Mail   Tokens",
        "session        working",
        "├─ lead        idle                                               0/0/2      31k",
        "└─ team swarm  working",
        "   ├─ board    idle                                                   0",
        "   ├─ mate-1   working   Read src/very/very/very/very/very/very…      0        0",
        "   └─ mate-2   failed                                                 0      999",
        "Board ██████████▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░ 3 of 12 items, 1 in progress",
    ]


def test_there_is_room_for_a_column_of_each_lane_and_for_what_was_written() -> None:
    frame = attrs.evolve(
        FRAME,
        rows=(*ROWS[:2], attrs.evolve(ROWS[4], id="a4", mail=MailboxDepth(now=1, later=12))),
        cost="$0.42",
        mail=("mate-1 to lead: the parser is done",),
        keys="mate-1: m message",
        chosen="a4",
    )

    assert [line.rstrip() for line in lines(frame, console(width=100))] == [
        "/home/ada/shop: 2 mates and a lead                                                        $0.42 1:23",
        "Actor         State     Doing                                             Now   Next  Later   Tokens",
        "session       working",
        "└─ lead       idle                                                          0      0      2      31k",
        "   └─▸mate-1  working   Read src/very/very/very/very/very/very/very/v…      1      0     12        0",
        "Board ██████████▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░ 3 of 12 items, 1 in progress",
        "mate-1 to lead: the parser is done",
        "mate-1: m message",
    ]


def test_in_a_small_terminal_the_tree_gives_way_and_the_keys_stay() -> None:
    frame = attrs.evolve(FRAME, mail=("a", "b", "c"), keys="m message", note="SIGINT: stopping")

    drawn = lines(frame, console(height=10))

    assert len(drawn) <= 9
    assert drawn[-3:] == ["c".ljust(80), "SIGINT: stopping".ljust(80), "m message".ljust(80)] or [
        one.rstrip() for one in drawn[-3:]
    ] == ["c", "SIGINT: stopping", "m message"]


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_a_frame_fits_any_width(width: int) -> None:
    assert max(len(line) for line in lines(FRAME, console(width=width))) <= width


def test_color_only_repeats_what_words_say() -> None:
    import re

    colored = "\n".join(lines(FRAME, console(color=True)))

    assert "\x1b[1;31mfailed" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == "\n".join(lines(FRAME, console()))
    # Neither white nor black nor a background: they vanish on one of light and dark.
    assert not re.search(r"\x1b\[[0-9;]*(30|37|4[0-7]|9[0-7])m", colored)


def test_a_terminal_without_unicode_gets_plain_letters() -> None:
    drawn = lines(FRAME, console(encoding="ascii"))

    assert "|- lead" in drawn[3]
    assert "`- mate-2" in drawn[7]
    assert drawn[8].startswith("Board ##########+++...")


def test_what_does_not_fit_is_counted_and_what_works_is_shown_first() -> None:
    mates = tuple(
        Row(name=f"mate-{n}", depth=2, state="working" if n == 90 else "idle", mail=MailboxDepth(), tokens=0)
        for n in range(1, 101)
    )
    drawn = lines(
        Frame(title="x", elapsed_s=0, rows=(*ROWS, *mates), completed=0, in_progress=0, items=0), console(height=16)
    )

    assert len(drawn) <= 15
    assert any("mate-90" in line for line in drawn)
    assert any(line.startswith("and 97 more: 97 idle") for line in drawn)
    assert fitting(ROWS, 6) == (list(ROWS), "")


def test_numbers_and_durations_are_short() -> None:
    assert [short_number(n) for n in (0, 999, 1_000, 9_999, 31_234, 5_200_000, 12_000_000_000)] == [
        *("0", "999", "1.0k", "10.0k", "31k", "5.2M", "12G"),
    ]
    assert [short_duration(s) for s in (0, 59.9, 83, 3_661)] == ["0:00", "0:59", "1:23", "1:01:01"]


def test_a_whole_swarm_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = console(width=100)
    target.file = stream = io.StringIO()
    view = LiveView(target)
    monkeypatch.setattr(swarm_module, "make_view", lambda _: view)
    repo = make_small_repo(tmp_path / "small")

    assert main(["swarm", str(repo), "--runs", str(tmp_path / "runs"), "--latency", "0.05"]) == 0

    shown = stream.getvalue()
    assert shown.startswith("greenroom swarm: model playbook (rule-based: fixed rules, no language model)\n")
    assert "├─ mate-1" in shown
    assert "completed #1: Read" in shown
    assert "lead: All findings are here; I write the report." in shown
    assert "Done: 5 of 5 items by 4 mates" in shown
    assert shown.rstrip().split("\n")[-2].startswith("Report: ")


def test_text_from_files_and_models_cannot_move_the_cursor() -> None:
    row = Row(name="mate-1", depth=1, state="working", activity="\x1b[2J[bold]x[/bold]", mail=MailboxDepth(), tokens=0)

    drawn = "\n".join(lines(Frame(title="x", elapsed_s=0, rows=(row,), completed=0, in_progress=0, items=0), console()))

    assert "\x1b" not in drawn
    assert "[bold]x[/bold]" in drawn


def test_every_view_is_a_view() -> None:
    from greenroom.swarm._view import JsonView, LinesView

    views: list[View] = [LinesView(), JsonView(), LiveView(console())]
    assert len(views) == 3


def test_the_last_lines_say_where_everything_is(capsys: pytest.CaptureFixture[str]) -> None:
    view = LiveView(Console(width=80, highlight=False))
    view.begin(SwarmOpening(model="claude-sonnet-5", is_rule_based=False, folder="/x", task="t", mates=1))
    view.end(
        Summary(
            state="failed",
            report="",
            run_folder="r",
            replay="greenroom replay 1",
            items=2,
            completed=1,
            mates=1,
            input_tokens=1_000,
            output_tokens=2,
            cost="$0.01; 1 request",
            duration_s=1.25,
            error="no credit",
        )
    )

    assert capsys.readouterr().out.splitlines() == [
        "greenroom swarm: model claude-sonnet-5 (through Anthropic's API)",
        "Tokens are billed to your key; their total is shown at the end.",
        "Failed: 1 of 2 items by 1 mate in 1.2 s",
        "Cost:   $0.01; 1 request",
        "Why:    no credit",
        "Report: none was written",
        "Replay: greenroom replay 1",
    ]
