"""The first screen of `greenroom replay`: the cause of a planted fault is in it, without any further question."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import attrs
import pytest

from greenroom.actors import ActorCreated
from greenroom.cli import main
from greenroom.replay import _pager
from greenroom.terminal import Page
from greenroom.trace import JOURNAL
from tests.replay.planted import AT_WORK, CASES, LOST, RUN, SWALLOWED, Timed, turn_end, written

CAUSES: Final = {
    "swallowed": ("slow", "Crunch of ann completed 1.5 s after the abort of its turn: it swallowed its cancellation"),
    "shielded": ("slow", "ann ended 6.7 s after the kill, with a grace of 2 s; Crunch did not stop"),
    "blocked": ("slow", "blocked for 4 s by a step of session/teams/t/ann in crunch.py:7 crunch"),
    "ask cycle": ("waits", "clerk -> desk -> clerk: each waits for the next, so the ask was refused"),
    "lost": ("dead", "1 Order to store: the mailbox was full"),
    "hangs": ("stuck", "item 1 is in progress, but its owner ann has neither a turn nor mail"),
}


def shown(events: Timed, runs: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Return what the command prints of a run with these events."""
    (runs / RUN).mkdir(exist_ok=True)
    (runs / RUN / JOURNAL).write_bytes(written(events))
    assert main(["replay", "last", "--runs", str(runs), *more]) == 0
    return capsys.readouterr().out


def problem_lines(text: str) -> list[str]:
    """Return the lines between the head and the time line."""
    return text.split("\n\n")[1].splitlines()


@pytest.mark.parametrize("case", CASES)
def test_a_planted_fault_is_found_on_the_first_screen(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(CASES[case], tmp_path, capsys)

    kind, cause = CAUSES[case]
    found = [line for line in problem_lines(text) if line.startswith(kind) and cause in line]
    assert len(found) == 1, text
    assert text.splitlines().index(found[0]) < 20


def test_a_run_without_a_fault_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [*AT_WORK, turn_end(1.0, state="completed", by="", cause=None)]

    assert problem_lines(shown(events, tmp_path, capsys)) == ["nothing failed, and no invariant is broken"]


def test_an_abort_that_is_obeyed_is_not_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    obeyed = [(t, event) for t, event in CASES["hangs"] if event.kind not in {"item.claimed", "item.created"}]

    assert problem_lines(shown(obeyed, tmp_path, capsys)) == ["nothing failed, and no invariant is broken"]


def test_the_time_line_has_turns_and_who_ended_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(CASES["hangs"], tmp_path, capsys)

    lines = text.split("\n\n")[2].splitlines()
    assert [line.split(maxsplit=3)[-1].split("  ")[-1] for line in lines[1:]] == [
        "turn 1 killed, 2 Glob",
        "abort requested by user: took too long",
    ]


def test_a_long_time_line_keeps_what_is_notable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = turn_end(1.0, state="completed", by="", cause=None)
    turns = [pair for n in range(200) for pair in ((0.2 + n, AT_WORK[-1][1]), (0.5 + n, quiet[1]))]
    turns[101] = turn_end(50.5, state="failed", error="OSError: full")

    lines = shown([*AT_WORK[:3], *turns], tmp_path, capsys).split("\n\n")[2].splitlines()

    assert len(lines) <= 35
    assert sum("OSError: full" in line for line in lines) == 1
    assert sum(line.startswith("       ... ") for line in lines) == 2


def test_the_first_screen_is_there_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(shown(LOST, tmp_path, capsys, "--json"))

    assert [(problem["kind"], problem["seq"]) for problem in facts["problems"]] == [("dead", 5)]
    assert [row["name"] for row in facts["time_line"]] == ["parse", "store"]


def test_the_text_of_a_name_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first_t, first = SWALLOWED[0]
    assert isinstance(first, ActorCreated)
    named = attrs.evolve(first, path="x/\x1b[2Jann")

    assert "\x1b" not in shown([(first_t, named), *SWALLOWED[1:]], tmp_path, capsys)


# --- the pager --------------------------------------------------------------------------------------------------------

PAGE: Final = Page(facts={}, lines=[f"line {number}" for number in range(100)])


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pager, "is_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))


@pytest.mark.usefixtures("terminal")
def test_a_page_that_is_longer_than_the_terminal_goes_to_the_pager(tmp_path: Path) -> None:
    _pager.print_page(PAGE, f"tee {tmp_path / 'paged'}")

    assert (tmp_path / "paged").read_text().splitlines() == PAGE.lines


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("pager", "lines"), [("", 100), ("no-such-pager -x", 100), ("no-such-pager", 5)])
def test_without_a_pager_everything_is_printed(pager: str, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    _pager.print_page(attrs.evolve(PAGE, lines=PAGE.lines[:lines]), pager)

    assert capsys.readouterr().out.splitlines() == PAGE.lines[:lines]
