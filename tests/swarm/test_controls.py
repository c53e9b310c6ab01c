"""Keys while a swarm runs: as a function, and on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.swarm._controls import (
    Action,
    Controls,
    Interrupt,
    KeyQuestion,
    Kill,
    KillAll,
    Settle,
    Target,
    Tell,
    press,
)
from greenroom.terminal import Key, Press
from greenroom.terminal._keys import keys_in
from tests.swarm.small_repo import make_small_repo

LEAD = Target("a0", "lead", is_mate=False)
MATES = tuple(Target(f"a{number}", f"mate-{number}", is_mate=True) for number in (1, 2))
ALL = (LEAD, *MATES)
ASKS = KeyQuestion("q1", "mate-1 wants to use Bash: make")

presses = st.lists(st.one_of(st.sampled_from(Key), st.sampled_from([*"imkKynq", "x", "\u00e9"])), max_size=12)


def after(
    keys: Sequence[Press], targets: Sequence[Target] = ALL, question: KeyQuestion | None = None
) -> tuple[Controls, list[Action]]:
    """Press keys one after the other."""
    controls, actions = Controls(), []
    for key in keys:
        controls, action = press(controls, key, targets, question)
        if action is not None:
            actions.append(action)
    return controls, actions


@given(presses, st.sampled_from([(), (LEAD,), ALL]), st.sampled_from([None, ASKS]))
def test_nothing_ends_that_was_not_asked_about_and_no_letter_of_a_message_acts(
    keys: list[Press], targets: tuple[Target, ...], question: KeyQuestion | None
) -> None:
    controls = Controls()
    for key in keys:
        before = controls
        controls, action = press(before, key, targets, question)
        if isinstance(action, Kill | KillAll):
            assert before.doubtful == action
            assert key == "y"
        if isinstance(action, Kill | Interrupt | Tell):
            assert action.target in targets
        if isinstance(action, Kill):
            assert action.target.is_mate
        if before.typing is not None:
            assert action is None or (isinstance(action, Tell) and key is Key.ENTER and action.text)
        if isinstance(action, Settle):
            assert question is not None
        assert controls.line(targets, question) or not targets


def test_up_and_down_go_round_and_a_chosen_one_that_ended_is_the_first_again() -> None:
    controls, _ = after([Key.DOWN, Key.DOWN])

    assert controls.target(ALL) == MATES[1]
    assert press(controls, Key.DOWN, ALL)[0].target(ALL) == LEAD
    assert press(Controls(), Key.UP, ALL)[0].target(ALL) == MATES[1]
    assert controls.target((LEAD, MATES[0])) == LEAD


@pytest.mark.parametrize(
    ("keys", "actions"),
    [
        ([Key.DOWN, "i"], [Interrupt(MATES[0])]),
        (["i"], [Interrupt(LEAD)]),
        ([Key.DOWN, "k", "y"], [Kill(MATES[0])]),
        ([Key.DOWN, "k", "n"], []),
        (["k", "y"], []),  # the lead ends with the swarm
        (["K", "y"], [KillAll()]),
        (["K", Key.ESCAPE, "y"], []),
        ([Key.DOWN, "m", *"look", Key.BACKSPACE, "p", Key.ENTER], [Tell(MATES[0], "loop")]),
        (["m", *"kiK", Key.ESCAPE, Key.ENTER], []),
        (["m", " ", Key.ENTER], []),
    ],
)
def test_what_keys_do(keys: list[Press], actions: list[Action]) -> None:
    assert after(keys)[1] == actions


def test_a_question_is_answered_by_a_letter_and_by_nothing_else() -> None:
    assert after(["y"], question=ASKS)[1] == [Settle(ASKS, is_allowed=True)]
    assert after(["n"], question=ASKS)[1] == [Settle(ASKS, is_allowed=False)]
    assert after([Key.ENTER], question=ASKS)[1] == []
    assert after(["m", "y", Key.ENTER], question=ASKS)[1] == [Tell(LEAD, "y")]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("a\x1b[Ab", ["a", Key.UP, "b"]),
        ("\x1bOB", [Key.DOWN]),
        ("\x1b", [Key.ESCAPE]),
        ("\x1b[1;5C\x1b[200~x", ["x"]),
        ("\r\x7f\x00", [Key.ENTER, Key.BACKSPACE]),
        ("\u00e9", ["\u00e9"]),
    ],
)
def test_what_a_terminal_sends(sent: str, keys: list[Press]) -> None:
    assert list(keys_in(sent)) == keys


# --- on a terminal ----------------------------------------------------------------------------------------------------


@contextmanager
def on_a_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run greenroom in a terminal of its own, and give its process and our end of the terminal."""
    end, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "greenroom", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - this thread is the only one
    )
    try:
        yield process, end
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(end)


def read_until(end: int, *words: str, limit_s: float = 60.0) -> str:
    """Read what the terminal shows until all the words have come, or it has closed."""
    seen, deadline = "", time.monotonic() + limit_s
    while not all(word in seen for word in words):
        assert time.monotonic() < deadline, f"not shown: {words} in {seen[-2_000:]}"
        if not select.select([end], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(end, 65_536)
        except OSError:
            data = b""
        assert data, f"the terminal closed before {words}: {seen[-2_000:]}"
        seen += data.decode("utf-8", "replace")
    return seen


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")
def test_a_mate_is_told_and_killed_by_keys_and_the_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    with on_a_terminal("swarm", str(repo), "--runs", str(runs), "--agents", "2", "--latency", "0.4") as (process, end):
        before = termios.tcgetattr(end)[3]
        read_until(end, "mate-2", "m message")
        os.write(end, b"\x1b[B")
        read_until(end, "mate-1: m message, i interrupt, k kill")
        os.write(end, b"mlook twice\r")
        read_until(end, "mate-1 is told")
        os.write(end, b"ky")
        read_until(end, "mate-1 is killed", "Replay:")
        assert process.wait(60) == 0
        assert termios.tcgetattr(end)[3] == before

    (journal,) = runs.glob("*/journal.jsonl")
    told = [line for line in journal.read_text().splitlines() if "asked for at the terminal" in line]
    assert any('"actor.kill_requested"' in line for line in told)
    (transcript,) = [path for path in journal.parent.glob("transcripts/*.jsonl") if "look twice" in path.read_text()]
    assert transcript.name != "main.jsonl"
