"""A swarm on a terminal of its own: keys act, what they cause is seen, and the end stays readable."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import attrs
import pyte
import pytest

from greenroom.cli import main
from greenroom.core import UsageError
from greenroom.replay import watch_run
from greenroom.replay._play import play_run
from greenroom.session import SessionBegan
from greenroom.swarm._event_reader import fold_earlier
from greenroom.swarm._key_actions import call_words
from greenroom.swarm._live_view import LiveView
from greenroom.swarm._swarm import has_screen
from greenroom.swarm._swarm_plan import SwarmOptions
from greenroom.swarm._swarm_summary import Summary, folded, styled_summary, summary_lines, top_findings
from greenroom.swarm._view import JsonView, LinesView, View
from greenroom.terminal import Keyboard
from greenroom.terminal.screen import PictureSource, ScreenLook, SurvivedFaults, SwarmPicture, SwarmStory
from tests.replay.recorded import record
from tests.swarm.small_repo import make_small_repo
from tests.terminal.pseudo_terminal import open_pseudo_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")

SUMMARY = Summary(
    state="done",
    report="r.md",
    run_folder="r",
    replay="greenroom replay 1",
    items=2,
    completed=2,
    mates=1,
    input_tokens=1_000,
    output_tokens=2,
    cost="$0.50; 20 requests",
    duration_s=1.25,
)


@attrs.define
class Window:
    """A process in a terminal, and what that shows."""

    process: subprocess.Popen[bytes]
    end: int
    screen: pyte.Screen
    stream: pyte.ByteStream
    is_closed: bool = False

    def wait_shown(self, *words: str, limit_s: float = 60.0) -> str:
        """Wait until all the words are on the screen."""
        deadline = time.monotonic() + limit_s
        while not all(word in "\n".join(self.screen.display) for word in words):
            shown = "\n".join(self.screen.display)
            assert not self.is_closed, f"closed before {words}:\n{shown}"
            assert time.monotonic() < deadline, f"not shown: {words} in\n{shown}"
            self.read()
        return "\n".join(self.screen.display)

    def read(self) -> None:
        """Show what has come."""
        if select.select([self.end], [], [], 1.0)[0]:
            data = b""
            with suppress(OSError):
                data = os.read(self.end, 65_536)
            self.is_closed = not data
            self.stream.feed(data)


def _own_terminal() -> None:
    """Make the standard input the terminal of this process, which its end ends, also where the tests run under nohup."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def on_a_terminal(*arguments: str) -> Iterator[Window]:
    """Run greenroom in a terminal of its own."""
    end, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "greenroom", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - this thread is the only one
    )
    screen = pyte.Screen(100, 30)
    try:
        yield Window(process, end, screen, pyte.ByteStream(screen))
    finally:
        process.kill()
        process.wait()
        for descriptor in (theirs, end):
            with suppress(OSError):
                os.close(descriptor)


def test_a_message_a_kill_and_the_end_are_seen_and_the_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    with on_a_terminal("swarm", str(repo), "--runs", str(runs), "--agents", "2", "--latency", "0.6") as window:
        before = termios.tcgetattr(window.end)[3]
        window.wait_shown("mate-2", "in progress 2")
        os.write(window.end, b"jjmlook twice\r")
        window.wait_shown("message sent to mate-2")
        os.write(window.end, b"kx")
        window.wait_shown("Kill mate-1? y kills it")
        os.write(window.end, b"y")
        window.wait_shown(
            "mate-1 was killed: asked for at the terminal", "back from mate-1, taken by mate-2; nothing lost"
        )
        shown = window.wait_shown("Replay:")
        assert window.process.wait(60) == 0
        assert termios.tcgetattr(window.end)[3] == before

    for words in (
        "Done: 5 of 5 items by 2 mates",
        "  1. shop/broken.py:1: A file does not parse",
        "Survived: 1 kill; nothing lost",
    ):
        assert words in shown
    (journal,) = runs.glob("*/journal.jsonl")
    asked = [line for line in journal.read_text().splitlines() if "asked for at the terminal" in line]
    assert any('"actor.kill_requested"' in line for line in asked)
    (transcript,) = [path for path in journal.parent.glob("transcripts/*.jsonl") if "look twice" in path.read_text()]
    assert transcript.name != "main.jsonl"


def test_a_terminal_that_is_closed_stops_the_swarm_in_order(tmp_path: Path) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    with on_a_terminal("swarm", str(repo), "--runs", str(runs), "--latency", "0.5") as window:
        window.wait_shown("mate-4")
        os.write(window.end, b"q")
        window.wait_shown("Stop the swarm?")
        os.write(window.end, b"n")
        window.wait_shown("Enter open")
        window.process.send_signal(signal.SIGHUP)
        os.close(window.end)
        assert window.process.wait(60) == 129

    (journal,) = runs.glob("*/journal.jsonl")
    assert '"session.end"' in journal.read_text()


@pytest.mark.promise("S-screen")
async def test_a_screen_that_fails_says_so_and_ends_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> SwarmPicture:
        raise RuntimeError("no picture")

    with open_pseudo_terminal() as terminal:
        view = LiveView(Keyboard(terminal.theirs), ExitStack(), ScreenLook())
        await view._show(PictureSource(broken, lambda: 1), lambda _: None)

    assert "the screen failed (" in capsys.readouterr().out


@pytest.mark.promise("S-resumed")
async def test_a_resumed_run_is_shown_with_what_was_done_before(tmp_path: Path) -> None:
    _, text = record(tmp_path)
    whole, story = SwarmStory(), SwarmStory()
    for entry in text.entries:
        whole.take(entry.seq, entry.t, entry.event)
    last = text.entries[-1].seq

    def items(story: SwarmStory) -> list[tuple[object, ...]]:
        return [(card.id, card.subject, card.column, card.owner, card.returns) for card in story.picture().cards]

    await fold_earlier(story, tmp_path, last + 1, 1_000.0)
    assert items(story) == items(whole) != []
    story.take(last + 1, 1_000.5, SessionBegan(session="s", model="m", cwd="/"))
    await fold_earlier(story, tmp_path, last + 2, 1_001.0)

    now = story.picture()
    assert (items(story), now.agents, now.questions, now.state) == (items(whole), (), (), "running")
    assert now.elapsed_s == pytest.approx(whole.last_s + 0.5)
    assert now.notes[-1].text == "resumed in a new process: items and findings are as they were"
    await fold_earlier(SwarmStory(), tmp_path / "missing", 9, 0.0)


@pytest.mark.parametrize(("term", "is_drawn"), [("xterm", True), ("dumb", False), ("", False)])
def test_a_terminal_without_a_cursor_gets_lines(
    term: str, is_drawn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    journal, _ = record(tmp_path)
    monkeypatch.setattr("greenroom.replay._play.open_keyboard", lambda: nullcontext(object()))
    monkeypatch.setattr("greenroom.replay._play._show", lambda *_: 77)

    assert has_screen(SwarmOptions(path=tmp_path)) == is_drawn
    assert watch_run(str(journal), runs=None) == (77 if is_drawn else 0)
    if not is_drawn:
        with pytest.raises(UsageError, match="needs a terminal whose cursor can be moved"):
            play_run(str(journal), runs=None)


def test_a_report_that_cannot_be_written_is_said_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, runs = tmp_path / "recipe.py", tmp_path / "runs"
    recipe.write_text(
        "from greenroom.models import Call\n"
        "from greenroom.swarm.recipes import Recipe, Role\n"
        "from pathlib import Path\n"
        "def lead(request):\n"
        "    if len(request.messages) > 1:\n"
        "        return 'It is not written.'\n"
        f"    (*Path({str(runs)!r}).glob('2*'),)[0].joinpath('report.md').mkdir()\n"
        "    return Call('WriteReport', {'content': 'x'})\n"
        "RECIPE = Recipe(name='r', task='t', lead=Role(name='lead'), roles=[Role(name='mate', count=1)],\n"
        "    playbook={'lead': lead, 'mate': lambda _: 'Ready.'})\n"
    )

    assert main(["swarm", str(tmp_path), "--recipe", str(recipe), "--runs", str(runs), "--model", "playbook"]) == 1

    out, err = capsys.readouterr()
    assert err == ""
    assert "Report: none was written" in out
    assert "Why:    the report could not be written: report.md in the run folder is not a file" in out
    assert "1 teammate and a lead in " in out


def test_every_view_is_a_view() -> None:
    with open_pseudo_terminal() as terminal:
        views: list[View] = [LinesView(), JsonView(), LiveView(Keyboard(terminal.theirs), ExitStack(), ScreenLook())]
        assert [view.can_answer for view in views] == [False, False, True]


def test_the_last_lines_say_what_matters_and_where_everything_is() -> None:
    summary = attrs.evolve(
        SUMMARY,
        findings=("a.py:1: broken", "b.py:2: eval"),
        survived=SurvivedFaults(refusals=4, crashes=2, hangs=1),
    )

    assert summary_lines(summary) == [
        "Done: 2 of 2 items by 1 mate in 1.2 s",
        "  1. a.py:1: broken",
        "  2. b.py:2: eval",
        "Survived: 4 refusals, 2 crashes, 1 hang; nothing lost",
        "Cost:   $0.50; 20 requests",
        "Report: r.md",
        "Replay: greenroom replay 1",
    ]
    failed = attrs.evolve(SUMMARY, state="failed", completed=1, error="no credit", report="")
    assert summary_lines(failed) == [
        "Failed: 1 of 2 items by 1 mate in 1.2 s",
        "Cost:   $0.50; 20 requests",
        "Why:    no credit",
        "Report: none was written",
        "Replay: greenroom replay 1",
    ]
    assert {style for _, style in styled_summary(failed)} == {"", "bold", "bold red"}


def test_last_lines_are_folded_between_words_and_paths_stay_whole() -> None:
    assert folded("  1. a.py:1: A file is not there, " + "docs/" * 8, 40) == [
        "  1. a.py:1: A file is not there,",
        "     " + "docs/" * 8,
    ]
    assert folded("Cost:   $0.50; 20 requests, 12,345 tokens in", 36) == [
        "Cost:   $0.50; 20 requests, 12,345",
        "        tokens in",
    ]


def test_a_question_shows_all_arguments_of_its_call() -> None:
    assert (
        call_words("Bash", {"command": "make\n  test", "description": "Test"}) == "Bash: make test (description: Test)"
    )
    assert call_words("ExitPlanMode", {}) == "ExitPlanMode"
    assert len(call_words("Write", {"file_path": "a.py", "content": "word " * 200_000})) < 1_100


def test_the_findings_that_matter_most_are_the_numbered_ones_of_the_report(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text(
        "# R\n\n- `z.py:9` later\n1. `a.py:1`: **Broken**, `x`\n2. no place\n3. b/c.py:22 Bad\n", encoding="utf-8"
    )

    assert top_findings(report) == ("a.py:1: Broken, x", "b/c.py:22 Bad")
    report.write_text("".join(f"- `f.py:{number}` bad\n" for number in range(9)), encoding="utf-8")
    assert top_findings(report) == tuple(f"f.py:{number} bad" for number in range(5))
    code = "- `f.py:1` `print(1)`\n- `f.py:2` `print(2)`\n"
    report.write_text(
        f"# R\n\n## Tidiness\n\n### `print` (2)\n\n{code}\n### `eval` (1)\n\n- `g.py:3` `eval(x)`\n", "utf-8"
    )
    assert top_findings(report) == ("f.py:1: print (2)", "g.py:3: eval (1)")
    assert top_findings(tmp_path / "none.md") == ()
